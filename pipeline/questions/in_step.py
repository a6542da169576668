"""The largest groups in step: who did the same within the same minutes, and when."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.graphs.bipartite import Int32s
from bicliq.pipeline.graphs.dealt import Dealer
from bicliq.pipeline.graphs.moments import ByChance, Moments
from bicliq.pipeline.questions.members import Part
from bicliq.pipeline.questions.null import Null, compare_groups, with_p
from bicliq.pipeline.report.answers import LISTED, find_page
from bicliq.pipeline.report.frame import write_page
from bicliq.pipeline.report.in_step import timed
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.edge_table import EdgeTable
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.in_step import (
    InStep,
    account_of_rows,
    expand,
    expand_where,
    read_timed,
    refuse_gpu,
    stored_table,
)
from bicliq.pipeline.store.account import account
from bicliq.pipeline.store.layout import GraphFolder

if TYPE_CHECKING:
    from bicliq.pipeline.questions.find import FindAsked, Tell

Entry = tuple[float, list[int], list[int]]
"""Less the value of a group, and its members: they sort with the best first."""


def find_in_step(
    source: Edges | GraphFolder,
    asked: FindAsked,
    settings: Settings,
    search: SearchSettings,
    report: str | os.PathLike[str] | None,
    tell: Tell | None,
) -> dict[str, Any]:
    """Find the best groups in step of a table, or of a graph of a store.

    Parameters as of `pipeline.questions.find.find_in_table`; `search` has the sizes of the groups.

    Returns
    -------
    dict
        As of `find_in_table`. Each group has ``windows``, one a right vertex: ``start`` and
        ``end``, the first and the last action of the earliest window that holds all of the group,
        as ISO text of UTC.
    """
    _refuse_other_questions(asked)
    refuse_gpu(settings)
    started = time.perf_counter()
    table = stored_table(source) if isinstance(source, GraphFolder) else read_timed(source, settings)
    part = Part(bipartite_of(table), table.left_ids, table.right_ids, fold=table.summary.fold)
    asked.restrict(part)
    weights = None
    if asked.by == "weight":
        weights = tuple(part.weights(*side) for side in (("left", asked.left_weights), ("right", asked.right_weights)))
    read = time.perf_counter()
    found = expand_where(settings.data_backend, table, search, part.kept)
    chance = found.by_chance(part.graph) if asked.by == "surprise" else None
    best = _best_of(asked, part, found, chance, weights)
    best = AddsMost(asked, part, best) if asked.diverse else best
    expanded = time.perf_counter()
    # A limit that was given is for all; the one that surprise has by itself is for the search.
    result = _searched(found, best, _until(expanded if asked.time_limit is None else started, asked.seconds), tell)
    groups = best.entries()
    ended = time.perf_counter()
    record = {
        "groups": [_labelled(entry, part, found) | best.more_of(entry) for entry in groups],
        "proven": result.complete,
        "by": asked.by,
        "diverse": asked.diverse,
        "labels": part.kinds(),
        "left_out": part.left_out,
        "why_none": part.why_none or asked.why_none(bool(groups), result.complete),
        **found.record(),
        "side": result.side,
        "nodes": result.nodes,
        "backend": result.backend,
        "threads": result.threads,
        "seconds": {
            "ingest": read - started,
            "expand": expanded - read,
            "search": ended - expanded,
            "total": time.perf_counter() - started,
        },
    }
    if asked.null:
        random = RandomTables(found, part, asked, chance, settings.data_backend)
        null, values = asked.random_tables(search.threads, tell), [-value for value, *_ in groups]
        record["null"] = with_p(record["groups"], random.compare(values, null))
        record["seconds"]["total"] = time.perf_counter() - started
    if report is not None:
        record["report"] = _write_page(report, record, groups, part, found)
    stored = isinstance(source, GraphFolder)
    return {**record, **(account(account_of_rows(table)) if stored else table.summary.account)}


def _write_page(
    path: str | os.PathLike[str], record: dict[str, Any], groups: list[Entry], part: Part, found: InStep
) -> str:
    """Write a page of the answer, which draws when its first groups acted."""
    members = [(np.array(left, np.int32), np.array(right, np.int32)) for _, left, right in groups]
    sides, rows = (part.left_ids, part.right_ids), found.table.rows
    assert rows is not None
    ends = float(rows.time.min()), float(rows.time.max())
    told = timed(members[:LISTED], sides, found.moments, found.by_chance(part.graph), ends)
    page = (record, found.table.summary, part.graph, members, sides, told)
    return write_page(path, lambda: find_page(*page), overwrite="pages")


def _searched(found: InStep, best: Best, until: Any, tell: Tell | None) -> kernels.EnumerationResult:
    """Search for the best groups: once, or again for each that adds most to those before it."""
    nodes = 0
    while True:
        stream = found.stream(until)
        with stream:
            for batch in stream:
                best.take(batch)
                if tell is not None:
                    tell(best.reached(stream.progress()))
        nodes += stream.result.nodes
        if not best.wants_more() or not stream.result.complete:
            return replace(stream.result, nodes=nodes)


def _refuse_other_questions(asked: FindAsked) -> None:
    """Refuse what is not known of groups in step."""
    why = {
        "weights of edges": asked.weighs_edges,
        f"missing = {asked.missing}, for an action that is missing has no time": bool(asked.missing),
    }
    if asked.top < 1:
        raise InputError(f"top is {asked.top}; it must be a whole number of at least 1")
    for what, given in why.items():
        if given:
            raise InputError(
                "in_step finds groups by edges, vertices, balanced, surprise, or weights of members, and is not for"
                f" {what}; leave that out, or ask a table without in_step"
            )


def _until(started: float, limit: float | None) -> Any:
    return None if limit is None else lambda: time.perf_counter() - started > limit


class Best:
    """The best groups so far.

    Parameters
    ----------
    asked
        How many are kept, by what, and how large they may be.
    part
        Names the members that each must hold.
    weights
        Of the left and of the right vertices, by weight; None for a side that has none.
    """

    def __init__(
        self, asked: FindAsked, part: Part, weights: tuple[npt.NDArray[np.float64] | None, ...] | None = None
    ) -> None:
        self._asked, self._part, self._weights = asked, part, weights
        self._entries: list[Entry] = []
        self._least = -np.inf if asked.min_value is None else asked.min_value

    def take(self, groups: kernels.BicliqueBatch) -> None:
        """Keep those of some groups that are good enough."""
        if not len(groups):
            return
        values = self._values(groups)
        kept = values >= self._least
        for sizes, most in ((groups.n_left, self._asked.max_left), (groups.n_right, self._asked.max_right)):
            if most is not None:
                kept &= sizes <= most
        for side, member in self._part.members:
            ends, ids = groups.lists[side]
            kept &= np.add.reduceat(ids == member, ends[:-1]) > 0
        for i in np.flatnonzero(kept).tolist():
            left, right = (ids[ends[i] : ends[i + 1]] for ends, ids in groups.lists.values())
            value = self._exact(float(values[i]), left, right)
            if value >= self._least:
                self._entries.append((-value, left.tolist(), right.tolist()))
        if len(self._entries) > 2 * self._asked.top:
            self._entries = Best.entries(self)
            self._least = -self._entries[-1][0]

    def entries(self) -> list[Entry]:
        """Return them, the best first; of equals those with the first left members."""
        return sorted(self._entries)[: self._asked.top]

    def more_of(self, entry: Entry) -> dict[str, Any]:
        """Say what else is told of a group: what chance gives it, or covers it."""
        return {}

    def wants_more(self) -> bool:
        """Whether all groups are to be looked at once more."""
        return False

    def _exact(self, value: float, left: Int32s, right: Int32s) -> float:
        """Return what a group is worth, of which `_values` may have said too much."""
        return value

    def reached(self, state: kernels.Progress) -> Any:
        """Say how far the search is."""
        from bicliq.pipeline.questions.find import Reached

        best = min(self._entries, default=None)
        told = None if best is None else (-best[0], len(best[1]), len(best[2]))
        return Reached(self._asked.top, False, int(best is not None), told, 0.0, state.roots_done, state.n_roots)

    def of_pairs(self, left: Int32s, right: Int32s) -> npt.NDArray[np.float64]:
        """Return what each pair adds to the worth of a group, where that is a sum over pairs."""
        return np.ones(len(left) * len(right))

    def _values(self, groups: kernels.BicliqueBatch) -> npt.NDArray[np.float64]:
        n_left, n_right = groups.n_left.astype(np.float64), groups.n_right.astype(np.float64)
        if self._weights is not None:
            sums = np.zeros(len(groups))
            for weights, (ends, ids) in zip(self._weights, groups.lists.values(), strict=True):
                sums += 0.0 if weights is None else np.add.reduceat(weights[ids], ends[:-1])
            return sums
        if self._asked.by == "edges":
            return n_left * n_right
        return n_left + n_right if self._asked.by == "vertices" else np.minimum(n_left, n_right)


class AddsMost(Best):
    """Groups of which each adds most to those before it, by edges that none of these has.

    Parameters
    ----------
    asked, part
        As of `Best`.
    worth
        What groups are worth by themselves.
    """

    def __init__(self, asked: FindAsked, part: Part, worth: Best) -> None:
        super().__init__(replace(asked, top=1), part)
        self._worth, self._wanted, self._n_edges = worth, asked.top, part.graph.n_edges
        self._first = self._least = max(self._least, kernels.SurpriseTerms.unit if asked.by == "surprise" else 1.0)
        self._chosen: dict[tuple[int, ...], tuple[Entry, int]] = {}
        self._covered = np.zeros(0, np.int64)

    def wants_more(self) -> bool:
        """Take the best group, of which there may be none, and say whether to look for another."""
        best = super().entries()
        for entry in best:
            self._covered = np.union1d(self._covered, _pairs(*entry[1:]))
            self._chosen[tuple(entry[1])] = entry, len(self._covered)
        self._entries, self._least = [], self._first
        return bool(best) and len(self._chosen) < self._wanted

    def entries(self) -> list[Entry]:
        """Return them in the order in which they add."""
        return [entry for entry, _ in self._chosen.values()]

    def more_of(self, entry: Entry) -> dict[str, Any]:
        """Say how many edges it and those before it hold together."""
        covered = self._chosen[tuple(entry[1])][1]
        return {"covered": covered, "share": covered / self._n_edges, **self._worth.more_of(entry)}

    def _values(self, groups: kernels.BicliqueBatch) -> npt.NDArray[np.float64]:
        return self._worth._values(groups)

    def _exact(self, value: float, left: Int32s, right: Int32s) -> float:
        covered = np.isin(_pairs(left, right), self._covered)
        return self._worth._exact(value, left, right) - float(self._worth.of_pairs(left, right)[covered].sum())


def _pairs(left: Any, right: Any) -> npt.NDArray[np.int64]:
    """Both ends of each edge of a group in one number."""
    return (np.asarray(left, np.int64)[:, None] << 32 | np.asarray(right, np.int64)).ravel()


class BeyondChance(Best):
    """Those that chance gives least (`graphs.in_step.ByChance`).

    Parameters
    ----------
    asked, part
        As of `Best`.
    moments, chance
        When the table's vertices acted, and what groups are worth beside chance.
    """

    def __init__(self, asked: FindAsked, part: Part, moments: Moments, chance: ByChance) -> None:
        super().__init__(asked, part)
        self._moments, self._chance = moments, chance

    def more_of(self, entry: Entry) -> dict[str, Any]:
        """Say how many pairs of a group chance puts into its windows."""
        return {"expected": self._weighed(np.array(entry[1], np.int32), np.array(entry[2], np.int32))[1]}

    def of_pairs(self, left: Int32s, right: Int32s) -> npt.NDArray[np.float64]:
        """Return −ln of the chance of each pair in its window."""
        return self._chance.of_pairs(left, right, self._moments.of(left, right)).ravel()

    def _values(self, groups: kernels.BicliqueBatch) -> npt.NDArray[np.float64]:
        return self._chance.bounds(groups)

    def _exact(self, value: float, left: Int32s, right: Int32s) -> float:
        return self._weighed(left, right)[0]

    def _weighed(self, left: Int32s, right: Int32s) -> tuple[float, float]:
        return self._chance.of(left, right, self._moments.of(left, right))


def _best_of(
    asked: FindAsked,
    part: Part,
    found: InStep,
    chance: ByChance | None,
    weights: tuple[npt.NDArray[np.float64] | None, ...] | None = None,
) -> Best:
    return Best(asked, part, weights) if chance is None else BeyondChance(asked, part, found.moments, chance)


class RandomTables:
    """The same question, asked of tables in which who acted is by lot (`graphs.dealt`).

    Degrees, and the times of each right vertex, are those of the table, and so is what windows are
    worth by chance.

    Parameters
    ----------
    found
        The table.
    part
        Its graph.
    asked
        What is looked for, of which the best is compared.
    chance
        What groups are worth beside chance, by surprise.
    data_backend
        Where rows are sorted, as in the settings.
    """

    def __init__(self, found: InStep, part: Part, asked: FindAsked, chance: ByChance | None, data_backend: str) -> None:
        assert found.table.rows is not None
        self._rows, self._found, self._part, self._asked = found.table.rows, found, part, asked
        self._chance, self._data_backend = chance, data_backend
        self._deal = Dealer(self._rows.left, self._rows.right, part.graph)
        self._seeds = itertools.count(asked.seed)

    def compare(self, values: list[float], null: Null) -> dict[str, Any]:
        """Compare groups that are worth so much with the best of each; see `compare_groups`."""
        return {**compare_groups(self._part.graph, values, null, self._best), "times": "dealt"}

    def _best(self, columns: Any, least: float, left: float | None) -> tuple[float | None, bool]:
        asked = replace(self._asked, top=1, min_surprise=least)
        rows = replace(self._rows, left=self._deal(columns, next(self._seeds)))
        found = expand_where(self._data_backend, replace(self._found.table, rows=rows), self._found.search)
        best = _best_of(asked, self._part, found, self._chance)
        result = _searched(found, best, _until(time.perf_counter(), asked.seconds_of_table(left)), None)
        return next((-value for value, *_ in best.entries()), None), result.complete


def compare_in_step(
    table: EdgeTable,
    values: list[float],
    rows: list[dict[str, Any]],
    null: Null,
    asked: FindAsked,
    search: SearchSettings,
) -> dict[str, Any]:
    """Give groups of a run, with these values, their p; see `pipeline.questions.null`."""
    part, found = Part(bipartite_of(table), table.left_ids, table.right_ids), expand(table, search)
    chance = found.by_chance(part.graph) if asked.by == "surprise" else None
    return with_p(rows, RandomTables(found, part, asked, chance, "cpu").compare(values, null))


def _labelled(entry: Entry, part: Part, found: InStep) -> dict[str, Any]:
    value, left, right = -entry[0], np.array(entry[1], np.int32), np.array(entry[2], np.int32)
    spans = found.moments.of(left, right)
    return {
        "left": part.labels("left", left),
        "right": part.labels("right", right),
        "n_left": len(left),
        "n_right": len(right),
        "value": int(value) if value == int(value) else value,
        "windows": [{"start": utc(start), "end": utc(end)} for start, end in spans],
    }


def utc(micros: int) -> str:
    """Write Unix microseconds as ISO text.

    Examples
    --------
    >>> utc(1_230_768_000_500_000)
    '2009-01-01T00:00:00.500000+00:00'
    """
    return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)).isoformat()
