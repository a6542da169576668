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
# # From a mlxtend script to this one
#
# The baskets of mlxtend's documentation, and its script:
#
# ```python
# encoder = TransactionEncoder()
# frame = pd.DataFrame(encoder.fit_transform(baskets), columns=encoder.columns_)
# frequent = fpgrowth(frame, min_support=0.6, use_colnames=True)
# rules = association_rules(frequent, metric="confidence", min_threshold=0.7)
# ```
#
# Here is no encoder, no frame of True and False, and no second step: baskets are given as they are.
# Needs `bicliq[frames,plots]`.

# %%
from importlib.util import find_spec

import bicliq
from bicliq.pipeline.extras import needs

with needs("frames,plots", "this notebook"):
    import matplotlib.pyplot as plt
    import pandas as pd

baskets = [
    ["Milk", "Onion", "Nutmeg", "Kidney Beans", "Eggs", "Yogurt"],
    ["Dill", "Onion", "Nutmeg", "Kidney Beans", "Eggs", "Yogurt"],
    ["Milk", "Apple", "Kidney Beans", "Eggs"],
    ["Milk", "Unicorn", "Corn", "Kidney Beans", "Yogurt"],
    ["Corn", "Onion", "Kidney Beans", "Ice cream", "Eggs"],
]
rules = bicliq.rules(
    baskets, min_support=0.6, metric="confidence", min_threshold=0.7, kind="all"
).to_pandas()
rules[["antecedents", "consequents", "support", "confidence", "lift"]]

# %% [markdown]
# Columns, their names and their values are mlxtend's, so what follows in the script stays as it is:

# %%
eggs = rules[rules["antecedents"] == {"Eggs", "Kidney Beans"}]
print(eggs[["consequents", "confidence", "lift"]].to_string(index=False))
assert len(rules) == 12

# %% [markdown]
# A frame of True and False is taken as well, where a script has one: a row is a basket. Where
# mlxtend is installed, this cell compares all rows and all metrics.

# %%
frame = pd.DataFrame([{item: True for item in basket} for basket in baskets]).fillna(False)
frame = frame.astype(bool)
again = bicliq.rules(frame, min_support=0.6, min_threshold=0.7, kind="all").to_pandas()


def in_order(table):
    named = table.assign(
        **{
            side: table[side].map(sorted).map(", ".join)
            for side in ("antecedents", "consequents")
        }
    )
    return named.sort_values(["antecedents", "consequents"], ignore_index=True)


pd.testing.assert_frame_equal(in_order(rules), in_order(again))
if find_spec("mlxtend"):
    from mlxtend.frequent_patterns import association_rules, fpgrowth

    frequent = fpgrowth(frame, min_support=0.6, use_colnames=True)
    theirs = association_rules(frequent, metric="confidence", min_threshold=0.7)
    pd.testing.assert_frame_equal(
        in_order(rules), in_order(theirs)[rules.columns], rtol=0, atol=1e-12
    )
    print(f"mlxtend gives the same {len(theirs)} rules")

# %% [markdown]
# ## What is new: rules without repetition
#
# Most of these say the same twice: Kidney Beans are in every basket, so each rule is there with and
# without them. The default, `kind="non-redundant"`, keeps the smallest antecedent and the largest
# consequent; every other rule follows, with its support and confidence.

# %%
few = bicliq.rules(baskets, min_support=0.6, min_threshold=0.7)
sets = bicliq.itemsets(baskets, min_support=0.6)
print(f"{len(rules)} rules follow from {len(few)}, {len(few.exact)} of them exact")
print(f"their itemsets are the {len(sets)} maximal groups with 3 of the 5 baskets")
few.to_pandas()[["antecedents", "consequents", "support", "confidence", "lift"]]

# %% [markdown]
# The baskets behind a set, and only rules that lead to an item:

# %%
print("baskets with Eggs and Onion:", sets.rows(["Eggs", "Onion"]).to_pylist())
bicliq.rules(baskets, min_support=0.4, consequents=["Yogurt"]).to_pandas().head()

# %%
figure, axes = plt.subplots(figsize=(5, 3.5))
points = few.to_pandas()
dots = axes.scatter(points["support"], points["confidence"], c=points["lift"], cmap="viridis")
axes.set(xlabel="support", ylabel="confidence", title="non-redundant rules")
figure.colorbar(dots, label="lift")
plt.show()

# %% [markdown]
# | mlxtend | here |
# |---|---|
# | `TransactionEncoder` | not needed: lists, dicts, rows of basket and item, files, SciPy |
# | `apriori`, `fpgrowth(…, max_len=3)` | `bicliq.itemsets(…, kind="all", max_len=3)` |
# | `fpmax` | `bicliq.itemsets(…, kind="maximal")` |
# | `association_rules(frequent, metric, min_threshold)` | `bicliq.rules(baskets, min_support, …)` |
# | `rules.to_csv("rules.csv")` | `bicliq.rules(…).export("rules.csv")`: batch by batch |
