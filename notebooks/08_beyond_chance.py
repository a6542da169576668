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
# # Beyond chance
#
# Every large table has large groups. Surprise says which of them chance would not give: above 0
# nats is news. A table without structure has none; planted rings stand out; a real table lies
# between. See docs/surprise.md. Needs `bicliq[frames]`.

# %%
from pathlib import Path

import numpy as np

import bicliq
from bicliq.pipeline.extras import needs

with needs("frames", "this notebook"):
    import pandas as pd

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
random = np.random.default_rng(1)


def purchases(n: int, rings: int) -> pd.DataFrame:
    """Busy and quiet customers, popular and rare items, and rings of 6 accounts on 7 items."""
    customers, items = n // 15, n // 100
    activity, popularity = random.lognormal(0, 1, customers), 1 / np.arange(1, items + 1) ** 0.9
    pairs = {
        "customer": random.choice(customers, n, p=activity / activity.sum()),
        "item": random.choice(items, n, p=popularity / popularity.sum()),
    }
    planted = [
        pd.MultiIndex.from_product(
            [random.choice(customers, 6, False), random.choice(items, 7, False)]
        ).to_frame()
        for _ in range(rings)
    ]
    rings_of = [ring.set_axis(list(pairs), axis=1) for ring in planted]
    return pd.concat([pd.DataFrame(pairs), *rings_of]).drop_duplicates(ignore_index=True)


# %% [markdown]
# A table that is made by lot, and the same with three rings.

# %%
for rings in (0, 3):
    table = purchases(30_000, rings)
    best = bicliq.find(table, top=5, by="surprise", min_left=2, min_right=2)
    print(
        f"{rings} rings: {len(best)} maximal groups are beyond chance, {best.record['why_none'] or 'the best:'}"
    )
    print([(group["n_left"], group["n_right"], round(group["value"], 1)) for group in best])

# %% [markdown]
# Messages in a forum: which groups are beyond chance, how many edges chance gives them, and how
# often the best group of a random table of the same degrees is as good.

# %%
forum = bicliq.find(
    here / "tests" / "data" / "UCforum.adj", top=10, by="surprise", null=99, seed=1
)
forum.to_pandas()[["n_left", "n_right", "value", "expected", "p"]]
