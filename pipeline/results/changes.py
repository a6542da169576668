"""What changed between two versions of a run: groups that appeared, vanished, grew or shrank."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import empty_table, folded, values_of, words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import Int32s
from bicliq.pipeline.results.changed import Changed, Held, Progress, in_one_alone
from bicliq.pipeline.results.counterparts import counterparts
from bicliq.pipeline.results.export import format_of, write_file
from bicliq.pipeline.store.biclique_reader import Int64s
from bicliq.pipeline.store.bicliques import SCHEMA
from bicliq.pipeline.store.choice import EVERYTHING, Choice
from bicliq.pipeline.store.labels import nearest
from bicliq.pipeline.store.records import RunRecord
from bicliq.pipeline.store.results import Run, open_run
from bicliq.pipeline.store.taken import own_taken
from bicliq.pipeline.store.versions import Layer, layers_of, net_changes
from bicliq.pipeline.store.worth import Surprise

Kind = Literal["appeared", "vanished"]
Objective = Literal["edges", "vertices", "balanced", "left", "right", "weight", "surprise"]
Weights = Mapping[str, Mapping[str, float]]
"""Weights by label, of either side or both: ``{"left": {"ann": 2.5}}``; who is not listed has 0."""

AT_A_TIME = 1 << 18
"""Bicliques that are written at a time."""

TEXT = pa.schema(
    {"left": pa.list_(pa.string()), "right": pa.list_(pa.string()), "n_left": pa.int32(), "n_right": pa.int32()}
)
"""Columns of what changed, where the labels are text."""


OF_WINDOWS = ("left_window", "dropped_by_window")
"""What versions count of the rows of a window of time."""


@dataclass(frozen=True)
class Changes:
    r"""The maximal bicliques of one run that are none of another, and the other way round.

    Parameters
    ----------
    before, after
        The runs; as a rule two versions of one.
    choice
        Sizes of what is wanted.
    unchanged
        Files that an update of `after` took last, and that changed nothing; both runs are then one.
    progress
        Whom is told how far it is, where all bicliques of both must be read.

    Notes
    -----
    Versions of one base are compared by their layers, and read nothing else: O(changes). Of other
    runs all bicliques are read, and compared by the 64-bit hashes of their labels
    (`pipeline.results.changed`): 32 bytes of memory a biclique, however many differ, until all that
    differ are asked for at once (`appeared`, `vanished`, `dense`).

    Examples
    --------
    >>> import fsspec
    >>> for name, rows in (("base", "ann,jam bob,jam"), ("new", "cid,jam ann,tea")):
    ...     with fsspec.open(f"memory://diff-{name}.csv", "w") as table:
    ...         print("user,item", *rows.split(), sep="\n", file=table)
    >>> import bicliq
    >>> groups = bicliq.enumerate("memory://diff-base.csv", store="memory://diff-example")
    >>> from bicliq.pipeline.settings import Settings
    >>> from bicliq.pipeline.versions.update import update
    >>> record = update("memory://diff-new.csv", Settings(store="memory://diff-example"))
    >>> changes: Changes = bicliq.open("memory://diff-example").changes()
    >>> [(group["how"], group["left"], group["right"]) for group in changes.top("appeared", 2)]
    [('grown', ['ann', 'bob', 'cid'], ['jam']), ('overlapping', ['ann'], ['jam', 'tea'])]
    """

    before: Run
    after: Run
    choice: Choice = EVERYTHING
    unchanged: tuple[str, ...] = ()
    progress: Progress | None = None

    @cached_property
    def appeared(self) -> pa.Table:
        """Bicliques of `after` alone, with their original ids: left, right, n_left, n_right."""
        return self._named("appeared")

    @cached_property
    def vanished(self) -> pa.Table:
        """Bicliques of `before` alone, as `appeared`."""
        return self._named("vanished")

    def dense(self, kind: Kind) -> pa.Table:
        """Return what appeared, in the dense ids of `after`, or vanished, in those of `before`."""
        return pa.concat_tables([empty_table(SCHEMA), *self._found[kind].tables()])

    def count(self, kind: Kind) -> int:
        """Return how many of the wanted sizes appeared or vanished."""
        return len(self._wanted(kind))

    def top(
        self, kind: Kind, k: int = 20, by: Objective = "edges", weights: Weights | None = None
    ) -> list[dict[str, Any]]:
        """Return the k best that appeared or vanished, each with what it was or became.

        `k`: how many. `by`: "edges", "vertices", "balanced" (the smaller side), "left", "right",
        "weight" (the sum of the weights of its members), or "surprise": how far it is beyond chance
        in the graph that has it, in nats. `weights`: with "weight", and only then. Returns left,
        right, n_left, n_right, value; ``other``: the vanished group that shares most edges with one
        that appeared (or the other way round), its sizes and the shared edges; None where no edge
        is shared; and ``how`` the group came or went: "grown" and "shrunk" where one of both holds
        the other, "overlapping", "new" and "gone".
        """
        if k < 1:
            raise InputError(f"top {k}: it must be at least 1")
        rows = self._wanted(kind)
        values = self._worth(kind, by, weights)[rows]
        if len(rows) > k:  # only what is worth as much as the last of them need be put in order
            best = np.flatnonzero(values >= np.partition(values, -k)[-k])
            rows, values = rows[best], values[best]
        edges = _values(self._found[kind], "edges")[rows]
        best = np.lexsort((rows, -edges, -values))[:k]
        groups = self._named(kind, rows[best]).to_pylist()
        return [
            {**group, "value": value, **_kinship(kind, group, *other)}
            for group, value, other in zip(
                groups, values[best].tolist(), self._counterparts(kind, rows[best]), strict=True
            )
        ]

    def record(self, k: int = 20, by: Objective = "edges", weights: Weights | None = None) -> dict[str, Any]:
        """Plain record for JSON: both runs, how much changed, and the k best of each kind."""
        return {
            "before": self.before.run,
            "after": self.after.run,
            "unchanged": list(self.unchanged),
            **_rows_of_windows(self.before, self.after),
            "n_appeared": self.count("appeared"),
            "n_vanished": self.count("vanished"),
            "appeared": self.top("appeared", k, by, weights),
            "vanished": self.top("vanished", k, by, weights),
        }

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Write all of the wanted sizes to a file, .parquet or .jsonl, a row each.

        Returns how many rows; column ``change`` says "appeared" or "vanished".
        """
        place = os.fspath(path)
        if not place.lower().endswith((".parquet", ".jsonl")):
            raise InputError(f"{place}: which format? End the name on .parquet or .jsonl")
        write_file(_Rows(self), place, format_of(place), overwrite=overwrite)
        return self.count("appeared") + self.count("vanished")

    def _wanted(self, kind: Kind) -> Int64s:
        """Rows of the sizes that are wanted."""
        left, right, edges = (_values(self._found[kind], by) for by in ("left", "right", "edges"))
        mask = np.ones(len(edges), np.bool_)
        for values, what in ((left, "left"), (right, "right"), (edges, "edges")):
            most = getattr(self.choice, f"max_{what}")
            mask &= (values >= getattr(self.choice, f"min_{what}")) & (most is None or values <= most)
        return np.flatnonzero(mask)

    def _counterparts(self, kind: Kind, rows: Int64s) -> list[tuple[dict[str, Any] | None, int]]:
        """The group of the other kind that shares most edges with each of some, and how many."""
        other: Kind = "vanished" if kind == "appeared" else "appeared"
        own, run = self._run(kind), self._run(other)
        to_other = [places_among(own.left_ids, run.left_ids), places_among(own.right_ids, run.right_ids)]
        groups = [
            tuple(places[values_of(members.values)] for members, places in zip(sides, to_other, strict=True))
            for sides in zip(*(self._found[kind].take(rows)[side] for side in ("left", "right")), strict=True)
        ]
        known = [(left[left >= 0], right[right >= 0]) for left, right in groups]
        found = counterparts(known, self._found[other], len(run.left_ids), len(run.right_ids))
        shared = [sharing for sharing in found if sharing is not None]
        named = iter(self._named(other, np.array([sharing.row for sharing in shared], np.int64)).to_pylist())
        return [(None, 0) if sharing is None else (next(named), sharing.edges) for sharing in found]

    def _run(self, kind: Kind) -> Run:
        """The run that has what appeared or vanished."""
        return self.after if kind == "appeared" else self.before

    def _worth(self, kind: Kind, by: Objective, weights: Weights | None) -> Any:
        """What each group is worth."""
        if (by == "weight") != bool(weights):
            raise InputError(f"by {by!r}: weights are for by 'weight', and it needs some, of either side or both")
        if weights:
            weights = {side: self._in_form(by_label) for side, by_label in weights.items()}
            self._refuse_unknown(weights)
            run = self._run(kind)
            labels = {side: getattr(run, f"{side}_ids") for side in weights}
            worth = (
                np.sum([_weighed(table[side], labels[side], own) for side, own in weights.items()], axis=0)
                for table in self._found[kind].tables()
            )
            return np.concatenate([np.zeros(0), *worth])
        if by == "surprise":
            surprise = Surprise(self._run(kind).graph)
            return np.concatenate([np.zeros(0), *map(surprise.of, self._found[kind].tables())])
        return _values(self._found[kind], by)

    def _in_form(self, by_label: Mapping[str, float]) -> dict[str, float]:
        """Weights by labels as the runs have them."""
        fold = self.after.fold
        labels = list(by_label) if fold is None else folded(words_column(list(by_label)), fold).to_pylist()
        if len({*labels}) < len(by_label):
            raise InputError(f"weights: two labels are one (fold = {fold!r}); give it one weight")
        return dict(zip(labels, by_label.values(), strict=True))

    def _refuse_unknown(self, weights: Weights) -> None:
        """Refuse weights of labels that neither run has."""
        for side, by_label in weights.items():
            if side not in ("left", "right"):
                raise InputError(f"weights of {side!r}: name the side left or right")
            known = [getattr(run, f"{side}_ids").cast(pa.string()) for run in (self.before, self.after)]
            asked = pa.array(list(by_label), pa.string())
            unknown = asked.filter(pc.invert(pc.is_in(asked, value_set=pa.concat_arrays(known))))
            if len(unknown):
                label = unknown[0].as_py()
                near = nearest(label, *known)
                raise InputError(f"weights: {label!r} is no {side} label of either run; leave it out{near}")

    @cached_property
    def _found(self) -> dict[Kind, Changed]:
        """What appeared, in the dense ids of `after`, and what vanished, in those of `before`."""
        (base, old), (other, new) = (_lineage(run) for run in (self.before, self.after))
        if base == other:
            same = sum(1 for a, b in zip(old, new, strict=False) if a.folder.run == b.folder.run)
            appeared, vanished = (Changed([Held(table)]) for table in _net(old[same:], new[same:]))
        else:
            appeared, vanished = in_one_alone(self.before, self.after, self.progress)
        return {"appeared": appeared, "vanished": vanished}

    def _named(self, kind: Kind, rows: Int64s | None = None) -> pa.Table:
        """Some rows, or all, with original ids, and the columns that are shown."""
        dense = self.dense(kind) if rows is None else self._found[kind].take(rows)
        return self._shown(kind, dense)

    def _shown(self, kind: Kind, dense: pa.Table) -> pa.Table:
        """The columns that are shown, with original ids."""
        table = self._run(kind).labelled(dense)
        shown = table.select(["left", "right", "n_left", "n_right"]).combine_chunks()
        return shown.cast(TEXT if self._are_text else pa.schema([(field.name, field.type) for field in shown.schema]))

    @cached_property
    def _are_text(self) -> bool:
        """Whether new labels made numbers text: then they are shown as text on both sides."""
        sides = ("left_ids", "right_ids")
        return any(getattr(self.before, side).type != getattr(self.after, side).type for side in sides)


