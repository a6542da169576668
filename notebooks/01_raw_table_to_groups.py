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
# # From a raw edge table to the largest groups
#
# Who edited which pages of the Nauru Wikipedia? The raw table has a line for every edit: editor,
# page, weight, time, with repetitions. We ask for every maximal group of at least four editors who
# all edited the same pages (at least four).

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pipeline.run import run
from pipeline.settings import load_settings
from pipeline.store.results import open_run

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
edges = here / "tests" / "data" / "out.edit-nawiki"
store = os.environ.get("BICLIQ_NOTEBOOK_STORE") or tempfile.mkdtemp(prefix="bicliq-")
print(edges.read_text()[:120])

# %% [markdown]
# One call takes the table all the way: ingest, plan, search, publish. `local` searches in this
# process; without it, a Dask cluster is started. Run the cell again and it only reads what is
# there.

# %%
settings = load_settings(store=store, search={"min_left": 4, "min_right": 4}, cluster={"local": True})
summary = run(str(edges), settings)
print(f"{summary.ingest['rows_read']:,} rows, {summary.ingest['duplicates']:,} of them repeat an edge")
print(f"{summary.n_left:,} editors x {summary.n_right:,} pages, {summary.n_edges:,} edges")
print(f"{summary.bicliques:,} maximal groups in {summary.seconds['search']:.1f} s; digest {summary.digest}")

# %% [markdown]
# ## The largest groups
#
# `top` restores the original ids. Large can mean many pairs, many editors, or many pages.

# %%
groups = open_run(store)
largest = groups.top(10, by="edges").to_pandas()
largest[["n_left", "n_right", "n_edges", "left"]]

# %%
groups.top(5, by="left").to_pandas()[["n_left", "n_right", "left", "right"]]

# %% [markdown]
# ## All groups, in one picture
#
# How many groups there are of each size: most are small on one side, and a few reach far. The lines
# join sizes with the same number of pairs.

# %%
sizes = groups.dataset().to_table(columns=["n_left", "n_right"]).to_pandas()
count = np.zeros((sizes.n_left.max() + 1, sizes.n_right.max() + 1))
np.add.at(count, (sizes.n_left, sizes.n_right), 1)
figure, axes = plt.subplots(figsize=(9, 4.5))
picture = axes.pcolormesh(np.ma.masked_equal(count, 0), norm="log", cmap="viridis")
figure.colorbar(picture, label="groups")
pages = np.arange(1, count.shape[1])
for pairs in (100, 500, 2000):
    axes.plot(pages + 0.5, pairs / pages + 0.5, color="grey", linewidth=0.7)
best = largest.iloc[0]
axes.annotate(
    f"largest: {best.n_left} editors x {best.n_right} pages",
    (best.n_right + 0.5, best.n_left + 0.5),
    xytext=(0.45, 0.8),
    textcoords="axes fraction",
    arrowprops={"arrowstyle": "->"},
)
axes.set(xscale="log", xlim=(4, None), ylim=(4, sizes.n_left.max() + 1), xlabel="pages in the group", ylabel="editors")
axes.set_title(f"{len(sizes):,} maximal groups of the Nauru Wikipedia")
figure.tight_layout()
figure.savefig(Path(store) / "groups.png", dpi=110)
