"""DL files of UCINET: matrices, edge lists and node lists of two modes, or of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.lines import Neighbours, TextLines, edge_batches, refuse_line
from bicliq.pipeline.formats.problems import is_number
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource

LABELS = re.compile(r"(?im)^\s*(row|col|column)?\s*labels(?:\s+(embedded)|\s*:)\s*")
DATA = re.compile(r"\s*data\s*:\s*", re.IGNORECASE)
FORMATS = ("fullmatrix", "edgelist1", "edgelist2", "nodelist1", "nodelist2")

Line = tuple[int, list[str]]


@dataclass(frozen=True)
class Head:
    """What stands above the data.

    `rows`, `columns`: their numbers. `row_labels`, `column_labels`: labels; empty: they are numbers
    from 1, or stand in the data. `embedded`: whether they stand in the data.
    """

    rows: int
    columns: int
    format: str
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    embedded: bool


def dl_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a DL file: its rows are left, its columns are right."""
    numbered = TextLines(source.uri, source.settings)
    lines = list(numbered)
    start = next((at for at, (_, line) in enumerate(lines) if DATA.fullmatch(line)), None)
    if start is None:
        raise InputError(f"{source.uri}: holds no line 'data:', below which the data of a DL file stand; mend it")
    head = _head(source, "\n".join(line for _, line in lines[:start]))
    data = [(number, _words(line)) for number, line in lines[start + 1 :] if line.strip()]
    read = _full_matrix if head.format == "fullmatrix" else _lists
    yield from edge_batches(source, numbered, read(source.uri, head, data))


def _head(source: EdgeSource, text: str) -> Head:
    base, *parts = LABELS.split(text)
    labels: dict[str, list[str]] = {"row": [], "column": []}
    embedded = False
    for side, is_embedded, content in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        if is_embedded:
            embedded, base = True, f"{base}\n{content}"
        for name in {"row": ("row",), "col": ("column",), "column": ("column",)}.get(
            (side or "").lower(), tuple(labels)
        ):
            labels[name] += [] if is_embedded else _words(content)
    if not re.match(r"\s*dl\b", base, re.IGNORECASE):
        raise InputError(f"{source.uri}, line 1: begins no DL file, whose first word is dl; mend it")
    sizes = {name.lower(): int(size) for name, size in re.findall(r"(?i)\b(nr|nc|n)\s*=\s*([0-9]{1,9})\b", base)}
    kind = re.search(r"(?i)\bformat\s*=\s*(\w+)", base)
    form = kind[1].lower() if kind else "fullmatrix"
    if form not in FORMATS:
        raise InputError(f"{source.uri}: its format {form} is none of those that are read: {', '.join(FORMATS)}")
    if source.settings.sides == "source-target":
        if "n" not in sizes:
            raise InputError(
                f"{source.uri}: declares two modes (nr, nc), and a clique is of one; project a side: project = 'left' or"
                " 'right'"
            )
    elif not {"nr", "nc"} <= set(sizes):
        raise InputError(
            f"{source.uri}: declares not both nr and nc, the sizes of two modes; one mode (n) is read by bicliq clique alone"
        )
    n_rows, n_columns = sizes.get("nr", sizes.get("n", 0)), sizes.get("nc", sizes.get("n", 0))
    for side, size in (("row", n_rows), ("column", n_columns)):
        if labels[side] and (len(labels[side]) != size or len(set(labels[side])) != size):
            raise InputError(
                f"{source.uri}: names {len(set(labels[side]))} different {side}s where it declares {size}; mend its labels"
            )
    return Head(n_rows, n_columns, form, labels["row"], labels["column"], embedded)


def _words(line: str) -> list[str]:
    """Words between blanks or commas; quotes hold words together."""
    return [quoted or word for quoted, word in re.findall(r'"([^"]*)"|([^\s,"]+)', line)]


def _full_matrix(uri: str, head: Head, data: Sequence[Line]) -> Iterator[Neighbours]:
    """Numbers row by row, over as many lines as they take, with labels where embedded."""
    columns: Sequence[str] = head.column_labels or [str(at + 1) for at in range(head.columns)]
    if head.embedded and data:
        columns, data = data[0][1], data[1:]
        if len(columns) != head.columns or len(set(columns)) != head.columns:
            raise InputError(
                f"{uri}: names {len(set(columns))} different columns where it declares {head.columns}; mend it"
            )
    words = [(number, word) for number, line in data for word in line]
    width = head.columns + head.embedded
    if len(words) != head.rows * width:
        raise InputError(
            f"{uri}: its data are {len(words):,} words where {head.rows} rows of {width} are declared; is it cut off?"
        )
    if head.embedded and len({word for _, word in words[::width]}) != head.rows:
        raise InputError(f"{uri}: some rows share a name; two vertices would become one: rename them")
    for row in range(head.rows):
        number, name = words[row * width]
        cells = words[row * width + head.embedded : (row + 1) * width]
        for at, word in cells:
            if not is_number(word):
                raise InputError(f"{uri}, line {at}: {word!r} is no number; mend it")
        tied = {column: float(word) for column, (_, word) in zip(columns, cells, strict=True) if float(word)}
        label = name if head.embedded else _label(head.row_labels, row + 1)
        yield Neighbours(number, label, list(tied), list(tied.values()))


def _lists(uri: str, head: Head, data: Sequence[Line]) -> Iterator[Neighbours]:
    """A pair a line with a number at most (edge list), or a row and its columns (node list)."""
    for number, (first, *others) in data:
        is_edge = head.format.startswith("edgelist")
        value = others.pop() if is_edge and len(others) == 2 else "1"
        if not others or (is_edge and len(others) != 1) or not is_number(value):
            raise refuse_line(uri, number, " ".join([first, *others, value]), f"is no line of an {head.format[:-1]}")
        left = _place(uri, number, first, head.row_labels, head.rows, head.embedded)
        right = [_place(uri, number, word, head.column_labels, head.columns, head.embedded) for word in others]
        yield Neighbours(number, left, right, [float(value)] * len(right))


def _place(uri: str, number: int, word: str, labels: Sequence[str], n: int, embedded: bool) -> str:
    """The label of a vertex that stands as a number from 1, or as its label."""
    if embedded or word in labels:
        return word
    if re.fullmatch("[0-9]{1,9}", word) and 1 <= int(word) <= n:
        return _label(labels, int(word))
    raise refuse_line(uri, number, word, f"is neither a label nor one of 1…{n}; mend it")


def _label(labels: Sequence[str], place: int) -> str:
    return labels[place - 1] if labels else str(place)
