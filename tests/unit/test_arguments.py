"""Every public function refuses what is no graph, and what is no number, in the same words;
everything else it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels import contracts
from bicliq.kernels.machine import most_threads
from tests.memory_room import room

INDPTR, INDICES, N_RIGHT = [0, 3, 5, 5, 6], [0, 1, 3, 0, 1, 3], 5
SYMMETRIC = [0, 2, 4, 6], [1, 2, 0, 2, 0, 1]


def streamed(*graph: Any, **options: Any) -> list[tuple[list[int], list[int]]]:
    with kernels.stream_maximal_bicliques(*graph, **options) as stream:
        return [
            (batch.left[a:b].tolist(), batch.right[c:d].tolist())
            for batch in stream
            for a, b, c, d in zip(
                batch.left_offsets, batch.left_offsets[1:], batch.right_offsets, batch.right_offsets[1:], strict=False
            )
        ]


BIPARTITE: dict[str, Callable[..., Any]] = {
    "enumerate": partial(kernels.enumerate_maximal_bicliques, mode="digest"),
    "stream": streamed,
    "levels": lambda *graph, **options: kernels.count_bicliques(*graph, 2, 2, method="levels", **options),
    "pivot": lambda *graph, **options: kernels.count_bicliques(*graph, 2, 2, method="pivot", **options),
    "vertices": lambda *graph, **options: kernels.count_bicliques(*graph, 2, 1, per_vertex=True, **options),
    "butterflies": lambda *graph, **options: kernels.count_bicliques(*graph, 2, 2, per_vertex=True, **options),
    "table": lambda *graph, **options: kernels.count_all_bicliques(*graph, 3, 3, **options),
    "choice": lambda *graph, **options: kernels.choose_count(*graph, 2, 2, **options),
    "projection": kernels.project_one_mode,
}
CLIQUE: dict[str, Callable[..., Any]] = {
    "clique": lambda indptr, indices, _, **options: kernels.maximum_clique(indptr, indices, **options)
}
GROUPS: dict[str, Callable[..., Any]] = {
    "groups": lambda indptr, indices, n_right: kernels.group_roots(
        indptr, indices, np.ones(max(int(n_right), 1), int), np.ones(len(indptr) - 1, int), 2
    )
}
THREADED = {**BIPARTITE, **CLIQUE}

NO_WHOLE_NUMBERS = {
    "nan": [0.0, 1.0, 3.0, 0.0, float("nan"), 3.0],
    "fractions": [0.0, 1.7, 3.0, 0.0, 1.0, 3.0],
    "whole floats": [0.0, 1.0, 3.0, 0.0, 1.0, 3.0],
    "complex": [0j, 1j, 3, 0, 1, 3],
    "bool": [False, True, True, False, True, True],
    "text": ["0", "1", "3", "0", "1", "3"],
    "objects": [0, 1, None, 0, 1, 3],
    "dates": np.zeros(6, "datetime64[s]"),
}


@pytest.mark.parametrize("kernel", [*THREADED, *GROUPS])
@pytest.mark.parametrize("kind", NO_WHOLE_NUMBERS)
def test_arrays_of_anything_but_whole_numbers_are_refused_with_the_place(kernel: str, kind: str) -> None:
    call = {**THREADED, **GROUPS}[kernel]
    with pytest.raises(ValueError, match=r"indices holds .* at index \d.*whole numbers"):
        call(INDPTR, NO_WHOLE_NUMBERS[kind], N_RIGHT)
    starts = np.asarray(NO_WHOLE_NUMBERS[kind])
    with pytest.raises(ValueError, match=r"indptr holds .* at index \d.*whole numbers"):
        call(starts, INDICES, N_RIGHT)


BAD_GRAPHS = [
    ([0, 3, 5, 5, 6], [0, 1, 5, 0, 1, 3], "indices holds 5 at index 2, but there are 5 right vertices"),
    ([0, 3, 5, 5, 6], [0, 1, 3, 1, 0, 3], r"row 1 has 1, then 0 \(index 4\)"),
    ([0, 3, 5, 5, 6], [0, 1, 1, 0, 1, 3], r"row 0 has 1, then 1 \(index 2\)"),
    ([0, 3, 5, 5, 6], [0, 1, -3, 0, 1, 3], "indices holds -3 at index 2"),
    ([1, 3, 5, 5, 6], INDICES, "indptr must start with 0.*it starts with 1"),
    ([0, 5, 3, 5, 6], INDICES, "it falls from 5 to 3 at index 2"),
    ([0, 3, 5, 5, 7], INDICES, "it ends with 7, and there are 6"),
    ([], [], "it is empty"),
    ([0, 3, 5, 5, 6], [[0, 1, 3], [0, 1, 3]], "indices has 2 dimensions"),
    ([[0, 6]], INDICES, "indptr has 2 dimensions"),
    ([0, 3, 5, 5, 6], 3, "indices has 0 dimensions"),
    ([0, 3, 5, 5, 6], [[0, 1], [0]], "one dimension"),
]


@pytest.mark.parametrize("kernel", BIPARTITE)
@pytest.mark.parametrize(("indptr", "indices", "message"), BAD_GRAPHS)
def test_what_is_no_csr_matrix_is_refused_with_the_place(kernel: str, indptr: Any, indices: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BIPARTITE[kernel](indptr, indices, N_RIGHT)


@pytest.mark.parametrize("kernel", BIPARTITE)
def test_a_number_of_right_vertices_is_a_whole_number_of_31_bits(kernel: str) -> None:
    call = BIPARTITE[kernel]
    for bad in (-1, 5.0, True, "5", None, float("nan")):
        with pytest.raises(ValueError, match=r"n_right is .*whole number of at least 0"):
            call(INDPTR, INDICES, bad)
    with pytest.raises(kernels.CapacityError, match="n_right is 1,099,511,627,776"):
        call(INDPTR, INDICES, 2**40)
    with pytest.raises(kernels.CapacityError, match="n_right is 2,147,483,648"):
        call(INDPTR, INDICES, 2**31)


def plain(found: Any) -> Any:
    """What a kernel found, without its seconds."""
    if isinstance(found, kernels.EnumerationResult):
        return found.bicliques, found.digest
    if isinstance(found, kernels.CountResult):
        parts = (found.left_counts, found.right_counts, found.edge_counts)
        return found.count, [None if part is None else part.tolist() for part in parts]
    if isinstance(found, kernels.CountTable):
        return found.counts
    if isinstance(found, kernels.CliqueResult):
        return found.members.tolist()
    if isinstance(found, tuple):
        return [part.tolist() if isinstance(part, np.ndarray) else part for part in found]
    return sorted(found)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "int8": lambda x: np.array(x, np.int8),
    "int16": lambda x: np.array(x, np.int16),
    "int64": lambda x: np.array(x, np.int64),
    "uint32": lambda x: np.array(x, np.uint32),
    "uint64": lambda x: np.array(x, np.uint64),
    "big-endian": lambda x: np.array(x, ">i4"),
    "every second": lambda x: np.repeat(np.array(x, np.int32), 2)[::2],
    "backwards": lambda x: np.array(x, np.int64)[::-1].copy()[::-1],
    "column": lambda x: np.stack([x, x], axis=1)[:, 0],
    "read-only": lambda x: np.frombuffer(np.array(x, np.int32).tobytes(), np.int32),
    "tuple": tuple,
}


@pytest.mark.parametrize("kernel", [*THREADED, *GROUPS])
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_numbers_of_every_size_order_and_layout_are_taken(kernel: str, shape: str) -> None:
    call = {**THREADED, **GROUPS}[kernel]
    indptr, indices = SYMMETRIC if kernel == "clique" else (INDPTR, INDICES)
    expected = plain(call(indptr, indices, N_RIGHT))
    assert plain(call(SHAPES[shape](indptr), SHAPES[shape](indices), np.int64(N_RIGHT))) == expected


@pytest.mark.parametrize("kernel", BIPARTITE)
@pytest.mark.parametrize("graph", [([0], [], 0), ([0], [], 4), ([0, 0, 0], [], 0), ([0, 0], [], 3)])
def test_graphs_without_vertices_or_edges_have_their_answer(kernel: str, graph: Any) -> None:
    found = BIPARTITE[kernel](*graph)
    n_left, n_right = len(graph[0]) - 1, graph[2]
    if kernel == "projection":
        assert plain(found) == [[0] * (n_left + 1), []]
        assert plain(kernels.project_one_mode(*graph, side="right")) == [[0] * (n_right + 1), []]
    elif kernel == "enumerate":
        assert (found.bicliques, found.digest, found.complete) == (0, 0, True)
    elif kernel == "stream":
        assert found == []
    elif kernel == "table":
        assert set(found.counts.values()) == {0}
    elif kernel != "choice":
        assert found.count == 0
        if kernel in ("vertices", "butterflies"):
            assert (len(found.left_counts), len(found.right_counts)) == (n_left, n_right)


@pytest.mark.parametrize("kernel", BIPARTITE)
def test_vertices_without_an_edge_cost_nothing_however_many_there_are(kernel: str) -> None:
    if kernel in ("vertices", "butterflies"):
        pytest.skip("one number for each of 2^31 vertices is asked for; see the test below")
    call, begun = BIPARTITE[kernel], time.process_time()
    with room(1 << 30):
        assert plain(call(INDPTR, INDICES, 2**31 - 1)) == plain(call(INDPTR, INDICES, N_RIGHT))
    assert time.process_time() - begun < 2  # whatever else the machine does


def test_what_is_left_out_for_want_of_edges_comes_back_in_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same graph, its vertices moved far apart among others that have no edge."""
    random = np.random.default_rng(5)
    matrix = random.random((40, 30)) < 0.3
    left, right = np.sort(random.choice(9000, 40, replace=False)), np.sort(random.choice(9000, 30, replace=False))
    far = np.zeros((9000, 9000), bool)
    far[np.ix_(left, right)] = matrix
    u, v = np.nonzero(far)
    graph = np.searchsorted(u, np.arange(9001)), v, 9000
    roots = np.concatenate([left[::2], np.setdiff1d(np.arange(9000), left)[:50]])

    def answers() -> list[Any]:
        found: list[Any] = [plain(BIPARTITE[kernel](*graph)) for kernel in BIPARTITE if kernel != "choice"]
        found += [
            plain(BIPARTITE[kernel](*graph, side="left", roots=roots)) for kernel in ("enumerate", "levels", "table")
        ]
        found += [plain(BIPARTITE[kernel](*graph, side="right")) for kernel in ("enumerate", "vertices", "projection")]
        ids = random.permutation(9000)
        with_ids = kernels.enumerate_maximal_bicliques(*graph, mode="digest", left_ids=ids, right_ids=ids)
        shifted = kernels.enumerate_maximal_bicliques(*graph, mode="digest", left_ids=ids + 9, right_ids=ids)
        return [*found, with_ids.bicliques, with_ids.digest == shifted.digest]

    expected = answers()
    monkeypatch.setattr(contracts, "FEW_VERTICES", 1000)
    assert contracts.Packed.of(np.asarray(graph[0]), np.asarray(v, np.int32), 9000).n_right == 30
    assert answers() == expected


