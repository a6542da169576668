"""The best groups with gaps: bicliques of which a few pairs are missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from bicliq.kernels.arguments import checked_csr, number_of_threads, one_of, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array, Packed
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.enumeration import LARGEST_SIZE, UNREACHED
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.finding import MOST_ANSWERS, FindProgress, FindResult, Group, top_bicliques

ObjectiveOfGaps = Literal["edges", "vertices", "balanced"]
OBJECTIVES_OF_GAPS: tuple[str, ...] = get_args(ObjectiveOfGaps)

MOST_MISSING = 255
"""A node holds a bit set for each number of pairs that a member may miss."""

FIRST_SECONDS, FIRST_SHARE = 1.0, 0.25
"""That are spent on groups without gaps, which say what is wanted; and of a time limit, at most."""


@memory_is_capacity
def groups_with_gaps(
    indptr: Any,
    indices: Any,
    n_right: int,
    k: int = 1,
    objective: ObjectiveOfGaps = "edges",
    *,
    missing: int,
    missing_each: int | None = None,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_left: int | None = None,
    max_right: int | None = None,
    threads: int = 1,
    time_limit: float | None = None,
    progress: Callable[[FindProgress], Any] | None = None,
) -> FindResult:
    """Find the `k` best L × R of a bipartite graph of which at most so many pairs are missing.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`. A vertex without an edge is never
        a member.
    k : int
        How many.
    objective : {"edges", "vertices", "balanced"}
        What a group is worth: the edges that are there, |L| + |R|, or min(|L|, |R|). Of equal ones
        those with more edges come first.
    missing : int
        Pairs that may be missing, at most 255. With 0 this is `top_bicliques`.
    missing_each : int, optional
        Pairs that one member may miss, of either side; by default as many.
    min_left, min_right, min_edges, max_left, max_right : int
        Only groups of these sizes; edges are those that are there.
    threads : int
        Worker threads; 0 takes all cores. The answer does not depend on it.
    time_limit : float, optional
        Seconds after which the search ends; the result then says that it is not proven.
    progress : callable, optional
        Called about five times a second with how far the search is.

    Returns
    -------
    FindResult
        Groups that cannot be bettered: no vertex can be added so that a group is worth more, and
        none taken away so that it is worth as much. Ordered by value, then by edges, fewer missing
        pairs, left and right vertices. Each says which pairs it misses.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix of whole numbers, or an argument is out of its range.
    CapacityError
        If a size is beyond 32 bits, or memory runs out.

    Notes
    -----
    `src/gaps/gap_finding.hpp` says how. The search visits what may reach the k-th best; with small
    `min_left` and `min_right`, not above `missing`, that may be much.

    Examples
    --------
    K(3, 3) without one of its edges:

    >>> found = groups_with_gaps([0, 3, 6, 8], [0, 1, 2, 0, 1, 2, 0, 1], 3, missing=1)
    >>> [(g.left.tolist(), g.right.tolist(), g.value, g.missing.tolist()) for g in found.groups]
    [([0, 1, 2], [0, 1, 2], 8, [[2, 2]])]
    """
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    one_of("objective", objective, OBJECTIVES_OF_GAPS)
    wanted = whole_number("k", k, most=MOST_ANSWERS)
    gaps = whole_number("missing", missing, least=0, most=MOST_MISSING)
    each = gaps if missing_each is None else whole_number("missing_each", missing_each, least=0, most=MOST_MISSING)
    sizes = (
        whole_number("min_left", min_left, most=LARGEST_SIZE),
        whole_number("min_right", min_right, most=LARGEST_SIZE),
        min(whole_number("min_edges", min_edges), UNREACHED),
        *(
            2**32 - 1 if value is None else whole_number(name, value, most=LARGEST_SIZE)
            for name, value in (("max_left", max_left), ("max_right", max_right))
        ),
    )
    workers = number_of_threads(threads)
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit is {time_limit!r}; it must be a number of seconds of at least 0")
    without_gaps = partial(
        top_bicliques,
        starts,
        columns,
        n_columns,
        wanted,
        objective,
        min_left=min_left,
        min_right=min_right,
        min_edges=min_edges,
        max_left=max_left,
        max_right=max_right,
        threads=threads,
    )
    if not gaps or not each:
        return _with_missing(without_gaps(time_limit=time_limit, progress=progress), starts, columns)
    started = time.monotonic()
    first = without_gaps(
        time_limit=FIRST_SECONDS if time_limit is None else min(FIRST_SECONDS, FIRST_SHARE * time_limit)
    )
    graph = Packed.of(starts, columns, n_columns)
    extension = load_extension()
    task = extension.GapFinding(
        *graph.csr,
        extension.Objective[objective],
        wanted,
        gaps,
        min(each, gaps),
        [(_places(graph.left, group.left), _places(graph.right, group.right)) for group in first.groups],
        *sizes,
        workers,
    )

    def groups(answers: Sequence[Any]) -> list[Group]:
        found = [(_numbers(graph.left, left), _numbers(graph.right, right)) for left, right in answers]
        return [_group(left, right, objective, starts, columns) for left, right in found]

    def tell() -> None:
        assert progress is not None
        progress(FindProgress(groups(task.so_far()), task.roots_done, task.n_roots))

    left = None if time_limit is None else max(time_limit - (time.monotonic() - started), 0.0)
    wait_for(task, None if progress is None else tell, time_limit=left)
    told = task.result()
    seconds = {name: told[f"{name}_seconds"] for name in ("prepare", "search")}
    seconds["prepare"] += sum(first.seconds.values())
    backend = f"cpu-{extension.isa}"
    return FindResult(
        groups(told["answers"]), told["proven"], first.side, told["nodes"], told["roots"], seconds, workers, backend
    )


def _with_missing(result: FindResult, starts: Int64Array, columns: Int32Array) -> FindResult:
    groups = [
        replace(group, missing=missing_pairs(starts, columns, group.left, group.right)) for group in result.groups
    ]
    return replace(result, groups=groups)


def _group(left: Int32Array, right: Int32Array, objective: str, starts: Int64Array, columns: Int32Array) -> Group:
    missing = missing_pairs(starts, columns, left, right)
    n, k = len(left), len(right)
    value = {"edges": n * k - len(missing), "vertices": n + k, "balanced": min(n, k)}[objective]
    return Group(left, right, value, missing=missing)


def missing_pairs(indptr: Any, indices: Any, left: Any, right: Any) -> Int32Array:
    """Return the pairs of L × R that are no edges of a graph.

    Parameters
    ----------
    indptr, indices
        CSR of the left side, rows ascending.
    left, right : array of int32
        Members, ascending.

    Returns
    -------
    array of int32, shape (n, 2)
        Left and right vertex, ascending.

    Notes
    -----
    O(edges of the left members) time.

    Examples
    --------
    >>> import numpy as np
    >>> missing_pairs([0, 2, 3], np.array([0, 1, 1]), np.array([0, 1]), np.array([0, 1])).tolist()
    [[1, 0]]
    """
    left, right = np.asarray(left), np.asarray(right)
    first, last = np.asarray(indptr)[left], np.asarray(indptr)[left + 1]
    ends = np.cumsum(last - first)
    entries = indices[
        np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - (last - first)), last - first)
    ]
    joined = np.isin(entries, right)
    has = np.bincount(np.repeat(np.arange(len(left)), last - first)[joined], minlength=len(left))
    lacking = np.flatnonzero(has < len(right))
    found = [
        (int(left[i]), int(v))
        for i in lacking
        for v in np.setdiff1d(right, indices[first[i] : last[i]], assume_unique=True)
    ]
    return np.array(found, np.int32).reshape(-1, 2)


def _places(kept: Any, vertices: Int32Array) -> list[int]:
    places: list[int] = (vertices if kept is None else np.searchsorted(kept, vertices)).tolist()
    return places


def _numbers(kept: Any, vertices: Any) -> Int32Array:
    numbers: Int32Array = (vertices if kept is None else kept[vertices]).astype(np.int32)
    return numbers
