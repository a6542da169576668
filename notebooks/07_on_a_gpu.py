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
# # On a GPU
#
# The same search on an NVIDIA GPU. Where there is none, this notebook says why and ends here.

# %%
from pathlib import Path

import bicliq
from bicliq import kernels

here = Path.cwd() if (Path.cwd() / "tests").exists() else Path.cwd().parent
edges = here / "tests" / "data" / "marvel.parquet"
reason = kernels.why_not("cuda")
print("skipped:" if reason else "a GPU is here", reason or "")

# %% [markdown]
# The digest proves that both machines find the same set.

# %%
on_cpu = bicliq.enumerate(edges, min_left=3, min_right=3, backend="cpu")
print(f"{len(on_cpu):,} maximal groups on the CPU, digest {on_cpu.digest}")
if reason is None:
    on_gpu = bicliq.enumerate(edges, min_left=3, min_right=3, backend="cuda")
    assert on_gpu.digest == on_cpu.digest
    print(f"{len(on_gpu):,} maximal groups on the GPU, digest {on_gpu.digest}")