class _Rows:
    """All that changed, of the wanted sizes, as a file has it."""

    sheet = "changes"

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    @property
    def schema(self) -> pa.Schema:
        """Columns: change, left, right, n_left, n_right."""
        return self._table("appeared", np.zeros(0, np.int64)).schema

    def batches(self) -> Iterator[pa.Table]:
        """Yield what appeared, and what vanished."""
        kinds: tuple[Kind, Kind] = ("appeared", "vanished")
        for kind in kinds:
            wanted = self._changes._wanted(kind)
            for first in range(0, len(wanted), AT_A_TIME):
                yield self._table(kind, wanted[first : first + AT_A_TIME])

    def rows_of(self, batch: pa.Table) -> list[dict[str, Any]]:
        """The rows of a batch for JSON Lines."""
        return list(batch.to_pylist())

    def _table(self, kind: Kind, rows: Int64s) -> pa.Table:
        part = self._changes._named(kind, rows)
        return part.add_column(0, "change", pa.repeat(kind, len(part)))


def changes_between(
    after: Run, before: str | None = None, choice: Choice = EVERYTHING, progress: Progress | None = None
) -> Changes:
    """Return what changed from a run (by default the parent of the other) to another one.

    Where an update came last that changed nothing, that is what is returned by default.
    """
    asked = after.folder.asked
    parent, own = asked.parent, (after.run, asked.compacts)
    last = [
        key
        for key, entry in (own_taken(after.store, asked) or {}).items()
        if entry.version in own and not entry.changed
    ]
    if before is None and last:
        return Changes(after, after, choice, tuple(key.split(" ", 2)[2] for key in last))
    if before is None and parent is None:
        raise InputError(f"{after.folder.uri}: it is no version of another run; name the run to compare it with")
    if before is None and not after.store.run(parent or "").exists():
        raise InputError(f"{after.folder.uri}: its parent {parent} was pruned; name the run to compare it with")
    return Changes(open_run(after.store, parent if before is None else before), after, choice, progress=progress)


