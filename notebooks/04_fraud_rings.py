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
# # Fraud rings
#
# A ring is a set of accounts that all touch the same items. We plant eight of them in real traffic
# (editors and the pages that they edited) with the usual camouflage: taken-over accounts, popular
# items, honest customers. Then we look for them without knowing where they are.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import bicliq
from benchmarks.graphs import read_graph_file
from benchmarks.rings import plant_rings

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
background = read_graph_file(here / "tests" / "data" / "edit-nawiki.parquet")
graph, rings = plant_rings(background, n_rings=8, seed=1)
table = pd.DataFrame({"account": graph.edge_left, "item": graph.indices})
guilty = {account for ring in rings for account in ring.left.tolist()}
print(f"{len(table):,} edges of {graph.n_left:,} accounts; {len(guilty)} of them are in a ring")

# %% [markdown]
# Surprise asks how far a group is beyond what chance gives in a table of these degrees: popular
# items explain large groups, but no ring. `diverse` makes each next group differ from those before.

# %%
least = {"min_left": 4, "min_right": 4}
found = {
    "surprise": bicliq.find(table, top=8, by="surprise", diverse=True, **least),
    "edges": bicliq.find(table, top=8, by="edges", **least),
}
found["surprise"].to_pandas()[["n_left", "n_right", "value"]]

# %% [markdown]
# Precision: the share of the accounts named so far that are in a ring. Recall: the share of the
# rings' accounts that are named.


# %%
def curve(groups):
    named, points = set(), []
    for group in groups:
        named |= set(group["left"])
        points.append((len(named & guilty) / len(guilty), len(named & guilty) / len(named)))
    return points


figure, axes = plt.subplots(figsize=(6, 3.5))
for name, groups in found.items():
    axes.plot(*zip(*curve(groups), strict=True), marker="o", label=f"by {name}")
axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1.03), ylim=(0, 1.03))
axes.legend(loc="center right")
plt.show()
recall, precision = curve(found["surprise"])[-1]
print(f"8 maximal groups by surprise: precision {precision:.2f}, recall {recall:.2f}")
assert precision > 0.9
assert recall > 0.9

# %% [markdown]
# Each ring beside the group that is most like it:

# %%
rows = []
for ring in rings:
    members = set(ring.left.tolist())
    best = max(found["surprise"], key=lambda group: len(members & set(group["left"])))
    rows.append(
        {
            "accounts": len(members),
            "found": len(members & set(best["left"])),
            "others": len(set(best["left"]) - members),
        }
    )
pd.DataFrame(rows)
