"""One (p,q) by pivots on a GPU: the driver and its search on threads of this machine, against a
brute force, closed forms and the CPU's own search."""

from __future__ import annotations

import threading
import time
from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels import card_count
from bicliq.kernels.cuda import counting, pivots
from bicliq.kernels.cuda.batches import Failure
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from tests import host_counts, host_cupy, real_graphs
from tests.host_cupy import HostCupy
from tests.host_kernels import Launch
from tests.nightly import drawn, part_of
from tests.property.test_counting import brute_force, complete, graphs, random_graph
from tests.property.test_trees import crown

MEMORY = 1 << 28


@pytest.fixture(scope="module")
def gpu():
    """A machine whose GPU is this one's processor."""
    gpu = HostCupy(host_counts.COUNTS, memory=MEMORY)
    with pytest.MonkeyPatch.context() as patch, host_cupy.installed(gpu, patch) as cupy:
        yield cupy


def count(graph, p, q, side="left", **options):
    found = kernels.count_bicliques(*graph, p, q, side=side, method="pivot", backend="cuda", **options)
    assert (found.side, found.method, found.backend) == (side, "pivot", "cuda")
    return found.count


@pytest.mark.usefixtures("gpu")
@settings(max_examples=drawn(200, 10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(), st.integers(2, 5), st.integers(2, 5), st.sampled_from(["left", "right"]))
def test_small_graphs_have_the_count_of_a_brute_force(graph, p, q, side):
    assert count(graph, p, q, side) == brute_force(graph, p, q)


@pytest.mark.usefixtures("gpu")
@settings(max_examples=drawn(120, 12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 2**32),
    st.integers(30, 66),  # two words of a row, and three
    st.integers(30, 66),
    st.floats(0.3, 0.7),  # at 0.8 a root may not fit in the memory, and takes half a minute
    st.integers(2, 3),
    st.integers(2, 6),
    st.sampled_from(["left", "right"]),
)
def test_wide_graphs_have_the_count_of_a_brute_force(seed, n_left, n_right, density, p, q, side):
    graph = random_graph(seed, n_left, n_right, density)
    assert count(graph, p, q, side) == brute_force(graph, p, q)


def assert_vertices(graph, p, q, side, **options):
    found = kernels.count_bicliques(*graph, p, q, side=side, per_vertex=True, backend="cuda", **options)
    expected = kernels.count_bicliques(*graph, p, q, side=side, method="pivot", per_vertex=True, **options)
    assert (found.count, found.backend, found.method) == (expected.count, "cuda", "pivot")
    assert found.left_counts.tolist() == expected.left_counts.tolist()
    assert found.right_counts.tolist() == expected.right_counts.tolist()


@pytest.mark.usefixtures("gpu")
@settings(max_examples=drawn(200, 10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs(), st.integers(2, 5), st.integers(2, 5), st.sampled_from(["left", "right"]))
def test_small_graphs_have_the_vertices_of_the_cpu(graph, p, q, side):
    assert_vertices(graph, p, q, side)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("seed", part_of(range(30), 5))
def test_wide_graphs_have_the_vertices_of_the_cpu(seed):
    rng = np.random.default_rng(seed)
    n_left, n_right = int(rng.integers(30, 90)), int(rng.integers(30, 90))
    graph = random_graph(seed, n_left, n_right, float(rng.uniform(0.2, 0.4)))
    assert_vertices(graph, int(rng.integers(2, 5)), int(rng.integers(2, 6)), "left" if seed % 2 else "right")


@pytest.mark.usefixtures("gpu")
def test_vertices_of_large_counts_of_some_roots_and_of_small_memory(monkeypatch):
    assert_vertices(complete(6, 120), 3, 50, "left")
    assert_vertices(crown(45), 4, 3, "right")
    graph = random_graph(2, 40, 40, 0.5)
    assert_vertices(graph, 3, 3, "left", roots=np.arange(0, 40, 3))
    monkeypatch.setenv(MEMORY_VARIABLE, str(192 << 10))
    assert_vertices(graph, 3, 4, "left")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("seed", part_of(range(40), 5))
def test_wide_graphs_have_the_count_of_the_cpu(seed):
    rng = np.random.default_rng(seed)
    n_left, n_right = int(rng.integers(30, 150)), int(rng.integers(30, 150))
    graph = random_graph(seed, n_left, n_right, float(rng.uniform(0.1, 0.4)))
    p, q = int(rng.integers(3, 9)), int(rng.integers(3, 9))
    assert count(graph, p, q, "left" if seed % 2 else "right") == kernels.count_bicliques(*graph, p, q).count


def test_wide_nodes_go_in_waves(gpu):
    before = gpu.launches.count("search_pivots")
    assert count(crown(45), 4, 3) == comb(45, 4) * comb(41, 3)
    assert gpu.launches.count("search_pivots") - before > pivots.WAVES_AT_ONCE


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("n", "p", "q"), part_of([(33, 3, 3), (45, 4, 3), (64, 2, 60), (65, 62, 3)], 2))
def test_crowns_have_their_closed_form(n, p, q):
    assert count(crown(n), p, q) == comb(n, p) * comb(n - p, q)


@pytest.mark.usefixtures("gpu")
def test_counts_beyond_64_bits_are_exact_and_beyond_128_an_error():
    for p, q in [(3, 50), (2, 60), (4, 33), (6, 120)]:
        assert count(complete(6, 120), p, q) == comb(6, p) * comb(120, q)
    assert count(complete(129, 3), 64, 2) == 3 * comb(129, 64) < 2**128 < comb(131, 65) * 3
    for graph, p, q in [(complete(4, 300), 3, 150), (complete(131, 3), 65, 2), (complete(140, 140), 20, 20)]:
        with pytest.raises(kernels.BackendError, match="128 bits"):
            count(graph, p, q)


@pytest.mark.usefixtures("gpu")
def test_parts_of_the_roots_add_up():
    graph = random_graph(5, 100, 60, 0.35)
    roots = np.random.default_rng(0).permutation(100)
    parts = [count(graph, 4, 4, roots=roots[k::3]) for k in range(3)]
    assert sum(parts) == kernels.count_bicliques(*graph, 4, 4).count
    assert all(parts)


@pytest.mark.usefixtures("gpu")
def test_runs_are_alike():
    graph = random_graph(8, 48, 48, 0.5)
    assert {count(graph, 5, 4) for _ in range(5)} == {kernels.count_bicliques(*graph, 5, 4).count}


@pytest.mark.parametrize(
    ("graph", "memory"),
    [
        ((2, 48, 48, 0.5), 192 << 10),  # tasks of the search do not fit
        ((2, 48, 48, 0.5), 512 << 10),
        ((2, 40, 40, 0.5), 128 << 10),  # nor do the grids of all roots
    ],
)
def test_too_little_memory_means_more_runs(gpu, monkeypatch, graph, memory):
    graph = random_graph(*graph)
    monkeypatch.setenv(MEMORY_VARIABLE, str(memory))
    before = gpu.launches.count("count_roots")
    assert count(graph, 4, 4) == kernels.count_bicliques(*graph, 4, 4).count
    assert gpu.launches.count("count_roots") - before > 1


@pytest.mark.usefixtures("gpu")
def test_what_does_not_fit_at_all_is_an_error(monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, str(256 << 10))
    with pytest.raises(kernels.BackendError, match="the largest root does not fit"):
        count(crown(33), 4, 4)
    with pytest.raises(kernels.BackendError, match=r"binomials for p=3, q=100 take .* use the CPU backend"):
        count(complete(6, 120), 3, 100)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("name", "p", "q"), [("UCforum", 3, 3), ("UCforum", 4, 4), ("moreno_crime", 3, 2)])
