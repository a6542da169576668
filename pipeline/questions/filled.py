"""Groups with gaps of one version of a run, and which of their gaps another one has filled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.questions.find import SURPRISE_SECONDS, FindAsked, find_in_run
from bicliq.pipeline.results.changes import places_among
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.results import Run


def filled_gaps(before: Run, after: Run, asked: FindAsked, settings: Settings) -> dict[str, Any]:
    """Find the best groups with gaps of a run, and those of their missing pairs that another has.

    `before`, `after`: the runs; as a rule two versions of one. `asked`: what is looked for in
    `before`, with `missing`; without a time limit at most a minute. `settings`: `store`, and least
    sizes. Returns ``missing``, ``missing_each``, ``searched`` (how many groups were looked at),
    ``proven``, and ``groups``: those of them of which `after` has a pair that was missing, the
    complete ones first. Each is as in `find_in_table`, with ``filled`` (pairs that `after` has),
    ``lacking`` (pairs that it lacks), and ``complete``: whether it lacks none. Raises InputError as
    `find_in_run`.
    """
    limited = replace(asked, time_limit=asked.time_limit or SURPRISE_SECONDS)
    found, graph = find_in_run(before.run, limited, settings), read_graph(after.graph)
    groups = []
    for group in found["groups"]:
        lacking = _lacking(group, before, after, graph)
        filled = [pair for pair in group["missing"] if pair not in lacking]
        if filled:
            groups.append({**group, "filled": filled, "lacking": lacking, "complete": not lacking})
    return {
        "missing": asked.missing,
        "missing_each": asked.missing_each,
        "searched": len(found["groups"]),
        "proven": found["proven"],
        "groups": sorted(groups, key=lambda group: not group["complete"]),
    }


def _lacking(group: dict[str, Any], before: Run, after: Run, graph: BipartiteGraph) -> list[list[Any]]:
    """Pairs of a group that are no edges of the other run, by their labels in this one."""
    places = [
        dict(zip(group[side], places_among(pa.array(group[side], own.type), others).tolist(), strict=True))
        for side, own, others in (
            ("left", before.left_ids, after.left_ids),
            ("right", before.right_ids, after.right_ids),
        )
    ]
    known = [sorted(place for place in of.values() if place >= 0) for of in places]
    absent = set(map(tuple, kernels.missing_pairs(graph.indptr, graph.indices, *known).tolist()))
    return [
        [left, right]
        for left, u in places[0].items()
        for right, v in places[1].items()
        if u < 0 or v < 0 or (u, v) in absent
    ]
