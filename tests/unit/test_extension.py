"""The extension by itself: what it checks of its arguments, how they are named, and that it lets
Python work meanwhile."""

from __future__ import annotations

import inspect
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import numpy as np
import pytest

from benchmarks.stops import CALLS, Csr, random_rows, ticking
from bicliq import kernels
from bicliq.kernels.contracts import CODECS, Method, Side
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.worth import OBJECTIVES

EMPTY, NO_STARTS = np.zeros(0, np.int32), np.zeros(0, np.int64)
NO_TERMS = NO_STARTS, NO_STARTS, NO_STARTS, NO_STARTS, EMPTY, 0, 0
LARGEST_GAP = 0.1
"""Seconds, beside other tests: on a machine of its own it is a fifth of that."""


def named(extension: Any) -> Iterator[tuple[str, str]]:
    """Signatures of all that the extension has."""
    for name, value in vars(extension).items():
        functions = (
            {name: value} if not inspect.isclass(value) else {f"{name}.{own}": of for own, of in vars(value).items()}
        )
        for function, of in functions.items():
            for signature, *_ in getattr(of, "__nb_signature__", None) or ():
                yield function, signature


def test_every_argument_of_the_extension_has_a_name() -> None:
    signatures = list(named(load_extension()))
    assert len(signatures) > 60
    nameless = [f"{name}: {text}" for name, text in signatures if "arg:" in text or "arg0" in text or "arg," in text]
    nameless = [each for each in nameless if "__eq__" not in each and "Enum" not in each]
    assert not nameless


def test_enumerations_are_those_of_the_extension() -> None:
    extension = load_extension()
    assert {codec.name: codec.value for codec in extension.Codec} == CODECS
    assert tuple(each.name for each in extension.Objective) == OBJECTIVES
    assert {each.name for each in extension.Method} == {"auto", *get_args(Method)} - {"butterfly"}
    assert {each.name for each in extension.RootSide} == {"auto", *get_args(Side)}


def begun(name: str) -> Callable[[np.ndarray, np.ndarray], Any]:
    extension = load_extension()
    sizes, ids, hashes = (1, 1, 1), np.zeros(0, np.int32), np.zeros(0, np.uint64)
    methods = extension.Method.auto, extension.RootSide.auto
    return {
        "enumeration": lambda starts, row: extension.Enumeration(
            starts, row, 0, True, None, None, ids, ids, hashes, hashes, extension.Mode.count, *sizes, 9, 1, 1, 1, None
        ),
        "finding": lambda starts, row: extension.Finding(
            starts, row, 0, True, 1, 1, (*sizes, 9, 9), 1, extension.Objective.edges, NO_TERMS, []
        ),
        "covering": lambda starts, row: extension.EdgeFinding(
            starts, row, 0, True, 1, 1, (*sizes, 9, 9), 1, NO_STARTS, True
        ),
        "count": lambda starts, row: extension.Count(
            starts, row, 0, 2, 2, extension.Asked.one, *methods, None, 1, 0, False
        ),
        "butterflies": lambda starts, row: extension.ButterflyCount(starts, row, 0, False, 1),
        "estimate": lambda starts, row: extension.Estimate(starts, row, 0, True, [1], [1], 1, 1, 0, 1, 1, 1, 1),
        "clique": lambda starts, row: extension.CliqueSearch(starts, row, 0, False, 1, True, True),
        "clique_plan": lambda starts, row: extension.plan_cliques(starts, row, 0),
        "projection": lambda starts, row: extension.OneMode(starts, row, 0, False, 1, 1),
        "undirected": extension.undirected_fault,
        "grouping": lambda starts, row: extension.group_roots(starts, row, NO_STARTS, NO_STARTS, 1),
        "cutting": lambda starts, row: extension.cut_roots(starts, row, NO_STARTS, ids, NO_STARTS, 1),
        "transposition": lambda starts, row: extension.transpose(starts, row, 0, None),
        "peeling": lambda starts, row: extension.peel(starts, row, 0, 1, 1),
        "paths": lambda starts, row: extension.count_paths(starts, row, 0),
        "components": lambda starts, row: extension.connect(starts, row, 0),
        "sampled_paths": lambda starts, row: extension.Paths(starts, row, 0),
        "rows": lambda starts, row: extension.row_fault(starts, row, 0),
        "edges": lambda starts, row: extension.find_edges(starts, row, ids, ids),
        "changed": lambda starts, row: extension.change_rows(starts, row, None, ids, ids, np.zeros(0, np.uint8), None, 0),
        "changes": lambda starts, row: extension.ChangeSearch(starts, row, 0, starts, row, 1, 1, 1),
        "restorer": lambda starts, row: extension.SideRestorer(starts, row, 0),
    }[name]  # fmt: skip


DOORS = ["enumeration", "finding", "covering", "count", "butterflies", "estimate", "clique", "clique_plan", "projection", "undirected", "grouping", "cutting", "transposition", "peeling", "paths", "components", "sampled_paths", "rows", "edges", "changed", "changes", "restorer"]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("starts", [[], [1], [0, 1], [-1, 0], [0, 0, 3]], ids=str)
def test_rows_that_are_none_are_refused(door: str, starts: list[int]) -> None:
    """An empty `indptr` was a side of 2^32 - 1 vertices."""
    with pytest.raises(ValueError, match="where rows begin"):
        begun(door)(np.array(starts, np.int64), EMPTY)


