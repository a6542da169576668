"""Kernels of the GPU that a host compiler builds as they are, for those in which no thread waits
for another: blocks and threads run one after the other.

Beside `host_cupy`, the drivers run their real kernels on a machine without a GPU.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bicliq.kernels.cuda.program import SOURCES, Program

PRELUDE = """
#include <cstddef>
#include <cstdint>
struct Place { unsigned x = 0, y = 0; };
static Place gridDim, blockDim, blockIdx, threadIdx;
#define __global__
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline unsigned __ldcg(const unsigned* at) { return *at; }
inline unsigned atomicOr(unsigned* at, unsigned bits) { const unsigned old = *at; *at |= bits; return old; }
inline int atomicMin(int* at, int value) { const int old = *at; *at = value < old ? value : old; return old; }
inline int atomicMax(int* at, int value) { const int old = *at; *at = value > old ? value : old; return old; }
"""
KERNEL = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\)')
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")


def host_kernels_of(program: Program, folder: Path) -> dict[str, Callable[[Any, Any, Any], None]]:
    """The kernels of a program, as `HostCupy` takes them.

    Parameters
    ----------
    program
        Its kernels use no shared memory and no barrier.
    folder
        Where they are built.
    """
    text, signatures = PRELUDE + program.text(), KERNEL.findall((SOURCES / program.source).read_text())
    for name, parameters in signatures:
        given = ", ".join(re.search(r"\w+$", one.strip()).group() for one in parameters.split(","))  # type: ignore[union-attr]
        text += f"""
extern "C" void host_{name}(unsigned gx, unsigned gy, unsigned threads, {parameters}) {{
  gridDim = {{gx, gy}}; blockDim = {{threads, 1}};
  for (blockIdx.y = 0; blockIdx.y < gy; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x)
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {name}({given});
}}
"""
    source, library = folder / "host_kernels.cpp", folder / "host_kernels.so"
    source.write_text(text)
    options = ["-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    options += SANITIZED if "libasan" in os.environ.get("LD_PRELOAD", "") else ()  # as `make sanitize-address` has it
    subprocess.run(["g++", *options, str(source), "-o", str(library)], check=True)
    built = ctypes.CDLL(str(library))
    return {name: _launched(getattr(built, f"host_{name}")) for name, _ in signatures}


def _launched(function: Any) -> Callable[[Any, Any, Any], None]:
    def launch(grid: Any, block: Any, arguments: Any) -> None:
        wide = (grid[0], grid[1] if len(grid) > 1 else 1, block[0])
        function(*map(ctypes.c_uint, wide), *map(_argument, arguments))

    return launch


def _argument(value: Any) -> Any:
    """An array's address, or a number as wide as it is."""
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_uint64(int(value)) if isinstance(value, np.uint64) else ctypes.c_uint32(int(value))
