"""What the GPU drivers need of CuPy, over NumPy: arrays of the host, and kernels that are functions
in Python.

With it the drivers run from start to end on a machine without a GPU. An address of an array is one
of real memory, so what a driver writes for a kernel is read back as a kernel reads it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bicliq.kernels import machine
from bicliq.kernels.cuda import device, nvcomp, program, start

Kernel = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]
"""Runs over a grid of blocks, with arguments."""

POLLS = 2
"""Times that an event is found pending before it is done."""


class Array(np.ndarray):
    """An array with the methods of CuPy's."""

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, stream: Any = None, out: Any = None) -> Any:
        copied = np.array(self).view(np.ndarray)
        if out is None:
            return copied
        out[...] = copied
        return out

    def set(self, values: Any, stream: Any = None) -> None:
        assert values.dtype == self.dtype
        self[...] = values


def as_array(value: Any) -> Any:
    return value.view(Array) if isinstance(value, np.ndarray) else value


class Event:
    """Done after it was asked for some times."""

    def __init__(self) -> None:
        self.ptr = id(self)
        self.pending, self.at = 0, time.perf_counter()
        EVENTS[self.ptr] = self

    def record(self, stream: Any = None) -> None:
        self.pending, self.at = POLLS, time.perf_counter()

    def synchronize(self) -> None:
        self.pending = 0

    @property
    def done(self) -> bool:
        return self.pending == 0


EVENTS: dict[int, Event] = {}


class Stream:
    """All streams are in order here."""

    current: Stream
    ptr = 7

    def __init__(self, non_blocking: bool = False, priority: int | None = None) -> None:
        self.non_blocking, self.priority = non_blocking, priority

    def __enter__(self) -> Stream:
        self._before, Stream.current = Stream.current, self
        return self

    def __exit__(self, *exception: object) -> None:
        Stream.current = self._before

    def record(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        assert isinstance(event, Event)

    def synchronize(self) -> None:
        pass


Stream.current = Stream()


class CUDARuntimeError(RuntimeError):
    pass


class Entered:
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class HostCupy(ModuleType):
    """A module `cupy` whose programs run some kernels."""

    float64, int32, int64, uint8, uint32, uint64, bool_ = (
        np.float64, np.int32, np.int64, np.uint8, np.uint32, np.uint64, np.bool_,
    )  # fmt: skip

    def __init__(
        self,
        kernels: dict[str, Kernel],
        memory: int = 1 << 26,
        multiprocessors: int = 2,
        capability: str = "75",
        devices: int = 2,
    ) -> None:
        super().__init__("cupy")
        self.__spec__ = ModuleSpec("cupy", None)
        self.kernels, self.memory = kernels, memory
        self.launches: list[str] = []
        self.compiled: list[tuple[str, ...]] = []
        cupy = self

        class Device(Entered):
            def __init__(self, number: int = 0) -> None:
                self.id, self.compute_capability = number, capability
                shared = {"MaxSharedMemoryPerMultiprocessor": 233_472}
                self.attributes = {"MultiProcessorCount": multiprocessors, **shared}

            @property
            def mem_info(self) -> tuple[int, int]:
                return cupy.memory, cupy.memory

            def synchronize(self) -> None:
                pass

        class RawModule:
            def __init__(self, code: str, options: tuple[str, ...]) -> None:
                assert '#include "' not in code
                self.options = options

            def compile(self) -> None:
                cupy.compiled.append(self.options)

            def get_function(self, name: str) -> Any:
                def launch(grid: Any, block: Any, arguments: Any, shared_mem: int = 0) -> None:
                    cupy.launches.append(name)
                    cupy.kernels[name](grid, block, arguments)

                return launch

        self.CUDARuntimeError = CUDARuntimeError
        self.cuda = SimpleNamespace(
            Device=Device,
            Event=Event,
            Stream=Stream,
            get_current_stream=lambda: Stream.current,
            get_elapsed_time=lambda start, end: 1000 * (end.at - start.at),
            runtime=self._runtime(memory, capability, devices),
            driver=SimpleNamespace(CUDADriverError=type("CUDADriverError", (RuntimeError,), {})),
            cub=SimpleNamespace(CUPY_CUB_CUMSUM=5, cub_scan=lambda array, op: np.cumsum(array, out=array)),
            compiler=SimpleNamespace(CompileException=type("CompileException", (Exception,), {})),
        )
        self.RawModule = RawModule

    def _runtime(self, memory: int, capability: str, devices: int) -> Any:
        return SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            eventQuery=self.event_query,
            getDeviceCount=lambda: devices,
            driverGetVersion=lambda: 13000,
            runtimeGetVersion=lambda: 13000,
            getDeviceProperties=lambda number: {
                "name": b"Host",
                "totalGlobalMem": memory,
                "major": capability[:-1],
                "minor": capability[-1],
            },
        )

    def event_query(self, pointer: int) -> int:
        event = EVENTS[pointer]
        event.pending = max(event.pending - 1, 0)
        return device.NOT_READY if event.pending else 0

    @staticmethod
    def get_default_memory_pool() -> Any:
        return SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=lambda: None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(np, name)
        return lambda *arguments, **options: as_array(function(*arguments, **options))


@contextmanager
def installed(cupy: HostCupy, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostCupy]:
    """Within it, ``import cupy`` gives this one, whose devices are the GPUs of this machine.

    Which there are, that one has started and what it has compiled are facts of a process, which no
    public name changes.
    """
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    pinned = ModuleType("cupyx")
    pinned.empty_pinned = np.empty  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupyx", pinned)
    monkeypatch.setattr(start, "_starts", [])
    forget_the_gpu()
    try:
        yield cupy
    finally:
        start.wait_for_start()
        forget_the_gpu()
        EVENTS.clear()


def forget_the_gpu() -> None:
    """Let this process ask again what GPU it has."""
    for cached in (machine._why_not_cuda, device.streams, program._compiled):
        cached.cache_clear()


def add_libraries(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Install libraries of which nothing is used."""
    for name in names:
        library = ModuleType(name)
        library.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, library)


def take_away(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let libraries be missing."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


@contextmanager
def nvcomp_at(monkeypatch: pytest.MonkeyPatch, folder: Path | None) -> Iterator[None]:
    """Within it, packages of NVIDIA lie there; None: there are none."""
    take_away(monkeypatch, "nvidia")
    if folder is not None:
        add_libraries(monkeypatch, "nvidia")
        sys.modules["nvidia"].__spec__.submodule_search_locations = [str(folder)]  # type: ignore[union-attr]
    nvcomp.library.cache_clear()
    try:
        yield
    finally:
        nvcomp.library.cache_clear()


def add_dask_cuda(monkeypatch: pytest.MonkeyPatch, error: str) -> list[dict[str, Any]]:
    """Install a Dask-CUDA whose clusters do not start; returns what was asked of each."""
    asked: list[dict[str, Any]] = []

    class LocalCUDACluster:
        def __init__(self, **options: Any) -> None:
            asked.append(options)
            raise RuntimeError(error)

    add_libraries(monkeypatch, "dask_cuda", "dask_cuda.plugins")
    sys.modules["dask_cuda"].LocalCUDACluster = LocalCUDACluster  # type: ignore[attr-defined]
    sys.modules["dask_cuda.plugins"].CUDFSetup = object  # type: ignore[attr-defined]
    return asked
