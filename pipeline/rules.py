"""Which groups of a run are worth telling of, and why: by size, by member, by surprise.

All rules that are set must hold for a group. They look at lists of dense ids, a row group at a
time, so they can be asked of any bicliques of a graph, and not only of all those of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.beyond_chance import best_beyond_chance
from bicliq.pipeline.graphs.bipartite import read_graph
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.settings import NotifySettings
from bicliq.pipeline.store.acted import in_words
from bicliq.pipeline.store.choice import Choice
from bicliq.pipeline.store.results import Run
from bicliq.pipeline.store.worth import Surprise

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Fitting:
    """Groups that fit the rules.

    `groups`: how many there are. `shown`: the first of them, by surprise where a rule asks for it,
    else by edges: left, right (labels), n_left, n_right, n_edges, surprise (how far it is beyond
    chance, in nats), expected (edges that chance gives it), and reasons in words. Without a rule
    those beyond chance. `proven`: whether there are no better ones; False where the time for that
    was over.
    """

    groups: int
    shown: list[dict[str, Any]]
    proven: bool = True


def has_rules(asked: NotifySettings) -> bool:
    """Whether settings say which groups are worth telling of."""
    return bool(least_groups(asked) or rules_in_words(asked))


def least_groups(asked: NotifySettings) -> int:
    """How many groups must fit before a run is told of.

    A rule on members or surprise asks for one at least.

    Examples
    --------
    >>> least_groups(NotifySettings()), least_groups(NotifySettings(webhook_members=("ann",)))
    (0, 1)
    """
    looks_for_some = bool(asked.webhook_members) or asked.webhook_surprise is not None
    return max(asked.webhook_groups, int(looks_for_some))


def rules_in_words(asked: NotifySettings) -> list[str]:
    """Say what a group must be.

    Examples
    --------
    >>> rules_in_words(NotifySettings(webhook_edges=40, webhook_members=("ann", "bob")))
    ['of at least 40 edges', 'with ann or bob']
    """
    words = []
    if asked.webhook_edges > 1:
        words.append(f"of at least {asked.webhook_edges:,} edges")
    if asked.webhook_members:
        words.append(f"with {' or '.join(asked.webhook_members)}")
    if asked.webhook_surprise is not None:
        words.append(f"of a surprise of at least {asked.webhook_surprise:g}")
    return words


def find_fitting(run: Run, asked: NotifySettings, most: int) -> Fitting:
    """Count the groups of a run that fit the rules, and take the first of them.

    `run`: a published run. `asked`: the rules. Where there are none, all groups fit, and those
    beyond chance are taken. `most`: how many to take.

    Rules on edges alone read sizes, the groups that are shown, and the graph for what chance gives
    them. Rules on members or surprise read the lists of all groups with enough edges, once, a row
    group at a time; where surprise is a column of the run, those of the surprising ones alone.
    Without a rule the graph is searched, for ten seconds at most.
    """
    choice = Choice(min_edges=asked.webhook_edges, min_surprise=asked.webhook_surprise)
    if asked.webhook_members or asked.webhook_surprise is not None:
        return Rules(run, asked).fitting(run.chosen(choice), most)
    groups, surprise = run.count(choice), Surprise(run.graph)
    if not rules_in_words(asked) and run.acted is not None:
        return Rules(run, asked).fitting(run.chosen(choice), most)
    if not rules_in_words(asked):
        found = best_beyond_chance(read_graph(run.graph), most, run.folder.asked.search)
        rows = _with_chance(run, surprise, ((group.left, group.right) for group in found.groups))
        return Fitting(groups, [_described(row, asked, {}) for row in rows], found.proven)
    rows = _with_chance(run, surprise, _lists(run.top(most, ids=False, choice=choice))) if groups else []
    return Fitting(groups, [_described(row, asked, {}) for row in rows])


def find_appeared(run: Run, asked: NotifySettings, most: int) -> Fitting:
    """Count the groups that appeared in a version and fit the rules, and take the first of them.

    `run`: a version that an update made of what changed. `asked`, `most`: as of `find_fitting`.

    A layer may hold what earlier updates changed as well, so what appeared is taken against the
    version before: O(changes).
    """
    table = changes_between(run).dense("appeared")
    edges = table["n_left"].to_numpy().astype(np.int64) * table["n_right"].to_numpy()
    return Rules(run, asked).fitting([table.filter(pa.array(edges >= asked.webhook_edges))], most)


class Rules:
    """The rules on members and surprise, for the dense ids and the degrees of a run's graph."""

    def __init__(self, run: Run, asked: NotifySettings) -> None:
        self._run, self._asked = run, asked
        self._members = {
            side: self._dense(side, len(ids)) for side, ids in (("left", run.left_ids), ("right", run.right_ids))
        }
        self._surprise = Surprise(run.graph)

    def _dense(self, side: Any, n: int) -> Numbers:
        """Which vertices of a side are watched; a label that it does not have is of no account."""
        watched = np.zeros(n, bool)
        for label in self._asked.webhook_members:
            try:
                watched[self._run.dense(side, label)] = True
            except InputError:
                continue
        return watched

    def fitting(self, tables: Iterable[pa.Table], most: int) -> Fitting:
        """Count the bicliques of tables (columns left, right, n_left, n_right) that fit."""
        groups, best = 0, list[tuple[float, dict[str, Any]]]()
        for table in tables:
            stored = "surprise" in table.column_names
            surprise = table["surprise"].to_numpy() if stored else self._surprise.of(table)
            fits = np.ones(table.num_rows, bool)
            if self._asked.webhook_members:
                fits &= self._has_member(table)
            if self._asked.webhook_surprise is not None:
                fits &= surprise >= self._asked.webhook_surprise
            groups += int(fits.sum())
            if free := not rules_in_words(self._asked):
                fits &= surprise > 0
            edges = table["n_left"].to_numpy().astype(np.int64) * table["n_right"].to_numpy()
            value = surprise if free or self._asked.webhook_surprise is not None else edges.astype(float)
            first = np.flatnonzero(fits)[np.argsort(-value[fits], kind="stable")[:most]]
            rows = _with_chance(self._run, self._surprise, _lists(table.take(first)))
            best += [(float(value[n]), row) for n, row in zip(first, rows, strict=True)]
            best = sorted(best, key=lambda found: -found[0])[:most]
        watched = {side: {str(label) for label in self._labels(side)} for side in ("left", "right")}
        return Fitting(groups, [_described(row, self._asked, watched) for _, row in best])

    def _has_member(self, table: pa.Table) -> Numbers:
        left, right = (_members_of(table[side], self._members[side]) for side in ("left", "right"))
        return np.asarray(left + right > 0)

    def _labels(self, side: str) -> list[Any]:
        ids = self._run.left_ids if side == "left" else self._run.right_ids
        return list(ids.filter(pa.array(self._members[side])).to_pylist())


