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
# # Coordinated sharing
#
# Accounts that share the same links within a minute of each other, again and again, are run by one
# hand. We plant rings of such accounts among 100,000 shares: half of their links are popular ones,
# which many others share at the same time. Needs `bicliq[frames,plots]` and a checkout.

# %%
from itertools import combinations

import bicliq
from benchmarks.shares import shares
from bicliq.pipeline.extras import needs

with needs("frames,plots", "this notebook"):
    import matplotlib.pyplot as plt

table, rings = shares(100_000, n_rings=8, seed=3)
columns = {"left": "account", "right": "link", "time": "at"}
guilty = frozenset().union(*(ring.accounts for ring in rings))
print(f"{table.num_rows:,} shares; {len(guilty)} accounts are in one of {len(rings)} rings")

# %% [markdown]
# Without times the largest groups are those of popular links and of busy accounts:


# %%
def precision(groups):
    named = set().union(*(group["left"] for group in groups))
    return len(named & guilty) / len(named)


largest = bicliq.find(table, top=8, min_left=3, min_right=3, left="account", right="link")
print(
    f"the {len(largest)} largest maximal groups: {precision(largest):.0%} of their accounts are in a ring"
)

# %% [markdown]
# In step within a minute, at three links at least, there are the rings:

# %%
found = bicliq.find(table, in_step="60s", min_left=3, min_right=3, **columns)
print(
    f"{len(found)} maximal groups in step: {precision(found):.0%} of their accounts are in a ring"
)
for ring in rings:
    assert any(
        ring.accounts <= set(group["left"]) and ring.links <= set(group["right"])
        for group in found
    )
assert precision(found) == 1
found.to_pandas()[["n_left", "n_right", "value"]]

# %% [markdown]
# What size is enough? `by="surprise"` asks instead what is beyond chance, given how often each
# account shares and how often each link is shared at that time. Of all groups from 2 × 2 on, only
# the rings are:

# %%
every = bicliq.find(table, in_step="60s", min_left=2, min_right=2, top=10_000, **columns)
beyond = bicliq.find(table, in_step="60s", by="surprise", min_left=2, min_right=2, **columns)
print(f"of {len(every)} groups in step {len(beyond)} are beyond chance")
assert precision(beyond) == 1
assert len(beyond) == len(rings)

# %% [markdown]
# Each answer says when: the window of each link, from the first to the last share by the ring.

# %%
figure, axes = plt.subplots(figsize=(7, 2.5))
for line, starts in enumerate(found.to_arrow()["windows"].to_pylist()):
    axes.plot([window["start"] for window in starts], [line] * len(starts), "|", markersize=9)
axes.set(xlabel="when", ylabel="ring", yticks=range(len(found)))
figure.autofmt_xdate()
plt.show()

# %% [markdown]
# Tools of the field count pairs of accounts that share the same links within a minute. Those pairs
# are in the groups, and a group says more: which links *all* of its members share.

# %%
pairs = {pair for group in found for pair in combinations(sorted(group["left"]), 2)}
print(f"{len(pairs)} pairs of accounts in {len(found)} groups")
