"""What this machine and this installation can do, in words."""

from __future__ import annotations

import importlib.metadata
import platform

import kernels
from kernels.cpu import load_extension

LIBRARIES = (
    "bicliq",
    "numpy",
    "pyarrow",
    "pandas",
    "dask",
    "distributed",
    "prefect",
    "cupy-cuda13x",
    "cudf-cu13",
    "cugraph-cu13",
)


def examine() -> dict[str, str]:
    """Facts by name: system, cores, lanes, backends, library versions."""
    reason = kernels.why_not("cuda")
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": str(kernels.available_threads()),
        "lanes": str(load_extension().isa),
        "backend cpu": "can run",
        "backend cuda": "can run" if reason is None else f"cannot run: {reason}",
        "backend auto": "cpu" if reason else "cuda",
        **{name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
