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
# # Thresholds, chosen before paying
#
# Every group of editors who edited the same pages counts, so there are millions. `estimate` says in
# about a second how many a search would find, and what it would cost, for every pair of least
# sizes. Needs `bicliq[frames,plots]`.

# %%
from pathlib import Path

import bicliq
from bicliq.pipeline.extras import needs

with needs("frames,plots", "this notebook"):
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
edges = here / "tests" / "data" / "edit-nawiki.parquet"
expected = bicliq.estimate(edges)
print(
    f"about {expected.bicliques:,} groups ({expected.low:,} to {expected.high:,} in nine cases of ten)"
)
print(f"{expected.bytes / 2**20:,.0f} MiB and {expected.seconds:.1f} s of this machine")

# %% [markdown]
# The same for higher thresholds: how many groups have at least so many editors and pages?

# %%
grid = expected.to_pandas().pivot(index="min_left", columns="min_right", values="bicliques")
figure, axes = plt.subplots(figsize=(9, 4))
picture = axes.pcolormesh(
    grid.mask(grid < 1), norm=LogNorm(1, grid.max().max()), cmap="viridis_r"
)
axes.set_xticks([n + 0.5 for n in range(grid.shape[1])], grid.columns)
axes.set_yticks([n + 0.5 for n in range(grid.shape[0])], grid.index)
axes.set(xlabel="least pages", ylabel="least editors")
figure.colorbar(picture, label="groups expected")
plt.show()

# %% [markdown]
# Somebody can look through some tens of thousands. We take the least thresholds that leave so many,
# and see whether the estimate was right.

# %%
table = expected.to_pandas()
balanced = table[(table["min_left"] == table["min_right"]) & (table["bicliques"] < 100_000)]
least = int(balanced["min_left"].min())
asked = bicliq.estimate(edges, min_left=least, min_right=least)
groups = bicliq.enumerate(edges, min_left=least, min_right=least)
print(
    f"at least {least} × {least}: {asked.low:,} to {asked.high:,} expected, {len(groups):,} maximal groups"
)
assert len(groups) < 100_000
groups.top(5).to_pandas()[["n_left", "n_right", "n_edges", "left"]]
