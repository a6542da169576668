"""Baskets: a line a basket, with what is in it; FIMI and SPMF files, and gene sets (GMT)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.csv_heads import comments_above, is_value, taken_for_comments, without_declaration
from bicliq.pipeline.formats.fields import Record, cut_line
from bicliq.pipeline.formats.lines import Neighbours, TextLines, edge_batches, refuse_line
from bicliq.pipeline.formats.problems import DELIMITERS
from bicliq.pipeline.formats.recognise import text_head
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import listed, shown

UTILITIES = re.compile("[0-9]+:[0-9]+:[0-9]+")
"""What stands between the items of a basket and how much each is worth, in SPMF."""

IN_BRACKETS = re.compile(r"""(['"]?)(?:\[[^\[\]]*\]|\{[^{}]*\}|\([^()]*\))\1""")
"""A line that is a list of its own."""

NUMBER = r"[-+]?[0-9]+(?:[.][0-9]*)?(?:[eE][-+]?[0-9]+)?"
FEATURE = re.compile(rf"[0-9]+:{NUMBER}")
"""A feature and its value, as LIBSVM writes them behind a label."""

METADATA = re.compile(r"@[A-Z_]+(=.*)?")
"""Lines that SPMF writes above its baskets."""

SAMPLE = 100
"""Lines by which the delimiter of baskets is told, and names above and before them."""

WEIGHTED = re.compile(r"(.+),[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A member of a gene set as Enrichr writes it: the gene, and its weight."""

NOT_COUNTED = "blank_lines_not_counted"
"""Blank lines above the first basket and below the last, which may be no baskets."""

LEAST_NAMED = 3
"""Baskets of a list, at least, whose first words may be their names."""


@dataclass(frozen=True)
class Top:
    """What the first lines of a file of baskets or gene sets say.

    `last`: the last line above them; 0: there is none. `delimiter`: what stands between items;
    None: blanks. `assumed`: what was taken for granted. `weighted`: whether a weight stands behind
    each member of a gene set.
    """

    last: int
    delimiter: str | None
    assumed: tuple[str, ...] = ()
    weighted: bool = False


def top_of(uri: str, kind: str, settings: IngestSettings) -> Top:
    """Tell what stands above baskets or gene sets (gmt), a line each: comments, names, ``sep=;``.

    And whether the first word of each basket is its name, and members of sets have weights.
    """
    head, declared = without_declaration(text_head(uri, settings))
    delimiter = settings.delimiter or declared or told_delimiter(head)
    lines = [(number, line) for number, line in enumerate(head.split("\n"), 1) if line.strip()]
    comments = [number for number, _ in lines[: comments_above([line for _, line in lines], settings)]]
    rows = [(number, line) for number, line in lines[len(comments) :][:SAMPLE] if not METADATA.fullmatch(line)]
    said = taken_for_comments(uri, comments)
    lists = kind == "baskets" and settings.delimiter is None and _are_lists([line for _, line in rows])
    if lists and settings.split is None:
        raise InputError(
            f"{uri}, line {rows[0][0]}: {shown(rows[0][1])} is a list, as most lines are; take them apart with split = ','"
            " (or name the delimiter, if they are items)"
        )
    delimiter = "\t" if lists else delimiter
    if settings.header:
        return Top(rows[0][0] if rows else 0, delimiter, said)
    if settings.header is None and len(rows) > 2 and not (lists and IN_BRACKETS.fullmatch(rows[0][1].strip())):
        (number, first), *others = _cut(rows, delimiter, settings)
        if not any(map(is_value, first)) and set(first).isdisjoint(item for _, items in others for item in items):
            said = (
                *said,
                f"{uri}: line {number} ({listed(first)}) was taken for a basket, though no item of it is in others; say"
                " header = true if it is names, or header = false if not",
            )
    last = rows[0][0] - 1 if rows else 0
    if kind == "gmt":
        members = [member for _, line in rows for member in line.rstrip("\r\t").split("\t")[2:] if member]
        weighted = bool(members) and all(map(WEIGHTED.fullmatch, members))
        taken = (
            f"{uri}: members are genes and weights, as {shown(members[0])}; the weights were left out"
            if weighted
            else ""
        )
        return Top(last, delimiter, (*said, taken) if weighted else said, weighted)
    if kind == "baskets" and rows and all(map(_are_features, (items for _, items in _cut(rows, delimiter, settings)))):
        said = (
            *said,
            f"{uri}: its lines are numbers with values, as {shown(rows[0][1])} of LIBSVM; each was taken for one item",
        )
    return Top(last, delimiter, said)


def told_leading_names(uri: str, settings: IngestSettings) -> tuple[str, ...]:
    """Say that the first word of each basket may be its name: of all, where those of the head may.

    `uri`, `settings`: a file of baskets, and how it is read.
    """
    if settings.left is not None:
        return ()
    top = top_of(uri, "baskets", settings)

    def baskets() -> Iterator[list[str]]:
        rows = ((at, line) for at, line in TextLines(uri, settings) if at > top.last and line.strip())
        for at, line in rows:
            if not METADATA.fullmatch(line):
                yield record_of(uri, at, line, top.delimiter, settings).fields

    head = list(islice(baskets(), SAMPLE))
    for above in (0, 1):  # names of columns
        if begin_with_names(head[above:]) and begin_with_names(islice(baskets(), above, None)):
            return (
                f"{uri}: {shown(head[above][0])} and the first words of the other lines were taken for items; they may be"
                " names of the baskets: say left = '0' if they are",
            )
    return ()


def _are_lists(lines: Sequence[str]) -> bool:
    """Whether most lines are in brackets, as Python and R write lists and sets."""
    return 2 * sum(bool(IN_BRACKETS.fullmatch(line.strip())) for line in lines) > len(lines)


def _are_features(items: Sequence[str]) -> bool:
    return len(items) > 1 and all(map(FEATURE.fullmatch, items[1:])) and re.fullmatch(NUMBER, items[0]) is not None


def _cut(
    rows: Sequence[tuple[int, str]], delimiter: str | None, settings: IngestSettings
) -> list[tuple[int, list[str]]]:
    return [(at, cut_line(line.strip("\r"), at, delimiter, settings.quotes).fields) for at, line in rows]


def begin_with_names(baskets: Iterable[Sequence[object]]) -> bool:
    """Whether the first item of each basket may name it: each is another, and is in no basket.

    And all are written alike, with a number in them, as T1 and T2, and no other item is; or they
    count the baskets.

    Examples
    --------
    >>> begin_with_names([["T1", "jam"], ["T2", "tea", "jam"], ["T3"]]), begin_with_names([["1"], ["2", "7"], ["3"]])
    (True, True)
    >>> begin_with_names([["T1", "T9"], ["T2", "T9"], ["T3"]]), begin_with_names([["jam"], ["tea"], ["oil", "jam"]])
    (False, False)
    """
    firsts, others = list[str](), set[str]()
    for items in baskets:
        firsts.extend(map(str, items[:1]))
        others.update(map(str, items[1:]))
    if len(firsts) < LEAST_NAMED or len(set(firsts)) < len(firsts) or not others or not others.isdisjoint(firsts):
        return False
    if all(re.fullmatch("[0-9]{1,18}", first) for first in firsts):
        numbers = list(map(int, firsts))
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return True
    (form, *more), of_others = ({re.sub("[0-9]+", "0", name) for name in names} for names in (firsts, others))
    return not more and "0" in form and form not in of_others


def baskets_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a file of baskets: the number of a line is left, what stands in it is right."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _baskets(source, lines), quoted=True)


def _baskets(source: EdgeSource, lines: TextLines) -> Iterator[Neighbours]:
    """The baskets of the lines; SPMF names its items in lines above, '@ITEM=1=apple'."""
    names: dict[str, str] = {}
    above, missing, blank = True, frozenset(source.settings.null_values), list[int]()
    named = source.names_its_baskets
    top = top_of(source.uri, "baskets", source.settings)
    for number, line in lines:
        if above and (item := re.fullmatch(r"@ITEM=(\S+?)=(.*)", line)):
            names[item[1]] = item[2].strip()
        elif above and METADATA.fullmatch(line):
            lines.noted["comments"] += 1
        elif not line.strip() and above:
            lines.noted[NOT_COUNTED] += 1
        elif not line.strip():
            blank.append(number)
        elif line.strip() and number > top.last:
            yield from (Neighbours(empty, None if named else empty, []) for empty in blank)  # not below the last basket
            above, blank = False, []
            found = record_of(source.uri, number, line, top.delimiter, source.settings)
            _refuse_sequences(source.uri, number, found.fields)
            items = found.labels(missing)
            basket: int | str | None = number
            if named:
                basket, *items = items
            yield Neighbours(
                number, basket, [item and names.get(item.strip(), item) for item in items] if names else items
            )
    if blank:
        lines.noted[NOT_COUNTED] += len(blank)


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
    top = top_of(source.uri, "gmt", source.settings)
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
        yield Neighbours(number, name, _genes(source.uri, number, rest[1:]) if top.weighted else rest[1:])


def _genes(uri: str, number: int, members: Sequence[str]) -> list[str]:
    """The members of a set without their weights."""
    genes = []
    for member in members:
        found = WEIGHTED.fullmatch(member)
        if member and found is None:
            raise InputError(
                f"{uri}, line {number}: {shown(member)} has no number behind a comma, as the members above have; mend it"
            )
        genes.append(found[1] if found else member)
    return genes


def context_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a Burmeister context: objects are left, attributes are right."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _context(source.uri, lines))


def context_names(uri: str, settings: IngestSettings) -> tuple[list[str], list[str]]:
    """Return the names of all objects and attributes of a Burmeister context, crossed or not."""
    lines, objects, attributes, crosses = _context_parts(uri, TextLines(uri, settings))
    return lines[objects:attributes], lines[attributes:crosses]


def _context_parts(uri: str, numbered: TextLines) -> tuple[list[str], int, int, int]:
    """Lines, and where objects, attributes, crosses begin: 'B', a name, two sizes, a blank line."""
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