def _rows_of_windows(before: Run, after: Run) -> dict[str, int | None]:
    """Rows that left the window of time, and that came too late for it, between two versions.

    None where the one does not descend from the other.
    """
    store, rows, name = after.store, Counter(dict.fromkeys(OF_WINDOWS, 0)), after.run
    ends = {before.run, before.folder.asked.compacts}
    while name not in ends:
        asked = store.run(name).find(RunRecord)
        if asked is not None and asked.compacts is not None:
            name = asked.compacts
            continue
        if asked is None or asked.update is None or asked.parent is None:
            return dict.fromkeys(OF_WINDOWS)
        rows.update({what: getattr(asked.update, what) for what in OF_WINDOWS})
        name = asked.parent
    return dict(rows)


def _lineage(run: Run) -> tuple[str, tuple[Layer, ...]]:
    """The run whose data files a version stands on, and its layers.

    One that was written whole changed in the same way as the version that it holds.
    """
    asked = run.folder.asked
    version = None if asked.compacts is None else run.store.run(asked.compacts).find(RunRecord)
    asked = version or asked
    return asked.base, layers_of(run.store, asked)


def _net(old: tuple[Layer, ...], new: tuple[Layer, ...]) -> tuple[pa.Table, pa.Table]:
    """What layers change together: backwards through the old ones, and forwards through the new."""
    back = [(layer.vanished(), layer.appeared()) for layer in reversed(old)]
    steps = [*back, *((layer.appeared(), layer.vanished()) for layer in new)]
    return steps[0] if len(steps) == 1 else net_changes(steps)