def test_one_number_for_each_of_too_many_vertices_is_refused() -> None:
    left = r"MiB, and (1,0\d\d|9\d\d) MiB are left"
    with room(1 << 30), pytest.raises(kernels.CapacityError, match=f"16,383 {left}"):
        kernels.count_bicliques(INDPTR, INDICES, 2**31 - 1, 2, 2, per_vertex=True)
    with room(1 << 30), pytest.raises(kernels.CapacityError, match=f"16,384 {left}"):
        kernels.project_one_mode(INDPTR, INDICES, 2**31 - 1, side="right")


@pytest.mark.parametrize("kernel", THREADED)
def test_a_number_of_threads_is_checked_before_one_is_started(kernel: str) -> None:
    graph = (*SYMMETRIC, 3) if kernel == "clique" else (INDPTR, INDICES, N_RIGHT)
    for bad in (-1, -(2**40), 1.0, True, "2", None):
        with pytest.raises(ValueError, match=r"threads is .*; it must be a whole number of at least 1, or 0 for all"):
            THREADED[kernel](*graph, threads=bad)
    for many in (most_threads() + 1, 1000 + most_threads(), 2**31, 2**70):
        with pytest.raises(kernels.CapacityError, match=f"threads is {many}; at most {most_threads()} are started"):
            THREADED[kernel](*graph, threads=many)
    expected = plain(THREADED[kernel](*graph))
    for threads in (0, np.int32(2), most_threads()):
        assert plain(THREADED[kernel](*graph, threads=threads)) == expected


