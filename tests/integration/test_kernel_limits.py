"""Threads that do not start and memory that runs out are errors of the caller's: nothing aborts,
hangs or stays behind.

Each test runs kernels in a process of its own, below a limit of that process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from bicliq.flows.cli import invoke
from bicliq.kernels.machine import most_threads
from tests.integration.kernel_calls import KERNELS
from tests.nightly import part_of

ROOT = Path(__file__).parents[2]
ONE_THREADED = ("groups",)
FRUGAL = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""What is freed goes back to the system, so that the next call has no more than its limit."""

BEFORE = """
import os, resource, sys, time
import numpy as np
from bicliq import kernels
from tests.integration.kernel_calls import KERNELS, bipartite, for_kernel, plain, stream
from bicliq.kernels.cpu import load_extension
load_extension()
MIB = 1 << 20

def threads_now(expected):
    "A thread that was joined is listed for a moment more."
    for _ in range(100):
        if len(os.listdir("/proc/self/task")) == expected:
            break
        time.sleep(0.01)
    return len(os.listdir("/proc/self/task"))

def leave(mib):
    "Limits the address space to what is taken and so many MiB more."
    taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + mib * MIB, resource.RLIM_INFINITY))

def lift():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def run(script: str, **options: object) -> str:
    """The output of a script after `BEFORE`; a process that was ended by a signal fails the
    test."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **FRUGAL}
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + script], capture_output=True, text=True, env=environment, timeout=300, **options
    )  # type: ignore[call-overload]
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    return str(done.stdout)


@pytest.mark.parametrize("kernel", part_of(KERNELS, 3))
def test_threads_that_do_not_start_are_an_error_that_says_how_many(kernel: str) -> None:
    threads = 1 if kernel in ONE_THREADED else most_threads()
    output = run(f"""
graph, call, threads = for_kernel({kernel!r}, bipartite(60000, 50000, 6)), KERNELS[{kernel!r}], {threads}
expected, before = plain(call(graph, 2)), threads_now(1)
leave(4 if threads == 1 else 60)
try:
    call(graph, threads)
except kernels.CapacityError as error:
    print(error)
lift()
assert threads_now(before) == before
assert plain(call(graph, 2)) == expected
assert threads_now(before) == before
""")
    assert "could not be started" in output or "memory ran out" in output
    if kernel in ("enumerate", "projection"):  # others may need memory first, or take fewer threads
        assert f"of {threads} threads could not be started (" in output


@pytest.mark.parametrize("kernel", part_of(KERNELS, 3))
def test_no_thread_at_all_is_the_same_error(kernel: str) -> None:
    """As a user who may start no process any more."""
    output = run(f"""
graph, call = for_kernel({kernel!r}, bipartite(200, 100, 4)), KERNELS[{kernel!r}]
expected = plain(call(graph, 1))
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
resource.setrlimit(resource.RLIMIT_NPROC, (1, most))
try:
    call(graph, 1)
except kernels.CapacityError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
assert plain(call(graph, 1)) == expected
""")
    assert output.startswith("1 of 1 threads could not be started (")
    assert "ulimit -u" in output


@pytest.mark.parametrize("kernel", part_of(KERNELS, 2))
def test_memory_that_runs_out_anywhere_is_an_error_of_capacity(kernel: str) -> None:
    """With a little more memory each time, so that it runs out in one place after the other, in
    workers as well."""
    output = run(f"""
graph, call = for_kernel({kernel!r}, bipartite(100000, 80000, 6)), KERNELS[{kernel!r}]
expected, before, said, mib = plain(call(graph, 2)), threads_now(1), [], 1
while True:
    leave(mib)
    try:
        found = call(graph, 2)
        lift()
        assert plain(found) == expected
        break
    except kernels.CapacityError as error:
        lift()
        said.append(str(error))
    assert threads_now(before) == before
    mib += max(mib // 4, 1)
print(len(said), "memory ran out" in " ".join(said))
""")
    refused, out_of_memory = output.split()
    assert int(refused) > 2
    assert out_of_memory == "True"


@pytest.mark.parametrize("call", ["stream", "digest"])
def test_memory_that_runs_out_for_the_matrix_of_one_root_ends_those_that_wait_for_work(call: str) -> None:
    """One vertex knows all of the other side; the other roots are done before its matrix is
    made."""
    output = run(f"""
matrix = np.random.default_rng(0).random((2000, 12000)) < 0.004
matrix[:, 0] = True
u, v = np.nonzero(matrix)
graph, before = (np.searchsorted(u, np.arange(2001)), v.astype(np.int32), 12000), threads_now(1)

def stream():
    with kernels.stream_maximal_bicliques(*graph, side="right", threads=3, max_bicliques=200_000) as batches:
        return sum(len(batch) for batch in batches)

def digest():
    return kernels.enumerate_maximal_bicliques(*graph, mode="digest", side="right", threads=3, max_bicliques=200_000)

refused = 0
for mib in range(4, 400):
    leave(mib)
    try:
        {call}()
        break
    except kernels.CapacityError as error:
        refused += "memory ran out" in str(error)
    finally:
        lift()
        assert threads_now(before) == before
print(refused)
""")
    assert int(output) > 0


def test_a_search_deeper_than_a_thread_s_stack_says_so() -> None:
    output = run(
        """
ones = np.ones((40, 3000), bool)
u, v = np.nonzero(ones)
graph = np.searchsorted(u, np.arange(41)), v, 3000
try:
    kernels.count_bicliques(*graph, 20, 1500, method="levels", side="right")
except kernels.CapacityError as error:
    print(error)
u, v = np.nonzero(~np.eye(600, dtype=bool))
graph = np.searchsorted(u, np.arange(601)), v, 600
try:
    kernels.count_bicliques(*graph, 598, 2, method="pivot", side="left")
except kernels.CapacityError as error:
    print(error)
""",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, resource.RLIM_INFINITY)),
    )
    assert "method 'levels' would choose more vertices one by one than a thread's stack has room for" in output
    assert "pivots go deeper in this graph than a thread's stack has room for" in output


def test_the_command_line_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    edges = str(ROOT / "tests" / "data" / "southern-women.parquet")
    for asked in (["enumerate", edges], ["count", edges, "2", "2"], ["run", edges, "--local"]):
        for threads, said in (
            ("100000", "search.threads 100000: Input should be less than"),
            ("4096", "threads is 4096; at most"),
            ("-3", "search.threads -3: Input should be greater than"),
        ):
            assert invoke([*asked, "--threads", threads]) == 2
            err = capsys.readouterr().err
            assert said in err
            assert "Traceback" not in err
