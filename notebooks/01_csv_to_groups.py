# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From a CSV file to groups
#
# Customers and what they buy, with names as people write them: commas, quotes, any language.

# %%
import tempfile
from pathlib import Path

import bicliq

table = Path(tempfile.mkdtemp(prefix="bicliq-")) / "shop.csv"
table.write_text(
    "customer,item\n"
    + "".join(
        f'"{who}",{what}\n'
        for who in ("Smith, Ann", "Zoë", "Bob")
        for what in ("jam", "tea", '"rye ""dark"""')
    )
    + "Cid,tea\nCid,wine\nBob,wine\n"
)
groups = bicliq.enumerate(table, left="customer", right="item", min_left=2)
print(f"{len(groups)} maximal groups of at least two customers")
groups.top(5).select(["left", "right", "n_edges"]).to_pylist()

# %% [markdown]
# Those with Cid in them, and all as a table that joins with others:

# %%
groups.where(with_left=["Cid"]).to_arrow().select(["left", "right"]).to_pylist()

# %%
members = groups.long().group_by("label").aggregate([("biclique_id", "count_distinct")])
members.sort_by([("biclique_id_count_distinct", "descending")]).to_pylist()

# %% [markdown]
# A page to send on:

# %%
from bicliq.pipeline.report.page import write_report

page = Path(write_report(groups.run, table.with_name("report.html")))
assert "Smith, Ann" in page.read_text()
print(f"{page.stat().st_size:,} bytes of HTML")
