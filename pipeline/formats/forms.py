"""Labels in other forms: several in one field, and those that differ in case or Unicode form alone.

Both are told of every table, and done where settings ask for it: on batches, whatever they were
read from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.labels import plain_numbers, tidy
from bicliq.pipeline.formats.problems import DROP_NULLS
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown

SIDES = ("left", "right")

LIST_MARKS = ";|,"
"""What stands between the ids of a field that holds several, nearly always."""

FORMS = ("case", "unicode")

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
        lists: list[list[str | None]] = [[*_items(cell, mark)] for cell in cells.dictionary.to_pylist()]
        codes = pc.fill_null(cells.indices, len(lists))
        lists.append([None])  # a field without a label stays one
        lengths = np.array([len(found) for found in lists], np.int64)
        of_rows = lengths[codes.to_numpy(zero_copy_only=False)]
        parents = np.repeat(np.arange(len(codes)), of_rows)
        labels = pc.list_flatten(pa.array(lists, pa.list_(pa.string())).take(codes))
        batch = _with_rows(source, batch, side, labels, parents)
        counts = {"split_fields": int((of_rows > 1).sum()), "empty_lists": int((of_rows == 0).sum())}
        batch = replace(batch, noted=_sum(batch.noted, counts))
    return batch


def _items(cell: str, mark: str) -> list[str]:
    """The labels of a field: a Python or JSON list, or what stands between marks."""
    text = cell.strip()
    items: Sequence[object] = text.split(mark)
    if text.startswith("[") and text.endswith("]"):
        try:
            items = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner = text[1:-1]
            items = [item.strip().strip("\"'") for item in inner.split(mark if mark in inner else ",")]
    return [label for item in items if (label := str(item).strip())]


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
    lists = [cell for cell in cells if cell.strip().startswith("[") and cell.strip().endswith("]")]
    found = [(mark, [cell for cell in cells if _holds(cell, mark)]) for mark in LIST_MARKS]
    mark, fields = (",", lists) if lists else max(found, key=lambda one: len(one[1]))
    if 2 * len(fields) > len(cells) > 1:
        what = "are lists" if lists else f"hold {mark!r}"
        yield (
            f"{uri}: most fields of column {shown(name)} {what} and are taken for one label each, as {shown(fields[0])};"
            f" take them apart with split = {mark!r}"
        )


def _holds(cell: str, mark: str) -> bool:
    """Whether a mark stands in a field as between ids: a comma before a blank is one of a text."""
    return mark in cell.strip().strip(mark) and (mark != "," or ", " not in cell)


# ---- labels that differ in form alone ------------------------------------------------------------


def folded(labels: pa.Array, forms: str) -> pa.Array:
    r"""Labels in one form: in small letters (case), composed (unicode).

    Examples
    --------
    >>> folded(pa.array(["JAM", "Jose\u0301", "ΟΔΟΣ", "οδος"]), "case,unicode").to_pylist()
    ['jam', 'josé', 'οδοσ', 'οδοσ']
    """
    if "unicode" in forms:
        labels = pc.utf8_normalize(labels, "NFC")
    if "case" in forms:
        labels = pc.utf8_lower(pc.utf8_upper(labels))  # ς and σ have one capital letter
    return labels


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

    Parameters
    ----------
    uri
        The table, for messages.
    sides
        Different labels of each side.

    Returns
    -------
    dict, tuple of str
        How many, by what they differ in, and what is said of them.

    Notes
    -----
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
        for form in FORMS:
            n, pair = _alike(labels, form)
            if n:
                name = f"alike_but_for_{form}"
                counts[name] = counts.get(name, 0) + n
                what = "case" if form == "case" else "Unicode forms"
                are = (
                    f"label of the {side} side is like another"
                    if n == 1
                    else f"labels of the {side} side are like others"
                )
                said.append(
                    f"{uri}: {n:,} {are} but for {what}, as {pair[0]!a} and {pair[1]!a}; unite them with fold = '{form}'"
                )
    return counts, tuple(said)


def _alike(labels: pa.Array, form: str) -> tuple[int, list[str]]:
    if not pa.types.is_string(labels.type) or len(labels) < 2:
        return 0, []
    data = np.frombuffer(labels.buffers()[2], np.uint8)
    is_ascii = not len(data) or int(data.max()) < FIRST_OTHER
    if is_ascii and (form == "unicode" or not ((data >= FIRST_CAPITAL) & (data <= LAST_CAPITAL)).any()):
        return 0, []
    other = pc.ascii_lower(labels) if is_ascii else folded(labels, form)
    n = len(labels) - pc.count_distinct(other).as_py()
    if n == 0:
        return 0, []
    counts = pc.value_counts(other)
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0]
    return n, labels.filter(pc.equal(other, twice))[:2].to_pylist()