def test_real_graphs_have_the_count_of_the_cpu(name, p, q):
    graph = real_graphs.load(name)
    csr = graph.indptr, graph.indices, graph.n_right
    for side in ("left", "right"):
        assert count(csr, p, q, side) == kernels.count_bicliques(*csr, p, q).count


@pytest.mark.usefixtures("gpu")
def test_a_card_chooses_pivots_where_levels_would_take_long():
    graph = complete(100, 100)
    assert kernels.choose_count(*graph, 8, 8, backend="cuda")[0] == "pivot"
    found = kernels.count_bicliques(*graph, 8, 8, side="left", backend="cuda")
    assert (found.count, found.method) == (comb(100, 8) ** 2, "pivot")
    assert kernels.choose_count(*random_graph(1, 60, 60, 0.1), 3, 3, backend="cuda")[0] == "levels"


BY_THE_CARD = {"side": "left", "backend": "cuda"}
"""The host counts beside a card only where the side of the roots is up to it, too."""


def test_levels_that_take_too_long_are_given_up_for_pivots(gpu, monkeypatch):
    monkeypatch.setattr(card_count, "LEAST_PATIENCE", -1e9)
    graph = random_graph(1, 60, 60, 0.3)
    before = len(gpu.launches)
    found = kernels.count_bicliques(*graph, 3, 3, **BY_THE_CARD)
    assert (found.count, found.method) == (kernels.count_bicliques(*graph, 3, 3).count, "pivot")
    assert found.seconds["given_up"] > 0
    assert {"count_wave", "search_pivots"} <= set(gpu.launches[before:])
    asked = kernels.count_bicliques(*graph, 3, 3, method="levels", **BY_THE_CARD)
    assert (asked.count, asked.method) == (found.count, "levels")  # whoever asks for levels gets them


