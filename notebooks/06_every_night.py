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
# # Every night
#
# A store keeps the groups; every night the day's edges join it. Only what they change is searched,
# and what appeared can be told to somebody. Here: edits of the Nauru Wikipedia.
# Needs `bicliq[frames]`.

# %%
import os
import tempfile
from pathlib import Path

import bicliq
from bicliq.pipeline.extras import needs

with needs("frames", "this notebook"):
    import pandas as pd

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
store = (
    os.environ.get("BICLIQ_NOTEBOOK_STORE") or tempfile.mkdtemp(prefix="bicliq-")
) + "/nightly"
names = ["editor", "page", "weight", "time"]
edits = pd.read_csv(
    here / "tests" / "data" / "out.edit-nawiki", sep=r"\s+", comment="%", names=names
)
edits["day"] = pd.to_datetime(edits["time"], unit="s").dt.strftime("%Y-%m-%d")
past, week = edits[edits["day"] < "2009-01-01"], [f"2009-01-{day:02d}" for day in range(1, 8)]
print(f"{len(past):,} edits before 2009, then a week of {edits['day'].isin(week).sum()}")

# %% [markdown]
# Once: the groups of all that is known so far.

# %%
columns = {"left": "editor", "right": "page"}
groups = bicliq.enumerate(past, **columns, min_left=4, min_right=4, store=store)
print(f"{len(groups):,} maximal groups")

# %% [markdown]
# Every night: an update, and an alert for the largest groups of some size that it made.

# %%
nights, alerts = [], []
for day in week:
    done = bicliq.update(store, edits[edits["day"] == day])
    nights.append(
        {
            "night": day,
            "edges": done.edges,
            "appeared": done.appeared,
            "vanished": done.vanished,
            "groups": done.bicliques,
        }
    )
    if done.how == "changes":
        changes = bicliq.open(store).where(min_left=5, min_right=20).changes()
        alerts += [{"night": day, **group} for group in changes.top("appeared", 2)]
pd.DataFrame(nights)

# %% [markdown]
# How a group came: *grown* from one that was there, *overlapping* with one, or *new*.

# %%
assert alerts
pd.DataFrame(alerts)[["night", "how", "n_left", "n_right", "left"]]

# %% [markdown]
# The last version is what a full run of the same edges gives: the digests are equal. An earlier
# version is still there.

# %%
everything = edits[edits["day"] <= week[-1]]
full = bicliq.enumerate(everything, **columns, min_left=4, min_right=4)
assert full.digest == bicliq.open(store).digest
print(
    f"{len(full):,} maximal groups, as a full run finds them; {len(groups):,} in the first version"
)

# %% [markdown]
# On a machine that stays, `bicliq serve` and `bicliq update` do this by a schedule, and webhooks
# tell of new groups: `docs/nightly.md`, `docs/operations.md`.