def _values(found: Changed, by: Objective) -> Int64s:
    left, right = found.n_left.astype(np.int64), found.n_right.astype(np.int64)
    values: dict[str, Int64s] = {
        "edges": left * right,
        "vertices": left + right,
        "balanced": np.minimum(left, right),
        "left": left,
        "right": right,
    }
    if by not in values:
        raise InputError(f"by {by!r}: it must be one of {', '.join(values)}")
    return values[by]


def _weighed(lists: pa.ChunkedArray, labels: pa.Array, by_label: Mapping[str, float]) -> Any:
    """The sum of the weights of the members of each list."""
    listed = pc.index_in(labels.cast(pa.string()), value_set=words_column(list(by_label)))
    weights = np.append(np.array(list(by_label.values()), float), 0.0)  # the last for who is not listed
    of_vertex = weights[values_of(listed.fill_null(len(by_label)))]
    parts: list[Any] = [np.zeros(0)]
    for chunk in lists.chunks:
        ids, parents = values_of(chunk.flatten()), values_of(pc.list_parent_indices(chunk))
        parts.append(np.bincount(parents, weights=of_vertex[ids], minlength=len(chunk)))
    return np.concatenate(parts)


def places_among(labels: pa.Array, others: pa.Array) -> Int32s:
    """Where each label is among others; -1: it is not."""
    own, known = (
        (labels, others) if labels.type == others.type else (labels.cast(pa.string()), others.cast(pa.string()))
    )
    n = min(len(own), len(known))
    if own.slice(0, n).equals(known.slice(0, n)):  # versions of one run: labels keep their places
        return np.where(np.arange(len(own)) < n, np.arange(len(own)), -1).astype(np.int32)
    return values_of(pc.index_in(own, value_set=known).fill_null(-1)).astype(np.int32)


def _kinship(kind: Kind, group: dict[str, Any], other: dict[str, Any] | None, shared: int) -> dict[str, Any]:
    """How a group came or went, and the other one that it was or became."""
    if other is None:
        return {"how": "new" if kind == "appeared" else "gone", "other": None}
    sizes = group["n_left"] * group["n_right"], other["n_left"] * other["n_right"]
    how = "overlapping"
    if shared == min(sizes):
        how = "grown" if (shared == sizes[1]) == (kind == "appeared") else "shrunk"
    return {"how": how, "other": {**other, "shared_edges": shared}}
