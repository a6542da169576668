"""Labels in other forms: several in one field, and those that differ in case or Unicode form alone.

Both are told of every table, and done where settings ask for it: on batches, whatever they were
read from.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import folded, words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.labels import plain_numbers, tidy
from bicliq.pipeline.formats.problems import DROP_NULLS
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown

SIDES = ("left", "right")

PERSON = re.compile(r"[^\W\d_][^,;|]*, [^\W\d_][^,;|]*")
"""A label that a comma and a blank part once; with capital letters it is a name: Surname, Given."""

LIST_MARKS = ";|,"
"""What stands between the ids of a field that holds several, nearly always."""

QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)

LIST = re.compile(r"""[\[({]\s*['"\[({]|\[[^\]]*\]?$|\{[^{}]*\}$|\((?:[^()]*,[^()]*)?\)$|\w+\(\s*[\[({]""", re.DOTALL)
"""How lists, tuples and sets begin as Python, JSON, NumPy and PostgreSQL write them."""

PART_OF_LIST = re.compile(r"""(?:\]|['"]\s*[)}])$""")
"""How one ends."""

EMPTY_SETS = ("set()", "frozenset()")

CLOSED_BY = {"]": "[", ")": "(", "}": "{"}

NUMBER = r"(?:[-+.\de]+|nan|inf|true|false)"
PRINTED = re.compile(rf"""^{NUMBER}(?:\s+{NUMBER})+$|^np\.\w+\(|^\w+\(['"]""", re.IGNORECASE)
"""Items that are no labels: numbers with blanks between, as NumPy writes them; np.int64(1)."""

DECIMAL = re.compile(r"\s*[-+]?[0-9]+,[0-9]+\s*")

ANSWERS = [
    set(map(write, pair))
    for pair in (("true", "false"), ("yes", "no"), ("y", "n"))
    for write in (str.lower, str.upper, str.capitalize)
] + [{"T", "F"}]
"""What a column holds that says whether its row has something."""

FORMS = ("case", "unicode")

UNSEEN = "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
"""Characters that no reader sees: soft hyphens, blanks of no width, marks of direction and of byte
order."""

IN_QUOTES = "^(?:'.*'|=?\".*\"|`.*['`]|[\u2018\u201a].*[\u2018\u2019]|[\u201c\u201d\u201e].*[\u201c\u201d]|[\u00ab\u2039].*[\u00bb\u203a])$"
"""A label in quotes that no reader took out: in single ones, in those of print, in ="007"."""

ROUNDED = r"^[+-]?[0-9](?:[.,][0-9]+)?E\+[0-9]{2}$"
"""How a sheet writes a number of more digits than its column is wide."""

ODD = {
    "quoted": (IN_QUOTES, "in quotes, as {}; the quotes are part of it: take them out if they should not be"),
    "rounded": (ROUNDED, "a number as a sheet shortens it, as {}: several ids may have become one; write it as text"),
    "unseen": (f"^{UNSEEN}+$", "of characters alone that are not seen, as {}; write a label, or leave the field empty"),
    "marked": (r"^\x{feff}|\x00", "written with a mark of byte order or a zero byte, as {}; take it out"),
}
"""What is odd about labels: how they look, and what is said of them."""

BYTES_OF_UTF8 = r"[\x{80}-\x{9f}]|[\x{c2}-\x{f4}][\x{80}-\x{bf}\x{152}-\x{2122}]"
"""What those of a letter look like, read as latin-1 or cp1252."""

UNLIKE = {
    "zeros": (r"^\+?(-?)0*([0-9]+?)(\.0*)?$", r"\1\2"),
    "hours": (r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]00:00(?::00(?:\.0+)?)?)?$", r"\1"),
}
"""Whole numbers and days, and what is left of each where it is written in its shortest form."""

FIRST_CAPITAL, LAST_CAPITAL, FIRST_OTHER = b"A"[0], b"Z"[0], 128


def in_forms(source: EdgeSource, batch: EdgeBatch) -> EdgeBatch:
    """A batch with its fields taken apart and its labels united, as the settings say."""
    if source.settings.split is not None:
        batch = _taken_apart(source, batch, source.settings.split)
    return batch if source.settings.fold is None else _united(batch, source.settings.fold)


# ---- several labels in one field -----------------------------------------------------------------


def _taken_apart(source: EdgeSource, batch: EdgeBatch, mark: str) -> EdgeBatch:
    """A row a label of the fields that hold several; what is in brackets is a list as well."""
    for side in SIDES:
        if not pa.types.is_string(batch.edges[side].type):
            continue
        cells = batch.edges[side].dictionary_encode()
        lists: list[list[str | None]] = []
        for cell in cells.dictionary.to_pylist():
            try:
                lists.append([*_items(cell, mark)])
            except (ValueError, SyntaxError):
                row = pc.index(cells.indices, len(lists)).as_py()
                raise InputError(
                    f"{batch.place(row)}, column {source.columns[side]} ({side}): {shown(cell)} looks like a list, and is"
                    " not one whole with commas between its items, as ['a', 'b'] is (NumPy's arrays have none: write lists,"
                    " as with .tolist()); mend it"
                ) from None
        codes = pc.fill_null(cells.indices, len(lists))
        lists.append([None])  # a field without a label stays one
        lengths = np.array([len(found) for found in lists], np.int64)
        of_rows = lengths[codes.to_numpy(zero_copy_only=False)]
        parents = np.repeat(np.arange(len(codes)), of_rows)
        labels = pc.list_flatten(pa.array(lists, pa.list_(pa.string())).take(codes))
        empty = np.flatnonzero(of_rows == 0)
        where = batch.place(int(empty[0])) if len(empty) else batch.empty
        batch = replace(_with_rows(source, batch, side, labels, parents), empty=where)
        counts = {"split_fields": int((of_rows > 1).sum()), "empty_lists": len(empty)}
        batch = replace(batch, noted=_sum(batch.noted, counts))
    return batch


def _items(cell: str, mark: str) -> list[str]:
    """The labels of a field: a list as Python or JSON write it, or what stands between marks.

    Raises ValueError where it looks like a list, and its items have no commas between, or it is cut
    off.
    """
    text = cell.strip()
    if text in EMPTY_SETS:
        return []
    if not LIST.match(text):
        if PART_OF_LIST.search(text) and CLOSED_BY[text[-1]] not in text:
            raise ValueError
        return [label for item in text.split(mark) if (label := item.strip())]
    if CLOSED_BY.get(text[-1]) != text[0]:
        raise ValueError
    inner, labels, at = text[1:-1].strip(), [], 0
    item = _item_pattern("," if QUOTED.match(inner) or mark not in inner else mark)
    while at < len(inner):
        found = item.match(inner, at)
        if found is None or PRINTED.search(found[1]):
            raise ValueError
        labels.append(ast.literal_eval(found[1]) if QUOTED.match(found[1]) else found[1])
        at = found.end()
    return [label for some in labels if (label := some.strip())]


@cache
def _item_pattern(mark: str) -> re.Pattern[str]:
    """An item of a list, in quotes or as it is, to the mark behind it."""
    mark = re.escape(mark)
    return re.compile(rf"\s*({QUOTED.pattern}|[^'\"\[({{{mark}][^{mark}]*?|)\s*(?:{mark}|$)", re.DOTALL)


def _with_rows(
    source: EdgeSource,
    batch: EdgeBatch,
    side: str,
    labels: pa.Array,
    parents: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> EdgeBatch:
    """A batch with other labels on a side, each in the row of its parent."""
    labels, _ = tidy(labels, source.settings, typed=True)
    rows, place = pa.array(parents), batch.place
    columns = {name: batch.edges[name].take(rows) for name in batch.edges.schema.names}
    if labels.null_count > columns[side].null_count and source.settings.nulls == "error":
        row = int(parents[pc.index(pc.is_null(labels), True).as_py()])
        raise InputError(
            f"{place(row)}, column {source.columns[side]} ({side}): an item of {shown(batch.edges[side][row].as_py())} is"
            f" missing (null); mend it, or {DROP_NULLS}"
        )
    numbers = None if side in source.text_sides else plain_numbers(labels)
    columns[side] = labels if numbers is None else numbers
    return replace(batch, edges=pa.record_batch(columns), place=lambda row: place(int(parents[row])))


def told_lists(uri: str, columns: Mapping[str, Sequence[str]], settings: IngestSettings) -> tuple[str, ...]:
    """Say which columns hold several labels a field, by some of their fields.

    Examples
    --------
    >>> told_lists("t.csv", {"tags": ["a;b", "c;d", "e"]}, IngestSettings())
    ("t.csv: most fields of column 'tags' hold ';' and are taken for one label each, as 'a;b'; take them apart with split = ';'",)
    """
    if settings.split is not None:
        return ()
    return tuple(sentence for name, cells in columns.items() for sentence in _told_list(uri, name, cells))


def _told_list(uri: str, name: str, cells: Sequence[str]) -> Iterator[str]:
    lists = [cell for cell in cells if LIST.match(cell.strip())]
    found = [(mark, [cell for cell in cells if _holds(cell, mark)]) for mark in LIST_MARKS]
    mark, fields = (",", lists) if lists else max(found, key=lambda one: len(one[1]))
    if 2 * len(fields) > len(cells) > 1:
        what = "are lists" if lists else f"hold {mark!r}"
        cure = f"; take them apart with split = {mark!r}"
        if all(map(DECIMAL.fullmatch, fields)):
            cure = f": decimal commas, or lists that split = {mark!r} takes apart"
        yield (
            f"{uri}: most fields of column {shown(name)} {what} and are taken for one label each, as {shown(fields[0])}"
            f"{cure}"
        )


def _holds(cell: str, mark: str) -> bool:
    """Whether a mark stands in a field as between ids, and not as in the name of a person."""
    if mark == "," and PERSON.fullmatch(cell.strip()) and all(part[0].isupper() for part in cell.strip().split(", ")):
        return False
    return mark in cell.strip().strip(mark)


# ---- labels that differ in form alone ------------------------------------------------------------


def _united(batch: EdgeBatch, forms: str) -> EdgeBatch:
    columns = {name: batch.edges[name] for name in batch.edges.schema.names}
    changed = 0
    for side in SIDES:
        if pa.types.is_string(columns[side].type):
            encoded = columns[side].dictionary_encode()
            united = folded(encoded.dictionary, forms).take(encoded.indices)
            changed += pc.sum(pc.not_equal(united, columns[side])).as_py() or 0
            columns[side] = united
    return replace(batch, edges=pa.record_batch(columns), noted=_sum(batch.noted, {"folded": changed}))


def _sum(noted: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: n for name in {**noted, **more} if (n := noted.get(name, 0) + more.get(name, 0))}


def told_forms(uri: str, sides: Mapping[str, pa.Array]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Count the labels of each side that are like another but for case, or for Unicode forms.

    `uri`: the table, for messages. `sides`: different labels of each side. Returns how many, by
    what they differ in, and what is said of them.

    Linear in the labels; those in small ASCII letters are only looked through, at memory speed.

    Examples
    --------
    >>> counts, said = told_forms("t.csv", {"right": pa.array(["JAM", "jam", "tea"])})
    >>> counts
    {'alike_but_for_case': 1}
    >>> said
    ("t.csv: 1 label of the right side is like another but for case, as 'JAM' and 'jam'; unite them with fold = 'case'",)
    """
    counts: dict[str, int] = {}
    said = []
    for side, labels in sides.items():
        for form in (*FORMS, "unseen"):
            n, pair = _alike(labels, form)
            if n:
                name = f"alike_but_for_{form}"
                counts[name] = counts.get(name, 0) + n
                what = {"unicode": "Unicode forms", "unseen": "characters that are not seen"}.get(form, form)
                cure = "mend them" if form == "unseen" else f"unite them with fold = '{form}'"
                are = (
                    f"label of the {side} side is like another"
                    if n == 1
                    else f"labels of the {side} side are like others"
                )
                said.append(f"{uri}: {n:,} {are} but for {what}, as {pair[0]!a} and {pair[1]!a}; {cure}")
    return counts, tuple(said)


def told_odd(uri: str, sides: Mapping[str, pa.Array], encoding: str | None) -> tuple[dict[str, int], tuple[str, ...]]:
    r"""Count the labels of each side that stand in quotes, were rounded, or are garbled.

    `uri`, `sides`: as of `told_forms`. `encoding`: what the text was read in; None: UTF-8, or it
    came as text. Returns as of `told_forms`.

    Examples
    --------
    >>> counts, said = told_odd("t.csv", {"right": pa.array(["'jam'", "Jos\xc3\xa9"])}, "latin-1")
    >>> counts
    {'quoted': 1, 'garbled': 1}
    >>> print(*said, sep="\n")
    t.csv: 1 label of the right side is in quotes, as "'jam'"; the quotes are part of it: take them out if they should not be
    t.csv: 1 label of the right side is garbled, as 'Jos\xc3\xa9' for 'Jos\xe9'; read it with encoding = 'utf-8'
    """
    counts: dict[str, int] = {}
    said = []
    for side, labels in sides.items():
        if not pa.types.is_string(labels.type):
            continue
        odd = labels.filter(pc.match_substring_regex(labels, "|".join(pattern for pattern, _ in ODD.values())))
        for what, (pattern, sentence) in ODD.items():
            found = odd.filter(pc.match_substring_regex(odd, pattern))
            if len(found):
                counts[what] = counts.get(what, 0) + len(found)
                said.append(f"{uri}: {_are(len(found), side)} {sentence.format(ascii(found[0].as_py()))}")
        garbled = {} if _is_ascii(labels) else _garbled(labels, encoding)
        if garbled:
            counts["garbled"] = counts.get("garbled", 0) + len(garbled)
            label, (meant, name) = next(iter(garbled.items()))
            cure = "write it as UTF-8 where it was made" if encoding is None else f"read it with encoding = {name!r}"
            said.append(f"{uri}: {_are(len(garbled), side)} garbled, as {label!a} for {meant!a}; {cure}")
    return counts, tuple(said)


def _are(n: int, side: str) -> str:
    return f"{n:,} label{'' if n == 1 else 's'} of the {side} side {'is' if n == 1 else 'are'}"


def _garbled(labels: pa.Array, encoding: str | None) -> dict[str, tuple[str, str]]:
    """Labels that were read in another encoding than they are in: what is meant, and that one."""
    odd = labels.filter(pc.match_substring_regex(labels, r"[^\x00-\x7f]"))
    if encoding is None:  # one of two, whose bytes of UTF-8 show
        odd = odd.filter(pc.match_substring_regex(odd, BYTES_OF_UTF8))
    tried = [(name, "utf-8") for name in ((encoding,) if encoding else ("cp1252", "latin-1"))]
    found = {}
    for label in odd.to_pylist():
        for given, true in (*tried, ("latin-1", "cp1252")):
            if true == "cp1252" and not re.search("[\x80-\x9f]", label):
                continue
            try:
                meant = label.encode(given).decode(true)
            except UnicodeError:
                continue
            if meant != label:
                found[label] = meant, true
                break
    return found if encoding is None or 2 * len(found) > len(odd) or "cp1252" in dict(found.values()).values() else {}


def told_answers(uri: str, names: Mapping[str, str], sides: Mapping[str, pa.Array], n_edges: int) -> tuple[str, ...]:
    """Say which side has the labels of cells alone: yes and no, or 0 and 1, one beside each other.

    `n_edges`: number of edges.

    Examples
    --------
    >>> print(*told_answers("t.csv", {"right": "jam"}, {"right": pa.array(["no", "yes"])}, 2))
    t.csv: all labels of column 'jam' are 'no', 'yes': if they say whether a row has it, read them with format = 'matrix'
    """
    said = []
    for side, labels in sides.items():
        words = {str(label) for label in labels.to_pylist()} if len(labels) <= len(ANSWERS[0]) else set()
        others = [len(other) for name, other in sides.items() if name != side]
        one_each = n_edges > len(words) and others == [n_edges]
        if any(words == pair for pair in ANSWERS) or (words == {"0", "1"} and one_each):
            said.append(
                f"{uri}: all labels of column {shown(names[side])} are {', '.join(map(shown, sorted(words)))}: if they say"
                " whether a row has it, read them with format = 'matrix'"
            )
    return tuple(said)


def told_names(uri: str, names: Mapping[str, str], sides: Mapping[str, pa.Array]) -> tuple[str, ...]:
    """Say that the names of both columns are labels as well: of a header amid the rows.

    `uri`, `names`, `sides`: the table, the names of its two columns, and different labels of each.

    Examples
    --------
    >>> print(*told_names("t.csv", {"left": "u", "right": "v"}, {"left": pa.array(["a", "u"]), "right": pa.array(["v"])}))
    t.csv: the names of the columns, 'u' and 'v', are labels as well; if the header is there again below, as in files that were put together, take it out
    """
    for side, labels in sides.items():
        if not pa.types.is_string(labels.type):
            return ()
        seen = labels if _is_ascii(labels) else _in_form(labels, "unseen")
        if not pc.any(pc.is_in(seen, value_set=words_column([names[side]]))).as_py():
            return ()
    return (
        f"{uri}: the names of the columns, {shown(names['left'])} and {shown(names['right'])}, are labels as well; if the"
        " header is there again below, as in files that were put together, take it out",
    )


def told_beside(uri: str, sides: Mapping[str, tuple[pa.Array, pa.Array]]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Count the new labels of each side that are like known ones but for case, form, zeros or hour.

    `uri`: the table of the new ones, for messages.

    Examples
    --------
    >>> counts, said = told_beside("t.csv", {"right": (pa.array(["JAM", "tea"]), pa.array(["jam", "oil"]))})
    >>> counts
    {'alike_in_the_run_but_for_case': 1}
    """
    counts: dict[str, int] = {}
    said = []
    for side, (known, new) in sides.items():
        if not (pa.types.is_string(known.type) and pa.types.is_string(new.type) and len(new)):
            continue
        for form in (*FORMS, *UNLIKE):
            if form in UNLIKE and not pc.any(pc.match_substring_regex(new, UNLIKE[form][0])).as_py():
                continue
            places = pc.index_in(_in_form(new, form), value_set=_in_form(known, form))
            n = len(places) - places.null_count
            if n:
                name = f"alike_in_the_run_but_for_{form}"
                counts[name] = counts.get(name, 0) + n
                at = pc.index(pc.is_valid(places), True).as_py()
                what = {"unicode": "Unicode forms", "hours": "the hour"}.get(form, form)
                fold = "" if form in UNLIKE else f", or begin a new run with fold = '{form}'"
                said.append(
                    f"{uri}: {n:,} new label{'s' if n > 1 else ''} of the {side} side {'are' if n > 1 else 'is'} in the run but"
                    f" for {what}, as {new[at].as_py()!a} and {known[places[at].as_py()].as_py()!a}; write"
                    f" {'them' if n > 1 else 'it'} as there{fold}"
                )
    return counts, tuple(said)


def _is_ascii(labels: pa.Array) -> bool:
    data = np.frombuffer(labels.buffers()[2] or b"", np.uint8)
    return not len(data) or int(data.max()) < FIRST_OTHER


def _in_form(labels: pa.Array, form: str) -> pa.Array:
    """Labels as `folded`; numbers and days in their shortest form, as `UNLIKE` says."""
    if form == "unseen":
        return pc.replace_substring_regex(labels, UNSEEN, "")
    if form in UNLIKE:
        return pc.replace_substring_regex(labels, *UNLIKE[form])
    if not _is_ascii(labels):
        return folded(labels, form)
    return labels if form == "unicode" else pc.ascii_lower(labels)


def _alike(labels: pa.Array, form: str) -> tuple[int, list[str]]:
    if not pa.types.is_string(labels.type) or len(labels) < 2:
        return 0, []
    data = np.frombuffer(labels.buffers()[2], np.uint8)
    if _is_ascii(labels) and (form != "case" or not ((data >= FIRST_CAPITAL) & (data <= LAST_CAPITAL)).any()):
        return 0, []
    other = _in_form(labels, form)
    n = len(labels) - pc.count_distinct(other).as_py()
    if n == 0:
        return 0, []
    counts = pc.value_counts(other)
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0]
    return n, labels.filter(pc.equal(other, twice))[:2].to_pylist()