@pytest.mark.parametrize("door", DOORS)
def test_no_rows_are_rows(door: str) -> None:
    begun(door)(np.zeros(1, np.int64), EMPTY)


def ran(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


HIDDEN = """
import resource
import numpy as np
from bicliq.kernels.cpu import load_extension
extension = load_extension()
list(map(ord, "no file can be opened from here on, and so no library"))
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
try:
    {call}
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "call",
    [
        "extension.RowGroupMaker(False, extension.Codec.zstd, 1, None, [], None, 1.0)",
        "extension.read_columns(np.zeros(30, np.uint8), extension.Codec.zstd, [(0, 30, 1, 1)], 1)",
    ],
)
def test_a_codec_whose_library_is_missing_is_said(call: str) -> None:
    """It was a null function pointer."""
    assert ran(HIDDEN.format(call=call)) == "this machine has no library for zstd"


def test_bytes_of_a_file_cannot_overflow_the_stack() -> None:
    """Structs within structs, a million deep."""
    assert ran("""
import numpy as np
from bicliq.kernels import read_columns
data = np.full(10**6, 0x1c, np.uint8)
print(read_columns(data, "none", [(0, len(data), 1, "int32")], 1))
""") == "None"  # fmt: skip


def test_a_result_waits() -> None:
    """None of these waits before it asks."""
    extension, n = load_extension(), 600
    random = np.random.default_rng(1)
    starts = np.arange(0, 40 * n + 1, 40, dtype=np.int64)
    row = np.concatenate([np.sort(random.choice(n, 40, replace=False)) for _ in range(n)]).astype(np.int32)
    ids, hashes = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.uint64)

    def asked() -> dict[str, Any]:
        told: dict[str, Any] = extension.Enumeration(
            starts,
            row,
            n,
            True,
            None,
            None,
            ids,
            ids,
            hashes,
            hashes,
            extension.Mode.digest,
            1,
            1,
            1,
            2**63,
            2,
            10,
            10,
            None,
        ).result()
        return told

    expected = kernels.enumerate_maximal_bicliques(starts, row, n, mode="digest")
    for _ in range(3):
        told = asked()
        assert (told["found"], told["digest"]) == (expected.bicliques, expected.digest)
    counted = extension.Count(
        starts, row, n, 3, 3, extension.Asked.one, extension.Method.auto, extension.RootSide.auto, None, 2, 0, False
    ).result()
    assert counted["count"][2] == kernels.count_bicliques(starts, row, n, 3, 3).count
    best = extension.Finding(
        starts, row, n, True, 1, -(2**62), (1, 1, 1, 2**31, 2**31), 2, extension.Objective.edges, NO_TERMS, []
    ).result()
    assert best["proven"]
    assert best["answers"][0][0] == kernels.top_bicliques(starts, row, n, objective="edges", k=1).groups[0].value


def test_a_search_that_nobody_holds_ends_without_the_lock() -> None:
    """Its threads wait for the lock, to compress: whoever joined them with it waited for ever."""
    assert ran("""
import threading
import numpy as np
from bicliq.kernels.machine import Backend
from bicliq.kernels.cpu import CpuSearch, load_extension
from bicliq.kernels.enumeration import checked_request
from benchmarks.stops import random_rows
at_work = threading.Event()
def compress(data):
    at_work.set()
    return data
extension = load_extension()
layout = extension.RowGroupMaker(False, extension.Codec.zstd, 1, compress, [], None, 1.0)
request = checked_request(*random_rows(400, 400, 100_000), Backend.CPU, threads=2, batch_bicliques=1000)
search = CpuSearch(request, "enumerate", layout)
at_work.wait()
del search
print("ended")
""") == "ended"  # fmt: skip


def test_an_interrupt_while_the_extension_loads_is_one() -> None:
    """It ended the process: nanobind gives up where Python is interrupted in its enumerations."""
    assert ran("""
import signal
from bicliq.kernels.cpu import load_extension
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
heard = 0
while True:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005)
        load_extension()
        signal.setitimer(signal.ITIMER_REAL, 0)
        break
    except KeyboardInterrupt:
        heard += 1
print(heard > 0, len(load_extension().Method) > 1)
""") == "True True"  # fmt: skip


# ---- the interpreter's lock ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> Csr:
    return random_rows(2_000_000, 1_000_000, 4_000_000)


CALLED = ["check", "enumerate", "count", "butterflies", "find", "transpose", "restore", "edges", "change rows", "changes", "starts", "paths", "connect", "project"]  # fmt: skip


@pytest.mark.parametrize("call", CALLED)
def test_no_call_holds_the_interpreters_lock(call: str, large: Csr) -> None:
    """The best of three, since other processes hold up the ticks as well."""
    largest = []
    for _ in range(3):
        with ticking() as gaps:
            kept = CALLS[call](large)
            del kept
        largest.append(max(gaps))
        if largest[-1] < LARGEST_GAP:
            return
    pytest.fail(f"{call} held the lock for {largest} seconds")


def test_workers_without_work_sleep(large: Csr) -> None:
    """Each looked for some 20,000 times a second, for the run's life."""
    extension, threads = load_extension(), 16
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw, time.monotonic()
    search = extension.Count(
        *large, 2, 2, extension.Asked.choice, extension.Method.levels, extension.RootSide.auto, None, threads, 0, False
    )
    search.result()
    seconds = time.monotonic() - started
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
    assert switches < threads * (400 + 1000 * seconds)
