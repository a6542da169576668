"""Scaling: a table of categories and numbers becomes a context, whose attributes say what holds.

A column has levels, in their order where there is one, and each row has one of them or none. A
scale makes attributes of levels: `city=Oslo` (nominal), `age>=30` (ordinal), and `age<30` beside it
(interordinal).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import column_of, words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import say
from bicliq.pipeline.formats.frames import Frame
from bicliq.pipeline.formats.matrix import NAMES_ROWS
from bicliq.pipeline.formats.problems import is_number
from bicliq.pipeline.formats.whole_tables import read_whole_table
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.results.concepts import Context
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.store.account import account
from bicliq.pipeline.words import listed, shown

KINDS = ("nominal", "ordinal", "interordinal", "none")
TRUE_AND_FALSE = ({"0", "1"}, {"false", "true"})

FEW, PARTS = 10, 4
"""Numbers of more levels than these are cut into so many parts of as many rows, unless asked."""

Attribute = tuple[str, npt.NDArray[np.bool_]]
"""A name, and which rows have it."""


@dataclass(frozen=True)
class Column:
    """What the rows of a table have in a column.

    `levels`: what its rows have, each once; ascending, or as ordered categories are. `numbers`: the
    levels as numbers, if they are. `is_ordered`: whether levels have an order that means something.
    `codes`: the level of each row; -1: it has no value.
    """

    name: str
    levels: Sequence[str]
    numbers: npt.NDArray[np.float64] | None
    is_ordered: bool
    codes: npt.NDArray[np.int64]

    @property
    def is_truth(self) -> bool:
        """Whether all it says is whether something holds."""
        return bool(self.levels) and any({level.lower() for level in self.levels} <= said for said in TRUE_AND_FALSE)

    def default(self) -> str:
        """The scale of a column that was given none."""
        if self.is_truth:
            return "as it is"
        if self.numbers is not None:
            return "interordinal" if len(self.levels) <= FEW else f"interordinal/{PARTS}"
        return "ordinal" if self.is_ordered else "nominal"

    def attributes(self, scale: str) -> Iterator[Attribute]:
        """Yield the attributes that a scale makes of it."""
        if scale == "as it is":
            yield (
                self.name,
                np.isin(self.codes, [at for at, it in enumerate(self.levels) if it.lower() in ("1", "true")]),
            )
        elif scale == "nominal":
            for at, level in enumerate(self.levels):
                yield f"{self.name}={level}", self.codes == at
        else:
            for cut, at in self._cuts(scale):
                yield f"{self.name}>={cut}", self.codes >= at
                if scale.startswith("inter"):
                    yield f"{self.name}<{cut}", (self.codes >= 0) & (self.codes < at)

    def _cuts(self, scale: str) -> Iterator[tuple[str, int]]:
        """Levels at which a scale cuts, and how many levels are below each."""
        kind, parts, given = _parts_of(self.name, scale)
        if not self.is_ordered:
            raise InputError(
                f"scales: {shown(self.name)} holds {shown(self.levels[0] if self.levels else '')}, and no numbers or ordered"
                f" categories, so it cannot be {kind}; take nominal"
            )
        if given:
            yield from ((cut, self._below(cut)) for cut in given)
            return
        places = np.arange(len(self.levels))
        if parts:
            known = np.sort(self.codes[self.codes >= 0])
            places = np.unique(known[[len(known) * part // parts for part in range(1, parts)]]) if known.size else known
        yield from ((self.levels[at], at) for at in places.tolist() if at > 0)

    def _below(self, cut: str) -> int:
        if self.numbers is not None and is_number(cut):
            return int(np.searchsorted(self.numbers, float(cut)))
        if self.numbers is None and cut in self.levels:
            return list(self.levels).index(cut)
        raise InputError(f"scales: {shown(self.name)} cannot be cut at {shown(cut)}; name one of its values")


def scale_table(source: Any, scales: Mapping[str, str], settings: IngestSettings) -> Context:
    """Make a context of a table whose columns hold categories, numbers and truth values.

    `source`: as of `read_whole_table`; a pandas index names the objects, or the column `left`.
    `scales`: by columns: "nominal", "ordinal", "interordinal" or "none"; behind the ordinal ones
    "/4" for parts of as many rows, or ":18,65" for where they are cut. `settings`: how the table is
    read. Raises InputError where a scale does not fit its column, or names would become one.
    """
    frame, is_text = read_whole_table(source, settings)
    _refuse_doubles(frame.name, "columns", frame.columns)
    for name in scales:
        if name not in frame.columns:
            raise InputError(f"scales: {frame.name} has no column {shown(name)}; there are: {listed(frame.columns)}")
    wanted = [(at, name) for at, name in enumerate(frame.columns) if scales.get(name) != "none"]
    columns = [_column(name, frame.read([at])[0], is_text) for at, name in wanted]
    if not columns or not len(columns[0].codes):
        raise InputError(f"{frame.name}: has no {'rows' if columns else 'columns'} to scale; give some")
    said, objects, columns = _objects(frame, columns, scales, settings.left)
    attributes, made, missing = list[Attribute](), dict[str, list[str]](), dict[str, int]()
    for column in columns:
        of_it = [*column.attributes(scales.get(column.name, column.default()))]
        attributes += of_it
        made[column.name] = [name for name, _ in of_it]
        missing |= {column.name: n} if (n := int((column.codes < 0).sum())) else {}
    _refuse_doubles(frame.name, "attributes", [name for name, _ in attributes])
    by_default = {column.name: column.default() for column in columns if column.name not in scales}
    if by_default:
        words = ", ".join(f"{shown(name)} {how}" for name, how in by_default.items())
        said.append(f"{frame.name}: columns were scaled by what they hold: {words}; another is chosen by scale")
    for name, n in missing.items():
        said.append(
            f"{frame.name}: {shown(name)} has no value in {n:,} of {len(objects):,} rows, which have none of its attributes"
        )
    for sentence in said:
        say("assumed", sentence)
    graph = _graph(attributes, len(objects))
    summary = {"rows_read": graph.n_edges, "edges": graph.n_edges, "duplicates": 0, "assumed": said}
    return Context(graph, objects, words_column([name for name, _ in attributes]), {"scales": made, **account(summary)})


def _graph(attributes: Sequence[Attribute], n_objects: int) -> BipartiteGraph:
    rows = [np.flatnonzero(has) for _, has in attributes]
    right = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    return BipartiteGraph.from_edges(np.concatenate([np.zeros(0, np.int64), *rows]), right, n_objects, len(attributes))


def _parts_of(name: str, scale: str) -> tuple[str, int, list[str]]:
    """The kind of a scale, its number of parts and where it cuts; 0 and none: it says neither."""
    kind, slash, parts = scale.partition("/")
    kind, colon, cuts = kind.partition(":")
    given = [cut.strip() for cut in cuts.split(",")] if colon else []
    fits = kind in KINDS and not (slash and colon) and (kind in KINDS[1:3] or not (slash or colon))
    if not fits or (slash and not (parts.isascii() and parts.isdigit() and int(parts) > 1)) or "" in given:
        raise InputError(
            f"scales: {scale!r} of {shown(name)} is none of {', '.join(KINDS)}, with /4 for parts or :18,65 for cuts behind"
            " the ordinal ones"
        )
    return kind, int(parts or 0), given


def _refuse_doubles(source: str, what: str, names: Sequence[Any]) -> None:
    for name, uses in Counter(names).items():
        if uses > 1 or name is None or name == "":
            said = f"{uses} {what} are called {shown(name)}" if name not in (None, "") else f"some {what} have no name"
            raise InputError(f"{source}: {said}; give each a name of its own")


def _objects(
    frame: Frame, columns: Sequence[Column], scales: Mapping[str, str], left: str | None
) -> tuple[list[str], pa.Array, list[Column]]:
    """What was taken for granted, names of the rows, and the columns that are scaled."""
    said, first = [*frame.assumed], columns[0]
    may_name = not first.is_ordered or (first.numbers is not None and NAMES_ROWS.fullmatch(first.name))
    in_each_row = len(first.levels) == len(first.codes) > 2 and may_name
    if left is None and frame.index is None and in_each_row and first.name not in scales:
        left = first.name
        said.append(f"{frame.name}: {shown(left)} is another in each row, and was taken for names of objects")
    if left is None:
        objects = column_of(np.arange(len(first.codes))) if frame.index is None else frame.index
        _refuse_doubles(frame.name, "objects", objects.to_pylist())
        return said, objects, [*columns]
    found = next((column for column in columns if column.name == left), None)
    if found is None or left in scales:
        why = "is scaled, too" if left in scales else f"is no column; there are: {listed(frame.columns)}"
        raise InputError(f"left: {shown(left)} {why}; name the column of the objects' names")
    names = [found.levels[code] if code >= 0 else "" for code in found.codes.tolist()]
    _refuse_doubles(frame.name, "objects", names)
    return said, words_column(names), [column for column in columns if column is not found]


def _column(name: str, values: pa.Array | pa.ChunkedArray, is_text: bool) -> Column:
    """A column with its levels: numbers where all are, and categories in their order."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_dictionary(values.type) and values.type.ordered:
        return Column(name, list(map(str, values.dictionary.to_pylist())), None, True, _codes(values.indices))
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_nested(values.type):
        raise InputError(f"scales: column {shown(name)} holds lists, which have no scale; leave it out: 'none'")
    if is_text and all(
        is_number(text) and not re.match("[+-]?0[0-9]", text) for text in pc.unique(values.drop_null()).to_pylist()
    ):
        values = pc.cast(values, pa.float64())
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    levels = pc.unique(values.drop_null())
    levels = levels.take(pc.sort_indices(levels))
    codes = _codes(pc.index_in(values, levels))
    if not any(of(values.type) for of in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)):
        return Column(name, list(map(str, levels.to_pylist())), None, pa.types.is_temporal(values.type), codes)
    words = [_written(value) for value in levels.to_pylist()]
    floats = levels.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return Column(name, words, floats, True, codes)


def _written(number: Any) -> str:
    """A number without a point where it is whole."""
    return f"{number:.0f}" if abs(number) < 1e15 and number == int(number) else str(number)


def _codes(numbers: pa.Array) -> npt.NDArray[np.int64]:
    codes: npt.NDArray[np.int64] = numbers.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return codes
