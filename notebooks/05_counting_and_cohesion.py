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
# # Counting, and how close a table holds together
#
# The women of the South and the events that they went to (Davis 1941): 18 women, 14 events.
# Needs `bicliq[frames,plots]`.

# %%
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import bicliq
from bicliq import kernels
from bicliq.pipeline.extras import needs
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

with needs("frames,plots", "this notebook"):
    import matplotlib.pyplot as plt
    import pandas as pd

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
table = pq.read_table(here / "tests" / "data" / "southern-women.parquet")
counts = bicliq.count(table, 6, 6, up_to=True)
print(
    f"{counts[1, 1]} edges, {counts[2, 2]} butterflies, {counts[3, 3]} complete 3 × 3 subgraphs"
)
print(f"{len(bicliq.enumerate(table)):,} maximal groups")

# %% [markdown]
# ## Densities
#
# Of all ways to choose p women and q events, the share in which everybody went to everything,
# beside what is expected where the same number of edges lies at random.

# %%
n_left, n_right = (len(table[name].unique()) for name in table.column_names[:2])
density = counts[1, 1] / (n_left * n_right)
grid = np.array([
    [counts[p, q] / (math.comb(n_left, p) * math.comb(n_right, q)) / density ** (p * q) for q in range(1, 7)]
    for p in range(1, 7)
])  # fmt: skip
assert grid[0, 0] == 1
picture = plt.matshow(np.log10(np.maximum(grid, 1e-3)), cmap="viridis")
plt.xticks(range(6), range(1, 7))
plt.yticks(range(6), range(1, 7))
plt.xlabel("events")
plt.ylabel("women")
plt.colorbar(picture, label="times what chance gives, powers of ten")
plt.show()

# %% [markdown]
# ## Clustering
#
# The bipartite clustering coefficient: of all paths of three edges, the share that is closed to a
# butterfly (four paths each).

# %%
degree = {
    side: np.bincount(table[side].combine_chunks().dictionary_encode().indices)
    for side in table.column_names[:2]
}
left, right = (degree[side] for side in table.column_names[:2])
ends = [
    table[side].combine_chunks().dictionary_encode().indices.to_numpy()
    for side in table.column_names[:2]
]
paths = int(((left[ends[0]] - 1) * (right[ends[1]] - 1)).sum())
clustering = 4 * counts[2, 2] / paths
assert 0 < clustering < 1
print(f"clustering {clustering:.2f}")

# %% [markdown]
# ## Who holds together, and who stays
#
# In how many butterflies does each editor of the Nauru Wikipedia lie, by the edits before 2009? And
# who of them came back later? That can be seen from nothing but the table.

# %%
names = ["editor", "page", "weight", "time"]
edits = pd.read_csv(
    here / "tests" / "data" / "out.edit-nawiki", sep=r"\s+", comment="%", names=names
)
year = pd.to_datetime(edits["time"], unit="s").dt.year
early = edits[year < 2009].drop_duplicates(["editor", "page"])
ends = early["editor"].to_numpy(), early["page"].to_numpy()
graph = BipartiteGraph.from_edges(*ends, edits["editor"].max() + 1, edits["page"].max() + 1)
found = kernels.count_bicliques(
    graph.indptr, graph.indices, graph.n_right, 2, 2, per_vertex=True
)
editors = pd.DataFrame(
    {"pages": graph.left_degrees, "butterflies": list(map(int, found.left_counts))}
)
editors = editors[editors["pages"] > 0]
editors["came back"] = editors.index.isin(edits.loc[year >= 2009, "editor"])
assert editors["butterflies"].sum() == 2 * found.count  # two editors each
kinds = pd.cut(
    editors["butterflies"],
    [-1, 0, 100, 10_000, np.inf],
    labels=["none", "to 100", "to 10,000", "more"],
)
editors.groupby(kinds, observed=True)["came back"].agg(["size", "mean"])
