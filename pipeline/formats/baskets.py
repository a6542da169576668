"""Baskets: a line a basket, with what is in it; FIMI and SPMF files, and gene sets (GMT)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.csv_heads import comments_above, is_value, taken_for_comments, without_declaration
from bicliq.pipeline.formats.fields import Record, cut_line
from bicliq.pipeline.formats.lines import Neighbours, TextLines, edge_batches, refuse_line
from bicliq.pipeline.formats.recognise import text_head
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import listed, shown

DELIMITERS = ",\t;|"
UTILITIES = re.compile("[0-9]+:[0-9]+:[0-9]+")
"""What stands between the items of a basket and how much each is worth, in SPMF."""

METADATA = re.compile(r"@[A-Z_]+(=.*)?")
"""Lines that SPMF writes above its baskets."""

SAMPLE = 100
"""Lines by which the delimiter of baskets is told, and names above them."""


@dataclass(frozen=True)
class Top:
    """What the first lines of a file of baskets or gene sets say.

    Parameters
    ----------
    last
        The last line above them; 0: there is none.
    delimiter
        What stands between items; None: blanks.
    assumed
        What was taken for granted.
    """

    last: int
    delimiter: str | None
    assumed: tuple[str, ...] = ()


def top_of(uri: str, settings: IngestSettings) -> Top:
    """Tell what stands above baskets or gene sets, a line each: comments, names, ``sep=;``."""
    head, declared = without_declaration(text_head(uri, settings))
    delimiter = settings.delimiter or declared or told_delimiter(head)
    lines = [(number, line) for number, line in enumerate(head.split("\n"), 1) if line.strip()]
    comments = [number for number, _ in lines[: comments_above([line for _, line in lines], settings)]]
    rows = [(number, line) for number, line in lines[len(comments) :][:SAMPLE] if not METADATA.fullmatch(line)]
    said = taken_for_comments(uri, comments)
    if settings.header:
        return Top(rows[0][0] if rows else 0, delimiter, said)
    if settings.header is None and len(rows) > 2:
        (number, first), *others = [(at, cut_line(line, at, delimiter, settings.quotes).fields) for at, line in rows]
        if not any(map(is_value, first)) and set(first).isdisjoint(item for _, items in others for item in items):
            said = (
                *said,
                f"{uri}: line {number} ({listed(first)}) was taken for a basket, though no item of it is in others; say"
                " header = true if it is names, or header = false if not",
            )
    return Top(rows[0][0] - 1 if rows else 0, delimiter, said)


def baskets_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a file of baskets: the number of a line is left, what stands in it is right."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _baskets(source, lines), quoted=True)


def _baskets(source: EdgeSource, lines: TextLines) -> Iterator[Neighbours]:
    """The baskets of the lines; SPMF names its items in lines above, '@ITEM=1=apple'."""
    names: dict[str, str] = {}
    above, missing, blank = True, frozenset(source.settings.null_values), list[int]()
    top = top_of(source.uri, source.settings)
    for number, line in lines:
        if above and (named := re.fullmatch(r"@ITEM=(\S+?)=(.*)", line)):
            names[named[1]] = named[2].strip()
        elif above and METADATA.fullmatch(line):
            lines.comments += 1
        elif not line.strip() and not above:
            blank.append(number)
        elif line.strip() and number > top.last:
            yield from (Neighbours(empty, empty, []) for empty in blank)  # not below the last basket
            above, blank = False, []
            found = record_of(source.uri, number, line, top.delimiter, source.settings)
            _refuse_sequences(source.uri, number, found.fields)
            items = found.labels(missing)
            yield Neighbours(
                number, number, [item and names.get(item.strip(), item) for item in items] if names else items
            )


def record_of(uri: str, number: int, line: str, delimiter: str | None, settings: IngestSettings) -> Record:
    """A line as fields, between delimiters or, for None, blanks; for nothing, each sign is one."""
    if delimiter == "":
        fields = [*line.strip()]
        return Record(number, fields, [False] * len(fields))
    record = cut_line(line.removesuffix("\r"), number, delimiter, settings.quotes)
    if record.problem is not None:
        raise InputError(
            f"{uri}, line {number}, {record.problem}; mend the quotes, or take them as characters with quotes = false"
        )
    return record


def told_delimiter(head: str) -> str | None:
    r"""The mark that stands most often in the first lines; None (blanks) where none does.

    Examples
    --------
    >>> told_delimiter("jam\njam,tea\n"), told_delimiter("1 2\n")
    (',', None)
    """
    lines = [line for line in head.split("\n") if not METADATA.fullmatch(line)][:SAMPLE]
    counts = {mark: sum(line.count(mark) for line in lines) for mark in DELIMITERS}
    return max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else None


def _refuse_sequences(uri: str, number: int, items: Sequence[str]) -> None:
    kinds = {"sequences": items[-1] == "-2", "utilities": any(UTILITIES.fullmatch(item) for item in items)}
    for what, there in kinds.items():
        if there:
            raise refuse_line(uri, number, " ".join(items), f"is of SPMF's {what}; give plain baskets, items alone")


def gmt_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of gene sets: name, description and members of a set a line, with tabs between."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _gene_sets(source, lines))


def _gene_sets(source: EdgeSource, lines: TextLines) -> Iterator[Neighbours]:
    seen: dict[str, int] = {}
    top = top_of(source.uri, source.settings)
    for number, line in lines:
        if not line.strip() or number <= top.last:
            continue
        name, *rest = line.rstrip("\t").split("\t")
        if not rest:
            raise refuse_line(
                source.uri, number, line, "holds no tab; a line of a GMT file is a name, a description and members"
            )
        if name in seen:
            raise InputError(
                f"{source.uri}, line {number}: the set {shown(name)} is there already, in line {seen[name]}; rename one"
            )
        seen[name] = number
        yield Neighbours(number, name, rest[1:])


def context_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a Burmeister context: objects are left, attributes are right."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _context(source.uri, lines))


def context_names(uri: str, settings: IngestSettings) -> tuple[list[str], list[str]]:
    """Return the names of all objects and attributes of a Burmeister context, crossed or not."""
    lines, objects, attributes, crosses = _context_parts(uri, TextLines(uri, settings))
    return lines[objects:attributes], lines[attributes:crosses]


def _context_parts(uri: str, numbered: TextLines) -> tuple[list[str], int, int, int]:
    """Lines, and where objects, attributes and crosses begin: 'B', a name, two sizes, a blank line."""
    lines = [line.strip() for _, line in numbered]
    start = next((at for at in (1, 2) if all(re.fullmatch("[0-9]{1,9}", size) for size in lines[at : at + 2])), 0)
    if lines[:1] != ["B"] or start == 0 or len(lines) < start + 2:
        raise InputError(
            f"{uri}: begins like no Burmeister context, with B, a line for its name, and its numbers of objects and"
            " attributes; mend its head"
        )
    n_objects, n_attributes = map(int, lines[start : start + 2])
    objects = start + 2 + (lines[start + 2 : start + 3] == [""])
    attributes, crosses = objects + n_objects, objects + n_objects + n_attributes
    if len(lines) < crosses + n_objects:
        raise InputError(f"{uri}: ends before the {n_objects} objects that its head declares; fetch it again")
    _refuse_double_names(uri, "objects", lines[objects:attributes])
    _refuse_double_names(uri, "attributes", lines[attributes:crosses])
    return lines, objects, attributes, crosses


def _context(uri: str, numbered: TextLines) -> Iterator[Neighbours]:
    lines, objects, attributes, crosses = _context_parts(uri, numbered)
    n_objects, n_attributes = attributes - objects, crosses - attributes
    for at, line in enumerate(lines[crosses:]):
        number = crosses + at + 1
        if at >= n_objects and line:
            raise refuse_line(uri, number, line, f"follows the {n_objects} objects that the head declares; mend it")
        if at < n_objects:
            if len(line) != n_attributes or set(line.upper()) - {"X", "."}:
                raise refuse_line(uri, number, line, f"must be {n_attributes} marks, X or .")
            marked = [lines[attributes + place] for place, mark in enumerate(line) if mark in "xX"]
            yield Neighbours(number, lines[objects + at], marked)


def _refuse_double_names(uri: str, what: str, names: Sequence[str]) -> None:
    for name, uses in Counter(names).items():
        if uses > 1:
            raise InputError(f"{uri}: {uses} {what} are called {shown(name)}; rename them, as they would become one")


def refuse_one_set(source: str, settings: IngestSettings, what: str) -> None:
    """Raise an `InputError` where a format of two sides is asked for as the graph of one."""
    if settings.sides == "source-target":
        raise InputError(
            f"{source}: {what} ties two sets of vertices, and a clique is of one; project a side: project = 'left' or"
            " 'right'"
        )