NUMBERS: dict[str, tuple[Callable[..., Any], int]] = {
    **{
        name: (lambda name, value: kernels.enumerate_maximal_bicliques(INDPTR, INDICES, N_RIGHT, **{name: value}), 1)
        for name in ("min_left", "min_right", "min_edges", "max_bicliques")
    },
    **{
        name: (lambda name, value: streamed(INDPTR, INDICES, N_RIGHT, **{name: value}), 1)
        for name in ("batch_bicliques", "batch_ids")
    },
    **{
        name: (
            lambda name, value: kernels.count_bicliques(INDPTR, INDICES, N_RIGHT, **{"p": 2, "q": 2, name: value}),
            1,
        )
        for name in ("p", "q")
    },
    **{
        name: (
            lambda name, value: kernels.count_all_bicliques(
                INDPTR, INDICES, N_RIGHT, **{"max_p": 2, "max_q": 2, name: value}
            ),
            1,
        )
        for name in ("max_p", "max_q")
    },
    "min_shared": (lambda name, value: kernels.project_one_mode(INDPTR, INDICES, N_RIGHT, **{name: value}), 1),
    "lower_bound": (lambda name, value: kernels.maximum_clique(*SYMMETRIC, **{name: value}), 0),
    "devices": (lambda name, value: kernels.maximum_clique(*SYMMETRIC, **{name: value}), 0),
    "partitions": (lambda name, value: kernels.group_roots([0, 1], [0], [1], [1], **{name: value}), 1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_whole_ones_of_python_or_numpy(name: str) -> None:
    call, least = NUMBERS[name]
    for good in (least, np.int8(least + 1), np.uint64(least), np.int32(2)):
        call(name, good)
    for bad in (least - 1, np.int64(least - 1), float(least + 1), np.float64(2), True, np.True_, "2", None):
        if bad is None and name == "max_bicliques":
            continue  # no limit
        with pytest.raises(ValueError, match=f"{name} is .*; it must be a whole number of at least {least}"):
            call(name, bad)


@pytest.mark.parametrize("name", ["min_edges", "max_bicliques", "p", "q", "min_shared"])
def test_numbers_that_nothing_reaches_are_taken_as_such(name: str) -> None:
    found = NUMBERS[name][0](name, 2**70)
    if name == "max_bicliques":
        assert (found.bicliques, found.complete) == (3, True)
    elif name == "min_edges":
        assert found.bicliques == 0
    elif name == "min_shared":
        assert plain(found) == [[0] * 5, []]
    else:
        assert found.count == 0


@pytest.mark.parametrize("name", ["min_left", "min_right", "batch_bicliques", "batch_ids", "lower_bound", "partitions"])
def test_numbers_beyond_what_is_held_are_a_matter_of_capacity(name: str) -> None:
    with pytest.raises(kernels.CapacityError, match=f"{name} is 1,180,591,620,717,411,303,424; the most that fits"):
        NUMBERS[name][0](name, 2**70)


def test_roots_are_checked_with_their_place() -> None:
    for roots, message in [
        ([0, 9], "roots holds 9 at index 1, but the enumerated side has 4 vertices"),
        ([-1], "roots holds -1 at index 0"),
        ([1, 2, 1], "roots holds vertex 1 twice"),
        ([1, 2.5], "roots holds 2.5 at index 1"),
        ([[1]], "roots has 2 dimensions"),
    ]:
        for kernel in ("enumerate", "stream", "levels", "table"):
            with pytest.raises(ValueError, match=message):
                BIPARTITE[kernel](INDPTR, INDICES, N_RIGHT, side="left", roots=roots)


def test_ids_are_checked_with_their_place() -> None:
    for ids, message in [
        ([0, 1, 2], "left_ids has 3 entries for 4 vertices"),
        ([0, 1, 2.5, 3], "left_ids holds 2.5 at index 2"),
        ([0, -1, 2, 3], "left_ids holds -1 at index 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernels.enumerate_maximal_bicliques(INDPTR, INDICES, N_RIGHT, left_ids=ids)
    with pytest.raises(kernels.CapacityError, match="left_ids holds 2147483648 at index 3"):
        kernels.enumerate_maximal_bicliques(INDPTR, INDICES, N_RIGHT, left_ids=[0, 1, 2, 2**31])
    for far in (2**31, 2**63, 2**64, 2**70):
        with pytest.raises(kernels.CapacityError, match=f"indices holds {far} at index 5"):
            kernels.enumerate_maximal_bicliques(INDPTR, [0, 1, 3, 0, 1, far], N_RIGHT)


def test_a_digest_is_that_of_whole_numbers_in_lists() -> None:
    good = ([0, 2], [0, 1], [0, 1], [5])
    assert kernels.set_digest(*map(np.uint16, good)) == kernels.set_digest(*good)
    for place, bad, message in [
        (0, [0, 3], "left_offsets must have"),
        (0, [0, 1, 0], "left_offsets must have"),
        (0, [], "left_offsets must have"),
        (0, [0.0, 2.0], "left_offsets holds 0.0 at index 0"),
        (1, [0.5, 1.0], "left holds 0.5 at index 0"),
        (2, [0, 0, 1], "there are 1 left sides and 2 right sides"),
        (3, [float("nan")], "right holds nan at index 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernels.set_digest(*good[:place], bad, *good[place + 1 :])


def test_a_side_is_chosen_for_a_matrix_and_thresholds_that_are_checked() -> None:
    with pytest.raises(ValueError, match="indices"):
        kernels.choose_side([0, 1], [1.5], 2)
    with pytest.raises(ValueError, match="min_left"):
        kernels.choose_side([0, 1], [0], 1, min_left=0)


def test_amounts_of_a_grouping_are_checked_with_their_place() -> None:
    for row_bytes, cost, message in [
        ([1, -2], [1, 1], "row_bytes holds -2 at index 1"),
        ([1, 2], [1, -1], "cost holds -1 at index 1"),
        ([1, 2], [1, 1.5], "cost holds 1.5 at index 1"),
        ([1], [1, 1], "indices holds 1 at index 1, but row_bytes has 1 entries"),
    ]:
        with pytest.raises(ValueError, match=message):
            kernels.group_roots([0, 1, 2], [0, 1], row_bytes, cost, 2)
    with pytest.raises(kernels.CapacityError, match="adds up to more than"):
        kernels.group_roots([0, 1, 2], [0, 1], [1, 1], [2**62, 2**62], 2)


@pytest.mark.parametrize("option", ["mode", "side", "method", "bounds"])
def test_words_are_those_that_are_known(option: str) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "mode": partial(kernels.enumerate_maximal_bicliques, INDPTR, INDICES, N_RIGHT),
        "side": partial(kernels.project_one_mode, INDPTR, INDICES, N_RIGHT),
        "method": partial(kernels.count_bicliques, INDPTR, INDICES, N_RIGHT, 2, 2),
        "bounds": partial(kernels.maximum_clique, *SYMMETRIC),
    }
    for bad in ("other", 1, None, ["left"]):
        with pytest.raises(ValueError, match=f"{option} is .*; it must be '"):
            calls[option](**{option: bad})


def test_checks_take_a_fraction_of_a_second_for_millions_of_edges() -> None:
    n, degree = 1 << 18, 24
    columns = np.sort(np.random.default_rng(0).integers(0, 1 << 20, (n, degree), dtype=np.int32), axis=1)
    columns += np.arange(degree, dtype=np.int32)
    indptr, n_right = np.arange(n + 1, dtype=np.int64) * degree, (1 << 20) + degree
    from bicliq.kernels.arguments import checked_csr

    best = 9.0
    for _ in range(3):
        begun = time.perf_counter()
        starts, indices, _ = checked_csr(indptr, columns.ravel(), n_right)
        best = min(best, time.perf_counter() - begun)
    assert starts is indptr
    assert np.shares_memory(indices, columns)
    assert best < 0.5  # for 6 million; a tenth of that as a rule
