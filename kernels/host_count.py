"""Counts of one (p,q), and of all, by the threads of the host (`src/counting`)."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from bicliq.kernels.contracts import CountRequest, CountResult, CountTable, Method, Progress, ProgressCallback, Side
from bicliq.kernels.count_numbers import table_of, together, whole_number_of
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.errors import CapacityError

LARGEST_SIDE = 2**31 - 1


def count_by_search(
    request: CountRequest, method: str, per_vertex: bool, progress: ProgressCallback | None
) -> CountResult:
    """Count one (p,q) by levels (`src/counting/pq.hpp`) or pivots (`src/counting/pivot.hpp`)."""
    p, q = request.p, request.q
    if max(p, q) > LARGEST_SIDE:  # larger than any graph, and than the 32 bits of the kernels
        none = [np.zeros(n, np.uint64) if per_vertex else None for n in (request.n_left, request.n_right)]
        chosen: Method = "pivot" if method == "pivot" else "levels"
        side: Side = "right" if request.side == "right" else "left"
        return CountResult(0, p, q, side, chosen, {}, request.threads, f"cpu-{load_extension().isa}", 0, *none)
    return found_by(
        started_count(request, "of_vertices" if per_vertex else "one", method), request, per_vertex, progress
    )


def found_by(search: Any, request: CountRequest, per_vertex: bool, progress: ProgressCallback | None) -> CountResult:
    """What a search of the host has found, when it has ended."""
    extension, graph, p, q = load_extension(), request.graph, request.p, request.q
    found = ended_count(search, progress)
    count = whole_number_of(found["count"]) + sum(
        times * comb(n, k) * comb(m, j) for n, k, m, j, times in found["large_terms"]
    )
    left = right = None
    if per_vertex:
        if count >= 1 << 128:
            raise CapacityError(
                f"the count for p={p}, q={q} has {count.bit_length()} bits, and 128 are the most where vertices are"
                " counted; leave per_vertex out, or ask for some roots"
            )
        of_left, of_right = (together(*halves) for halves in found["of_vertices"])
        left = graph.spread(of_left, "left", request.n_left)
        right = graph.spread(of_right, "right", request.n_right)
    return CountResult(
        count=count,
        p=p,
        q=q,
        side="left" if found["on_left"] else "right",
        method="pivot" if found["is_pivot"] else "levels",
        seconds=found["seconds"],
        threads=request.threads,
        backend=f"cpu-{extension.isa}",
        work=found["work"],
        left_counts=left,
        right_counts=right,
    )


def count_table(request: CountRequest, progress: ProgressCallback | None) -> CountTable:
    """Count all (p,q) up to those of the request by pivots, in one pass."""
    extension = load_extension()
    found = ended_count(started_count(request, "all", "pivot"), progress)
    return CountTable(
        counts=table_of(found),
        max_p=request.p,
        max_q=request.q,
        side="left" if found["on_left"] else "right",
        seconds=found["seconds"],
        threads=request.threads,
        backend=f"cpu-{extension.isa}",
        work=found["work"],
    )


def chosen_search(request: CountRequest, method: str, on_card: bool = False) -> tuple[Method, Side]:
    """Choose search and side as a count over all roots would, without counting."""
    if max(request.p, request.q) > LARGEST_SIDE:
        return "levels", "right" if request.side == "right" else "left"
    search = started_count(request, "choice", method, on_card=on_card)
    wait_for(search)
    is_pivot, on_left, _ = search.choice
    return "pivot" if is_pivot else "levels", "left" if on_left else "right"


def started_count(request: CountRequest, asked: str, method: str, tree_optional: int = 0, on_card: bool = False) -> Any:
    """A search that has begun: of one of the extension's `Asked`, by one of its `Method`.

    Beside a card, it chooses and waits for `go_on`; a choice alone is that of a card.
    """
    extension, graph = load_extension(), request.graph
    return extension.Count(
        *graph.csr,
        request.p,
        request.q,
        extension.Asked[asked],
        extension.Method[method],
        extension.RootSide[request.side],
        request.roots,
        request.threads,
        tree_optional,
        on_card,
    )


def ended_count(search: Any, progress: ProgressCallback | None, **looks: Any) -> Any:
    """What a search has found, when it has ended."""

    def tell() -> None:
        if progress is not None:
            progress(Progress(search.roots_done, search.n_roots, 0))

    wait_for(search, tell, **looks)
    return search.result()
