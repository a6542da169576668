"""Stand-ins for CuPy, cuDF, cuGraph and RMM on a machine without a GPU: NumPy's arrays under CuPy's
name.

Arrays of this device do not mix with those of the host, as on a card, and all of them together may
take only so much memory: what goes beyond is CuPy's OutOfMemoryError. So the code that works on a
GPU runs here, line by line, until the card is full.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from bicliq.kernels.cuda import start
from bicliq.pipeline.placement import device, where
from tests.host_cupy import Entered, forget_the_gpu


class OutOfMemoryError(MemoryError):
    """What CuPy raises where the device is full."""


class Card:
    """The memory of the device.

    Parameters
    ----------
    free
        Bytes that arrays may still take; what is given back is not counted.
    """

    def __init__(self) -> None:
        self.free = 1 << 40
        self.used = 0
        self.texts = 0  # chunks of text that cuDF was to read
        self.searches = 0  # that began

    def take(self, size: int) -> None:
        self.used += size
        if self.used > self.free:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes")

    def has_left(self, size: int) -> None:
        """Let the card be full after so many bytes more."""
        self.used, self.free = 0, size


CARD = Card()


class GpuArray(np.ndarray):
    """An array that counts as one of CuPy."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        kept = {} if out is None else {"out": tuple(map(_plain, out))}
        found = getattr(ufunc, method)(*map(_plain, inputs), **kept, **options)
        return out[0] if out is not None else _on_device(found)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return _on_device(function(*_plain_all(arguments), **_plain_all(options)))

    def __getitem__(self, index: Any) -> Any:
        found = np.ndarray.__getitem__(_plain(self), _index(index))
        return _on_device(found) if isinstance(found, np.ndarray) else _on_device(np.asarray(found))

    def __setitem__(self, index: Any, value: Any) -> None:
        np.ndarray.__setitem__(_plain(self), _index(index), _plain(value))

    def sort(self, *arguments: Any, **options: Any) -> None:
        _plain(self).sort(*arguments, **options)

    def get(self) -> np.ndarray:
        return np.array(_plain(self))


GpuArray.__module__ = "cupy"


def _plain(value: Any) -> Any:
    """The NumPy array of one of the device; one of the host does not belong here."""
    if isinstance(value, GpuArray):
        return value.view(np.ndarray)
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def _index(index: Any) -> Any:
    """Places, which CuPy takes from the host as well."""
    return index if isinstance(index, np.ndarray) and not isinstance(index, GpuArray) else _plain_all(index)


def _plain_all(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: _plain_all(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)(map(_plain_all, values))
    return _plain(values)


def _on_device(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_on_device, found))
    if not isinstance(found, np.ndarray):
        return _on_device(np.asarray(found)) if isinstance(found, np.generic) else found
    CARD.take(found.nbytes)
    return found.view(GpuArray)


class _Cupy(ModuleType):
    """NumPy's functions for arrays of the device."""

    ndarray = GpuArray

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if isinstance(found, (type, np.ufunc)) or not callable(found):
            return found

        def function(*arguments: Any, **options: Any) -> Any:
            return _on_device(found(*_plain_all(arguments), **_plain_all(options)))

        return function

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        if isinstance(values, GpuArray):
            return values if dtype is None else values.astype(dtype)
        return _on_device(np.array(values, dtype))


def _module(name: str, **members: Any) -> ModuleType:
    module = _Cupy(name) if name == "cupy" else ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    for key, value in members.items():
        setattr(module, key, value)
    return module


class _Frame(dict):
    """A table of cuDF: columns by name, each with its values."""

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__({name: SimpleNamespace(values=values) for name, values in columns.items()})


def _read_parquet(source: Any, columns: list[str], **options: Any) -> _Frame:
    table = pq.read_table(source, columns=columns)
    return _Frame({name: _on_device(table[name].to_numpy().copy()) for name in columns})


def _read_csv(chunk: Any, **options: Any) -> Any:
    """Find a field missing in any text: so the CPU has to read it, since the reader of cuDF is not
    emulated."""
    CARD.texts += 1
    CARD.take(len(chunk.getvalue()))
    return defaultdict(lambda: SimpleNamespace(has_nulls=True))


class _Graph:
    """A graph of cuGraph."""

    def __init__(self, directed: bool) -> None:
        assert not directed

    def from_cudf_edgelist(self, edges: _Frame, source: str, destination: str, renumber: bool) -> None:
        assert not renumber
        self.ends = [_plain(edges[name].values) for name in (source, destination)]


def _components(graph: _Graph) -> _Frame:
    n = int(max(ends.max() for ends in graph.ends)) + 1
    matrix = sp.coo_array((np.ones(graph.ends[0].size), graph.ends), shape=(n, n))
    labels = csgraph.connected_components(matrix.tocsr(), directed=False)[1]
    vertices = np.unique(np.concatenate(graph.ends))
    return _Frame({"vertex": _on_device(vertices), "labels": _on_device(labels[vertices])})


class _Device(Entered):
    id, compute_capability = 0, "75"
    attributes = {"MultiProcessorCount": 2, "MaxSharedMemoryPerMultiprocessor": 65_536}  # noqa: RUF012

    def __init__(self, number: int = 0) -> None:
        self.mem_info = CARD.free - CARD.used, CARD.free


def _stream(*arguments: Any, **options: Any) -> None:
    """Lose the card: kernels of a search are not emulated."""
    CARD.searches += 1
    raise RuntimeError("cudaErrorECCUncorrectable")


def _modules() -> dict[str, ModuleType]:
    runtime = SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError)
    cuda = SimpleNamespace(
        Device=_Device,
        Stream=_stream,
        runtime=runtime,
        driver=SimpleNamespace(CUDADriverError=RuntimeError),
        set_allocator=lambda allocator: None,
    )
    pool = SimpleNamespace(free_all_blocks=lambda: None, free_bytes=lambda: 0)
    mr = SimpleNamespace(get_current_device_resource=lambda: None, CudaMemoryResource=int)
    return {
        "cupy": _module("cupy", cuda=cuda, get_default_memory_pool=lambda: pool),
        "cudf": _module(
            "cudf", read_parquet=_read_parquet, read_csv=_read_csv, DataFrame=_Frame, set_option=lambda *option: None
        ),
        "cugraph": _module("cugraph", Graph=_Graph, weakly_connected_components=_components),
        "rmm": _module("rmm", mr=mr),
        "rmm.allocators": _module("rmm.allocators"),
        "rmm.allocators.cupy": _module("rmm.allocators.cupy", rmm_cupy_allocator=None),
    }


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[Card]:
    """A machine with the libraries of a GPU, for which every table is large enough."""
    for name, module in _modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("AUTO_BYTES", "AUTO_PATHS", "AUTO_SECONDS", "AUTO_TIES"):
        monkeypatch.setattr(where, name, 0)
    monkeypatch.setattr(start, "_starts", [])
    _forget()
    CARD.has_left(1 << 40)
    CARD.texts = CARD.searches = 0
    yield CARD
    _forget()


def _forget() -> None:
    forget_the_gpu()
    device.cudf_and_cupy.cache_clear()
    device.free_bytes.cache_clear()
