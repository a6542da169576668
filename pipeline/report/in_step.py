"""What a page says of groups in step: when members acted, and how far that is beyond chance."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from bicliq.pipeline.graphs.actions import MICROSECONDS
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.moments import ByChance, Moments
from bicliq.pipeline.report.groups import COLUMNS, DRAWN, LISTED, ROWS, Group, Matter, chance_of, pictures_of, row_of
from bicliq.pipeline.report.times import Timed, Times
from bicliq.pipeline.store.acted import groups_of
from bicliq.pipeline.store.results import Run


def timed(
    groups: Sequence[Group],
    labels: tuple[pa.Array, pa.Array],
    moments: Moments,
    chance: ByChance,
    ends: tuple[float, float],
) -> list[Timed]:
    """Return what a page says of some groups.

    Parameters
    ----------
    groups
        Their vertices.
    labels
        Of both sides.
    moments, chance
        When vertices acted, and what groups are worth beside chance.
    ends
        The first and the last time of the table, in seconds.
    """
    first, last = ends
    told = []
    for left, right in (tuple(np.asarray(side, np.int32) for side in group) for group in groups):
        spans, drawn, columns = moments.of(left, right), left[:ROWS], right[:COLUMNS]
        names = (ids.take(pa.array(some)).to_pylist() for ids, some in zip(labels, (drawn, columns), strict=True))
        acted = moments.of_members(drawn, columns, spans[: len(columns)]).ravel() / MICROSECONDS
        by_edge = dict(zip(itertools.product(*names), acted.tolist(), strict=True))
        told.append(Timed(Times(first, last, by_edge, to_the_second=True), *chance.of(left, right, spans)))
    return told


def groups_in_step(run: Run, graph: BipartiteGraph) -> tuple[Matter, list[Times]]:
    """Return the most surprising and the largest groups of a run, and when those drawn acted."""
    acted, labels = run.acted, (run.left_ids, run.right_ids)
    assert acted is not None
    best = [
        [(left.copy(), right.copy()) for left, right in groups_of(run.top(LISTED, by, ids=False))]
        for by in ("surprise", "edges")
    ]
    listed = list({(left.tobytes(), right.tobytes()): (left, right) for left, right in itertools.chain(*best)}.values())
    first, last = (acted.actions.times[[0, -1]] / MICROSECONDS).tolist()
    told = timed(listed, labels, acted.moments, acted.chance, (first, last))
    rows = [
        row_of(graph, group, labels) | chance_of(t.surprise, t.expected) for group, t in zip(listed, told, strict=True)
    ]
    rows.sort(key=lambda row: (-row["surprise"], -row["n_edges"]))
    drawn = [n for n, t in enumerate(told) if t.surprise > 0][:DRAWN]
    pictures = [
        replace(picture, surprise=told[n].surprise, expected=told[n].expected)
        for n, picture in zip(drawn, pictures_of(graph, [listed[n] for n in drawn], labels), strict=True)
    ]
    return Matter(rows, pictures, proven=True), [told[n].times for n in drawn]
