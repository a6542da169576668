"""Members of a graph that a question names by their labels, and the part that they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.files import read_lines
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.store.labels import nearest, place_of
from bicliq.pipeline.words import shown

Flags = npt.NDArray[np.bool_]
SIDES = ("left", "right")
OTHER = {"left": "right", "right": "left"}


@dataclass(eq=False)
class Part:
    """The vertices of a graph that may be in an answer, and what was left out.

    Parameters
    ----------
    graph
        The whole graph.
    left_ids, right_ids
        Arrow arrays (int64 or string) of the labels.
    weight
        float64, a weight an edge, in the order of the graph's edges; None where there is none.
    left_out
        Vertices that each restriction left out.
    why_none
        Why no group can be an answer; None: some may be.
    fold
        Forms in which labels were united.
    members
        Sides and vertices that each answer has to hold.
    """

    graph: BipartiteGraph
    left_ids: pa.Array
    right_ids: pa.Array
    weight: npt.NDArray[np.float64] | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    why_none: str | None = None
    fold: str | None = None
    members: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kept = {"left": np.ones(self.graph.n_left, np.bool_), "right": np.ones(self.graph.n_right, np.bool_)}
        self._ids = {"left": self.left_ids, "right": self.right_ids}

    def limit_degree(self, side: str, most: int | None) -> None:
        """Leave out the vertices of a side with more neighbours, in the whole graph."""
        if most is None:
            return
        degrees = self.graph.left_degrees if side == "left" else self.graph.right_degrees
        self._leave(f"max_{side}_degree", side, degrees <= most)

    def stay_within(self, labels: str | tuple[str, ...] | None) -> None:
        """Keep what a file names, a label a line, or what is named; a side without stays whole."""
        if labels is None:
            return
        named = {side: np.zeros(len(self.kept[side]), np.bool_) for side in SIDES}
        for number, label in enumerate(read_lines(labels) if isinstance(labels, str) else labels, 1):
            places = {side: place for side in SIDES if (place := self._place(side, label)) is not None}
            if not places:
                where = f"{labels}, line {number}" if isinstance(labels, str) else "within"
                near = self._nearest(label, *SIDES)
                raise InputError(f"{where}: {label!r} is no label of either side; name labels of the table{near}")
            for side, place in places.items():
                named[side][place] = True
        for side in SIDES:
            if named[side].any():
                self._leave("within", side, named[side])

    def contain(self, labels: tuple[str, ...], gaps: int = 0) -> None:
        """Keep what is joined to all of these members, or misses so few: the subgraph they span."""
        whole = {side: self.kept[side].copy() for side in SIDES}
        members = [(label, *self._member(label)) for label in labels]
        self.members = [(side, place) for _, side, place in members]
        named = {side: sorted({place for own, place in self.members if own == side}) for side in SIDES}
        joined = {side: np.zeros(len(self.kept[side]), np.int64) for side in SIDES}
        for label, side, place in members:
            if not whole[side][place]:
                raise InputError(f"containing = {label!r}: other options leave this member out")
        for side in SIDES:
            for place in named[side]:
                joined[OTHER[side]] += self._neighbours(side, place)
        for side in SIDES:
            if named[OTHER[side]]:
                self._leave("containing", side, joined[side] >= len(named[OTHER[side]]) - gaps)
        apart = [label for label, side, place in members if not self.kept[side][place]]
        if apart:
            others = ", ".join(shown(label) for label in labels if label != apart[0])
            few = f"all but {gaps:,}" if gaps else "all"
            self.why_none = f"{shown(apart[0])} is not joined to {few} of {others}, so no group holds these members"
            for side in SIDES:
                self._leave("containing", side, np.zeros(len(self.kept[side]), np.bool_))

    def weights(self, side: str, of: str | Mapping[Any, float] | None) -> npt.NDArray[np.float64] | None:
        """Weights of a side: of a file or by label; vertices that are not listed weigh 0."""
        if of is None:
            return None
        weights, listed = self._read_weights(side, of) if isinstance(of, str) else self._given_weights(side, of)
        self.left_out[f"{side}_without_weight"] = int((~listed).sum())
        return weights

    def _given_weights(self, side: str, by_label: Mapping[Any, float]) -> tuple[npt.NDArray[np.float64], Flags]:
        weights, listed = np.zeros(len(self.kept[side])), np.zeros(len(self.kept[side]), np.bool_)
        for label, weight in by_label.items():
            place = self._place(side, label)
            if place is None:
                near = self._nearest(label, side)
                raise InputError(f"{side}_weights: {label!r} is no {side} label of this table{near}")
            if listed[place]:
                raise InputError(f"{side}_weights: {label!r} is the label of one that has a weight; give each one")
            if not np.isfinite(weight):
                raise InputError(f"{side}_weights: {label!r} weighs {weight}; give it a number")
            weights[place], listed[place] = weight, True
        return weights, listed

    def _read_weights(self, side: str, path: str) -> tuple[npt.NDArray[np.float64], Flags]:
        """Lines of label, comma or tab, number."""
        weights, listed = np.zeros(len(self.kept[side])), np.zeros(len(self.kept[side]), np.bool_)
        for number, line in enumerate(read_lines(path), 1):
            label, value = _label_and_weight(line)
            place = None if label is None else self._place(side, label)
            if place is None or value is None or listed[place]:
                wrong = (
                    "is listed twice" if place is not None and listed[place] else f"is no {side} label and its weight"
                )
                near = "" if label is None or place is not None else self._nearest(label, side)
                raise InputError(f"{path}, line {number}: {line!r} {wrong}; write LABEL,WEIGHT, each label once{near}")
            weights[place], listed[place] = value, True
        return weights, listed

    def edges(self) -> BipartiteGraph:
        """The graph with only the edges between vertices that were kept; ids stay."""
        stay = self._staying()
        if stay.all():
            return self.graph
        left, right = self.graph.edge_left[stay], self.graph.indices[stay]
        return BipartiteGraph.from_edges(left, right, self.graph.n_left, self.graph.n_right)

    def edge_weights(self) -> npt.NDArray[np.float64]:
        """Weights of the edges of `edges`."""
        assert self.weight is not None, "the table was read with its weights"
        return self.weight[self._staying()]

    def _staying(self) -> Flags:
        """Edges between vertices that were kept."""
        return self.kept["left"][self.graph.edge_left] & self.kept["right"][self.graph.indices]

    def kinds(self) -> dict[str, str]:
        """Whether the labels of each side are numbers or text."""
        return {side: "numbers" if pa.types.is_integer(ids.type) else "text" for side, ids in self._ids.items()}

    def labels(self, side: str, vertices: Any) -> list[Any]:
        """Labels of some vertices."""
        found: list[Any] = self._ids[side].take(column_of(vertices)).to_pylist()
        return found

    def _leave(self, reason: str, side: str, stay: Flags) -> None:
        before = int(self.kept[side].sum())
        self.kept[side] &= stay
        self.left_out[reason] = self.left_out.get(reason, 0) + before - int(self.kept[side].sum())

    def _neighbours(self, side: str, place: int) -> Flags:
        graph = self.graph
        if side == "left":
            flags = np.zeros(graph.n_right, np.bool_)
            flags[graph.indices[graph.indptr[place] : graph.indptr[place + 1]]] = True
        else:
            flags = np.zeros(graph.n_left, np.bool_)
            owners = np.searchsorted(graph.indptr, np.flatnonzero(graph.indices == place), side="right") - 1
            flags[owners] = True
        return flags

    def _member(self, label: str) -> tuple[str, int]:
        """The one vertex of this label; "left:…" and "right:…" say which side is meant."""
        found = [(side, place) for side in SIDES if (place := self._place(side, label)) is not None]
        if not found and label.partition(":")[0] in SIDES:
            side, _, name = label.partition(":")
            place = self._place(side, name)
            found = [] if place is None else [(side, place)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"containing = {label!r} is a label of both sides; say 'left:{label}' or 'right:{label}'")
        near = self._nearest(label, *SIDES)
        raise InputError(f"containing = {label!r} is no label of either side of this table{near}")

    def _place(self, side: str, label: object) -> int | None:
        return place_of(label, self._ids[side], self.fold)

    def _nearest(self, label: object, *sides: str) -> str:
        return nearest(label, *(self._ids[side] for side in sides))


def read_weights(path: str) -> dict[str, float]:
    """Read a file of LABEL,WEIGHT lines.

    Raises InputError where it cannot be read, or a line is none, or names a label again.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://weights.csv", "w") as file:
    ...     print("ann,2.5", file=file)
    >>> read_weights("memory://weights.csv")
    {'ann': 2.5}
    """
    found: dict[str, float] = {}
    for number, line in enumerate(read_lines(path), 1):
        label, value = _label_and_weight(line)
        if label is None or value is None or label in found:
            wrong = "is listed twice" if label in found else "is no label and its weight"
            raise InputError(f"{path}, line {number}: {line!r} {wrong}; write LABEL,WEIGHT, each label once")
        found[label] = value
    return found


def _label_and_weight(line: str) -> tuple[str | None, float | None]:
    """Label, comma or tab, number: each None where it is not there."""
    label, separator, text = line.rpartition("\t" if "\t" in line else ",")
    return label if separator else None, _number(text)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
