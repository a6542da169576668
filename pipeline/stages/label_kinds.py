"""Whether ids of a side are numbers or text: one thing in a table, and in all of its versions.

Labels are what is written: 1 and 1.0 are two. But tools that hold a column with gaps as floating
point numbers write 1.0 for 1, so a side that has both spellings was split by accident: it is
refused, with the row, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import values_of, words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import EdgeSource, read_batches
from bicliq.pipeline.formats.labels import plain_numbers
from bicliq.pipeline.store.labels import NUMBER
from bicliq.pipeline.words import shown

FLOAT = r"^-?[0-9]+\.0+$"
"""Text that is written as whole numbers are among floating point ones."""

AS_NUMBERS = "write whole numbers, as pandas does with .astype('Int64')"


def refuse_mixed(opened: EdgeSource, ids: tuple[pa.Array, pa.Array]) -> None:
    """Refuse a side whose ids are all numbers, some of them written as 1, and some as 1.0.

    Raises InputError with the first row that has one like 1.0.
    """
    for side, labels in zip(("left", "right"), ids, strict=True):
        if side in opened.text_sides or not pa.types.is_string(labels.type) or not _mixed(labels):
            continue
        where, label = _first(opened, side, lambda column: pc.match_substring_regex(column, FLOAT))
        raise InputError(
            f"{where}: the {side} id {shown(label)} is written with a point, and others of its side are not, so the same"
            f" vertex may be there twice; {AS_NUMBERS}, or take them as they are with ids = 'text' (an update: in another store)"
        )


def in_kind(opened: EdgeSource, side: str, labels: pa.Array, kind: str) -> pa.Array:
    """Return the labels of a table as the kind, "numbers" or "text", that the run of it has.

    Raises InputError where the run has numbers, with the first row that has none.
    """
    if kind != "numbers" or pa.types.is_integer(labels.type):
        return labels
    numbers = plain_numbers(labels)
    if numbers is not None:
        return numbers
    where, label = _first(opened, side, lambda column: pc.invert(pc.match_substring_regex(column, NUMBER)))
    raise InputError(
        f"{where}: the {side} id {shown(label)} is no whole number, as all {side} ids of the run are; {AS_NUMBERS}, mend"
        " or leave out what is no number, or begin another store with ids = 'text'"
    )


def refuse_twins(side: str, known: pa.Array, new: pa.Array) -> None:
    """Refuse new ids of a side of text that are written otherwise than the same number there is."""
    if not pa.types.is_string(known.type) or not len(new):
        return
    new = pc.cast(new, pa.string())
    pointed, plain = pc.match_substring_regex(new, FLOAT), pc.match_substring_regex(new, NUMBER)
    without = pc.replace_substring_regex(new, r"\.0+$", "")
    (zero, point), none = words_column(["0", "."]), pa.nulls(1, pa.string())[0]  # others load pandas
    twins = pc.if_else(pointed, without, pc.if_else(plain, pc.binary_join_element_wise(new, zero, point), none))
    among = np.flatnonzero(values_of(pc.is_in(twins, value_set=known, skip_nulls=True)))
    if len(among):
        there = int(among[0])
        raise InputError(
            f"the {side} id {shown(new[there].as_py())} of this table is new, but the run has"
            f" {shown(twins[there].as_py())}, which is the same number written otherwise; write it as the run has it"
        )


def _mixed(labels: pa.Array) -> bool:
    """Whether all are numbers, of which some are written as floating point ones."""
    for part in (labels.slice(0, 1000), labels):  # most sides of text show soon what they are
        pointed = pc.match_substring_regex(part, FLOAT)
        if not pc.all(pc.or_(pointed, pc.match_substring_regex(part, NUMBER))).as_py():
            return False
    some = pc.sum(pointed).as_py() or 0
    return 0 < some < len(labels)


def _first(opened: EdgeSource, side: str, wrong: Callable[[pa.Array], pa.Array]) -> tuple[str, str]:
    """Read a table again for the first label of which something holds; returns where, and it."""
    for batch in read_batches(opened):
        column = batch.edges[side]
        if pa.types.is_string(column.type) and (row := pc.index(wrong(column), True).as_py()) >= 0:
            return batch.place(row), str(column[row])
    return opened.uri, ""
