"""What this machine and this installation can do, in words."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping

from bicliq import kernels
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda import machine_code, nvcomp
from bicliq.pipeline.extras import EXTRAS, install, missing
from bicliq.pipeline.placement.cluster import why_no_cluster, why_no_gpu_cluster
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.placement.where import (
    AUTO_BYTES,
    AUTO_FOUND,
    AUTO_PATHS,
    AUTO_SECONDS,
    AUTO_TIES,
    LITTLE_TO_SEARCH,
)

CORE = ("bicliq", "numpy", "pyarrow")

PAYS = (
    f"for runs whose search should take the threads of the CPU {AUTO_SECONDS:g} s or more, other searches from {AUTO_PATHS:,}"
    f" paths of two edges on, updates from {AUTO_FOUND:,} expected bicliques on, tables from {AUTO_BYTES >> 20} MiB on,"
    f" projections from {AUTO_TIES:,} expected edges on, cliques after a second on the CPU; for counts and find where one"
    " asks for it"
)
"""Where "auto" takes a GPU that can be used (`pipeline.placement.where`)."""


def examine() -> dict[str, str]:
    """Facts by name: the system, what can run here and why something cannot, and versions."""
    reason, data_reason = kernels.why_not("cuda"), why_no_data_on_device()
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores": str(kernels.available_threads()),
        "lanes": str(load_extension().isa),
        **_gpus(reason),
        "backend cpu": "can run",
        "backend cuda": _can(reason),
        "backend auto": "cpu" if reason else "cuda where a GPU pays, else cpu",
        "data backend cuda": _can(data_reason),
        "data backend auto": "cpu" if data_reason else f"cuda from {AUTO_BYTES >> 20} MiB of edges on, else cpu",
        "a gpu pays": PAYS,
        "cluster": _can(why_no_cluster())
        + f"; from {LITTLE_TO_SEARCH:,} paths of two edges on, or where workers or a scheduler are named",
        "cluster of GPUs": _can(reason or why_no_gpu_cluster()),
        **{name: importlib.metadata.version(name) for name in CORE},
        **_extras(),
    }


def _extras() -> dict[str, str]:
    of = importlib.metadata.packages_distributions()  # reads the metadata of all that is installed: 0.2 s
    other = {"cupy-cuda13x": "gpu-cu12", "cupy-cuda12x": "gpu"}.get(of.get("cupy", [""])[0])  # one CUDA at a time
    return {f"extra {name}": _extra(name, of) for name in EXTRAS if name != other}


def _extra(name: str, of: Mapping[str, list[str]]) -> str:
    """What of an extra is here, with versions, and what needs it; by module the packages of it."""
    without = missing(name)
    here = [(module, of[module][0]) for module in EXTRAS[name].modules if module in of and module not in without]
    versions = ", ".join(f"{module} {importlib.metadata.version(package)}" for module, package in here)
    lacks = f"{', '.join(without)} not installed ({install(name)})" if without else ""
    return f"{'; '.join(filter(None, (versions, lacks)))}: for {EXTRAS[name].use}"


def _can(reason: str | None) -> str:
    return "can run" if reason is None else f"cannot run: {reason}"


def _gpus(reason: str | None) -> dict[str, str]:
    """Name, memory and capability of each GPU, and the driver's version of CUDA."""
    if reason is not None:
        return {"gpu": "none that can be used"}
    import cupy

    runtime = cupy.cuda.runtime
    facts = {"cuda driver": _dotted(runtime.driverGetVersion()), "cuda runtime": _dotted(runtime.runtimeGetVersion())}
    for number in range(runtime.getDeviceCount()):
        found = runtime.getDeviceProperties(number)
        facts[f"gpu {number}"] = (
            f"{found['name'].decode()}, {found['totalGlobalMem'] / 2**30:.0f} GiB, compute capability"
            f" {found['major']}.{found['minor']}"
        )
    capabilities = {int(cupy.cuda.Device(number).compute_capability) for number in range(runtime.getDeviceCount())}
    facts["machine code"] = _machine_code(capabilities)
    packer = "" if nvcomp.library() else f" by the CPU, in twice the time: {nvcomp.LIBRARY} of RAPIDS is not installed"
    return {**facts, "files of a GPU": f"compressed{packer or ' there'}"}


def _machine_code(capabilities: set[int]) -> str:
    """Whether the programs of these devices came with Bicliq."""
    compiled = [capability for capability in sorted(capabilities) if not machine_code.is_whole(capability)]
    these = ", ".join(f"{one // 10}.{one % 10}" for one in compiled)
    return (
        f"compiled at the first use, in some seconds, for compute capability {these}"
        if compiled
        else "of all programs is here"
    )


def _dotted(version: int) -> str:
    """13000 as 13.0."""
    return f"{version // 1000}.{version % 1000 // 10}"
