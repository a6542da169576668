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
# # What belongs together on a painting
#
# Bob Ross painted 403 pictures on television. A context says which of them shows what: trees, a
# lake, a cabin. Its concepts are the maximal groups: some paintings, and all that they share. Needs
# `bicliq[frames]` and a checkout.

# %%
import bicliq
from bicliq.pipeline.extras import needs

with needs("frames", "this notebook"):
    import pandas as pd

from IPython.display import SVG

paintings = "tests/data/contexts/bob-ross.cxt"
lattice = bicliq.concepts(paintings)
print(f"{len(lattice):,} maximal groups, tied by {lattice.edges.num_rows:,} cover edges")

# %% [markdown]
# Most of them hang on a painting or two. The stable ones do not: `stability` is how many paintings
# a concept has more than the largest one below it, so how many may be left out before it is gone.

# %%
stable = lattice.where(min_stability=10)
print(f"{len(stable)} of them lose at least 10 paintings to whatever is below")
stable.top(8).to_pandas()[["intent", "n_objects", "support", "stability"]]

# %% [markdown]
# ## What always comes with what
#
# The shortest list from which all implications follow. `count` says how many paintings speak for
# one: the first lines are rules of the painter, the last ones say what he never put together.

# %%
basis = bicliq.implications(paintings)
spoken_for = [row for row in basis if row["count"]]
print(f"{len(basis):,} implications; {len(spoken_for):,} of them are met by a painting")
basis.top(8).to_pandas()

# %% [markdown]
# ## What lies around a thing
#
# Concepts that have a cabin are a lattice of their own. Larger ones are above; a concept has the
# labels on all ways up from it.

# %%
cabins = lattice.of("CABIN").where(min_stability=5)
SVG(cabins.diagram())

# %% [markdown]
# The smallest sets of attributes that tell a concept from all others are its generators: whoever
# has one of them has all the rest.

# %%
best = cabins.top(1).to_pylist()[0]
print("paintings with", " and ".join(best["intent"]), "are those with")
for generator in lattice.generators(best["concept"]):
    print("   ", " and ".join(generator))

# %% [markdown]
# ## Numbers and categories
#
# What has more to say than yes or no is scaled first. Here is a frame with the season of each
# painting, how much is on it, and what stands in its middle:

# %%
intents = {
    painting: concept["intent"] for concept in lattice for painting in concept["extent"]
}  # the last concept of a painting, going down, is its smallest
frame = pd.DataFrame(
    {
        "season": [int(name[1:3]) for name in intents],
        "things": [len(things) for things in intents.values()],
        "subject": [
            next((one for one in ("CABIN", "MOUNTAIN", "LAKE") if one in things), "OTHER")
            for things in intents.values()
        ],
    },
    index=list(intents),
)
context = bicliq.scale(frame, {"season": "ordinal:11,21", "things": "interordinal/3"})
print(context, *context.account["assumed"], sep="\n")
told = bicliq.concepts(context)
told.where(min_stability=15).top(6).to_pandas()[["intent", "n_objects", "stability"]]

# %% [markdown]
# The whole picture of these attributes, as `bicliq lattice … --report page.html` draws it:

# %%
SVG(told.where(min_support=0.15).diagram())