def _with_chance(run: Run, surprise: Surprise, groups: Iterable[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Groups of dense ids with their labels, and how far they are beyond chance."""
    rows = []
    for left, right in groups:
        left, right = (np.asarray(ids, np.int32) for ids in (left, right))
        beyond, expected = surprise.of_group(left, right)
        sides = ("left", run.left_ids, left), ("right", run.right_ids, right)
        labels = {side: ids.take(pa.array(some)).to_pylist() for side, ids, some in sides}
        sizes = {"n_left": len(left), "n_right": len(right), "n_edges": len(left) * len(right)}
        if run.acted is not None:
            table = pa.table({"left": [left], "right": [right]})
            labels["windows"] = in_words(run.acted.windows(table)[0].as_py())
        rows.append({**sizes, **labels, "surprise": round(beyond, 3), "expected": float(f"{expected:.3g}")})
    return rows


def _lists(table: pa.Table) -> Iterable[tuple[Any, Any]]:
    """Left and right members of each biclique of a table."""
    return zip(*([ids.values for ids in table[side]] for side in ("left", "right")), strict=True)


def _members_of(lists: Any, watched: Numbers) -> Numbers:
    """How many members of each list are watched."""
    combined = lists.combine_chunks()
    inside = np.concatenate([[0], np.cumsum(watched[combined.flatten().to_numpy()])])
    offsets = combined.offsets.to_numpy()
    return np.asarray(inside[offsets[1:] - offsets[0]] - inside[offsets[:-1] - offsets[0]])


def _described(row: dict[str, Any], asked: NotifySettings, watched: dict[str, set[str]]) -> dict[str, Any]:
    """A group as it is told, with the rules that it fits."""
    reasons = []
    if asked.webhook_edges > 1:
        reasons.append(f"{row['n_edges']:,} edges, at least {asked.webhook_edges:,}")
    reasons += [f"{side} {label}" for side in watched for label in row[side] if str(label) in watched[side]]
    if asked.webhook_surprise is not None:
        reasons.append(f"surprise {row['surprise']:.1f}, at least {asked.webhook_surprise:g}")
    names = ["n_left", "n_right", "n_edges", "left", "right", "surprise", "expected"]
    names += ["windows"] if "windows" in row else []
    return {**{name: row[name] for name in names}, "reasons": reasons}
