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
# # Watching a run on a cluster
#
# A Dask cluster of two workers on this machine searches the partitions. Its dashboard shows the
# workers; `Observer` tells this notebook how far the search is. Needs `bicliq[cluster,frames]`.

# %%
import os
import tempfile
from pathlib import Path

import bicliq
from bicliq.pipeline.extras import needs
from bicliq.pipeline.run import Observer, run
from bicliq.pipeline.settings import load_settings

with needs("cluster,frames", "this notebook"):
    import pandas as pd

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
store = os.environ.get("BICLIQ_NOTEBOOK_STORE") or tempfile.mkdtemp(prefix="bicliq-")
settings = load_settings(
    store=f"{store}/watched",
    plan={"partitions": 8},
    cluster={"workers": 2, "dashboard": ":0"},
    search={"min_left": 3},
)
told, addresses = [], []
summary = run(
    here / "tests" / "data" / "marvel.parquet",
    settings,
    Observer(search=told.append, dashboard=addresses.append),
)
print("the dashboard was at", addresses[0])
print(f"{summary.bicliques:,} maximal groups in {summary.partitions} partitions")

# %% [markdown]
# What was told: partitions done, bicliques found, seconds.

# %%
progress = pd.DataFrame(
    [
        {"partitions": p.partitions_done, "bicliques": p.bicliques, "seconds": p.seconds}
        for p in told
    ]
)
assert progress["partitions"].iloc[-1] == summary.partitions
progress.tail()

# %% [markdown]
# How busy each worker was, and where the time went:

# %%
print(summary.busy)
pd.Series(summary.seconds).rename("seconds")

# %% [markdown]
# Committed partitions can be read while the others are searched; the run says how far it is.

# %%
groups = bicliq.open(settings.store)
print(groups.run.state, "–", len(groups), "groups")
