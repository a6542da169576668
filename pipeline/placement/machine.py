"""The machine that something ran on: a benchmark, or a run that was published."""

from __future__ import annotations

import os
import platform
import re
import resource
from pathlib import Path

from bicliq import kernels


def machine_facts(backend: str = "cpu") -> dict[str, str]:
    """Processor, cores, memory, system and versions; with "cuda", the GPU and its driver."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": str(kernels.available_threads()),
        "memory": f"{memory:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        "peak_memory": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB",
        **(_gpu_facts() if backend == "cuda" else {}),
    }


def _gpu_facts() -> dict[str, str]:
    import cupy

    device = cupy.cuda.Device()
    driver = Path("/proc/driver/nvidia/version")
    version = re.search(r"\b\d+\.\d+(\.\d+)?\b", driver.read_text()) if driver.exists() else None
    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode(),
        "gpu_memory": f"{device.mem_info[1] / 2**30:.0f} GiB",
        "driver": version[0] if version else "unknown",
        "cuda": str(cupy.cuda.runtime.driverGetVersion()),
        "cupy": cupy.__version__,
    }