class Clock:
    """One that stands still, but where it is put on."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def put_on(self, seconds):
        self.now += seconds


def test_loading_a_program_takes_nothing_of_the_patience(gpu, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(counting, "time", clock)
    monkeypatch.setattr(gpu.RawModule, "compile", lambda module: clock.put_on(1000))
    host_cupy.forget_the_gpu()
    found = kernels.count_bicliques(*random_graph(1, 60, 60, 0.1), 3, 3, **BY_THE_CARD)
    assert (found.method, found.backend, clock.now) == ("levels", "cuda", 1000)
    assert "given_up" not in found.seconds


def test_levels_that_do_not_fit_become_pivots(monkeypatch, gpu):
    graph = random_graph(1, 60, 60, 0.3)

    def fail(grid, block, arguments):  # levels of this graph fit in any memory
        run = Launch(counting.RUN, counting.COUNTERS, arguments[0])
        return host_counts.count_roots(grid, block, arguments) if run.grids else run.fail(Failure.ARENA_FULL)

    monkeypatch.setitem(gpu.kernels, "count_roots", fail)
    found = kernels.count_bicliques(*graph, 3, 3, **BY_THE_CARD)
    assert (found.count, found.method) == (kernels.count_bicliques(*graph, 3, 3).count, "pivot")
    with pytest.raises(kernels.BackendError, match="the largest root does not fit"):
        kernels.count_bicliques(*graph, 3, 3, method="levels", **BY_THE_CARD)


def test_a_card_is_not_begun_for_what_the_host_has_sooner(gpu, monkeypatch):
    def given(seconds):
        for name in ("HOST_SECONDS", "HOST_SECONDS_OF_A_START"):
            monkeypatch.setattr(card_count, name, seconds)

    given(60)
    graph, before = random_graph(1, 60, 60, 0.1), len(gpu.launches)
    alone = kernels.count_bicliques(*graph, 3, 3)
    found = kernels.count_bicliques(*graph, 3, 3, backend="cuda")
    assert (found.count, found.backend, gpu.launches[before:]) == (alone.count, alone.backend, [])
    found = kernels.count_bicliques(*graph, 3, 3, threads=0, backend="cuda")
    assert found.threads == max(kernels.available_threads() - 1, 1)  # the other core is the card's
    for asked in ({"side": "left"}, {"method": "levels"}, {"per_vertex": True}, {"side": "left", "roots": [0, 1]}):
        assert kernels.count_bicliques(*graph, 3, 3, backend="cuda", **asked).backend == "cuda"


class HostThatTells:
    """A search of the host that says it has ended where `ended` says so."""

    def __init__(self, search, ended):
        self.search, self.ended = search, ended

    def __getattr__(self, name):
        return getattr(self.search, name)

    def wait(self, seconds):
        return self.ended(self.search, seconds)


def host_that_tells(monkeypatch, ended):
    """Let searches of the host beside a card say that they have ended where `ended` does."""
    begin = card_count.started_count
    monkeypatch.setattr(card_count, "started_count", lambda *asked, **how: HostThatTells(begin(*asked, **how), ended))


def test_whoever_ends_first_has_counted_where_host_and_card_both_count(gpu, monkeypatch):
    for name in ("HOST_SECONDS", "HOST_SECONDS_OF_A_START"):
        monkeypatch.setattr(card_count, name, 0)  # the host is not waited for
    graph, before = random_graph(1, 60, 60, 0.3), len(gpu.launches)
    alone = kernels.count_bicliques(*graph, 3, 3)
    with monkeypatch.context() as patch:
        patch.setattr(host_cupy, "POLLS", 10**4)  # the card does not end
        host_that_tells(patch, lambda search, seconds: "count_wave" in gpu.launches[before:] and search.wait(seconds))
        found = kernels.count_bicliques(*graph, 3, 3, backend="cuda")
    assert (found.count, found.backend) == (alone.count, alone.backend)
    assert "count_wave" in gpu.launches[before:]

    monkeypatch.setitem(gpu.kernels, "count_roots", lambda *launch: None)  # it finds nothing, and soon
    host_that_tells(monkeypatch, lambda search, seconds: False)
    large = random_graph(1, 100, 100, 0.5)  # of which the host would have something to do
    found = kernels.count_bicliques(*large, 6, 6, backend="cuda")
    assert (found.count, found.backend) == (0, "cuda")
    used = time.process_time()
    time.sleep(0.1)
    assert time.process_time() - used < 0.05  # nobody counts on


class ChosenHost:
    """A search of the host that has chosen, and does not end."""

    def __init__(self, clock, choice):
        self.clock, self.choice, self.begun = clock, choice, None

    def go_on(self):
        self.begun = self.clock.now if self.begun is None else self.begun

    def wait(self, seconds):
        self.clock.put_on(max(seconds, 0.001))
        return False


@pytest.mark.parametrize(
    ("is_pivot", "work", "threads", "first", "seconds"),
    [
        (False, 1e6, 1, "host", 0.004),
        (False, 1e8, 16, "card", 0.004),  # little: 21 ms of the host, 39 of a card by a careful estimate
        (False, 1e9, 16, "host", 0.078),  # a fifth of what a card should take
        (True, 1e9, 16, "card", 0.041),  # of what the host should
        (False, 1e8, 1, "card", 0.066),
    ],
)
def test_who_should_have_a_count_sooner_begins(monkeypatch, is_pivot, work, threads, first, seconds):
    clock = Clock()
    host = ChosenHost(clock, (is_pivot, True, work))
    monkeypatch.setattr(card_count, "time", clock)
    monkeypatch.setattr(card_count, "is_anything_loaded", lambda: True)
    is_late = card_count._host_beside(host, threads)  # a whole count does not say who began when
    if first == "host":
        assert host.begun == 0
        assert clock.now >= seconds
    else:
        assert host.begun is None
        while not is_late() and host.begun is None:
            pass
        assert host.begun >= seconds


def test_the_start_of_a_card_is_spared_once(monkeypatch):
    """Where each count takes less than a start does, the card would help with none otherwise."""
    monkeypatch.setattr(card_count, "is_anything_loaded", lambda: False)
    monkeypatch.setattr(card_count, "START_WAS_SPARED", threading.Event())
    hosts = [ChosenHost(Clock(), (False, True, 1e7)) for _ in range(3)]  # 33 ms each
    for host in hosts:
        monkeypatch.setattr(card_count, "time", host.clock)
        card_count._host_beside(host, 1)
    assert [host.begun is None for host in hosts] == [False, True, True]


def test_a_card_counts_where_the_host_cannot(gpu, monkeypatch):
    monkeypatch.setattr(card_count, "HOST_SECONDS", 0)
    monkeypatch.setattr(card_count, "HOST_SECONDS_OF_A_START", 0)

    def is_full(search, seconds):  # once it has chosen
        raise MemoryError

    host_that_tells(monkeypatch, is_full)
    graph = random_graph(1, 60, 60, 0.3)
    found = kernels.count_bicliques(*graph, 3, 3, backend="cuda")
    monkeypatch.undo()
    assert (found.count, found.backend) == (kernels.count_bicliques(*graph, 3, 3).count, "cuda")
