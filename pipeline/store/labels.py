"""Labels of the vertices of a graph: their dictionaries, and the hashes that digests are made of.

The digest of a set of bicliques is made of the hashes of labels, not of dense ids: so it is the
same whatever the format of the table, the order of the ids, or the version of a growing graph. A
whole number hashes to itself (its mixing is left to `kernels.set_digest`), whether it came as a
number or as text that is written like one; any other text to the xxh3-64 of its UTF-8 bytes.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from bicliq.pipeline.columns import column_of, folded, values_of
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.store.records import StoredGraph
from bicliq.pipeline.words import shown

Hashes = npt.NDArray[np.uint64]

NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"
"""Text that is written as a whole number would be, of at most 18 digits, which fit 64 bits."""

WHOLE = re.compile("0|-?[1-9][0-9]{0,18}", re.ASCII)
"""How a whole number is written as a label."""

NEAREST, COMPARED = 3, 10_000
"""Labels that a message names in place of a mistyped one, and those that it is compared with."""

LARGEST_NUMBER = 10**18 - 1

BLOCK = 1 << 16
"""Labels that are Python objects at a time."""


def label_hashes(labels: pa.Array) -> Hashes:
    """Return the 64-bit hash of each label.

    `labels`: Arrow array of int64 or string.

    O(labels); numbers are hashed at once, other text one by one (some 0.3 s a million).

    Examples
    --------
    >>> label_hashes(pa.array([7, 12])).tolist() == label_hashes(pa.array(["7", "12"])).tolist()
    True
    >>> int(label_hashes(pa.array(["07"]))[0]) == 7
    False
    """
    if pa.types.is_integer(labels.type):
        numbers = values_of(labels).astype(np.int64)
        small = (numbers <= LARGEST_NUMBER) & (numbers >= -LARGEST_NUMBER)
        values = numbers
    else:
        small = values_of(pc.match_substring_regex(labels, NUMBER))
        values = np.zeros(len(labels), np.int64)
        values[small] = values_of(pc.cast(labels.filter(column_of(small)), pa.int64()))
    hashes: Hashes = values.view(np.uint64).copy()
    others = labels.filter(column_of(~small))
    blocks = (others.slice(first, BLOCK).to_pylist() for first in range(0, len(others), BLOCK))
    one_by_one = (xxhash.xxh3_64_intdigest(str(label).encode()) for block in blocks for label in block)
    hashes[~small] = np.fromiter(one_by_one, np.uint64, len(others))
    return hashes


def labels_table(labels: pa.Array) -> pa.Table:
    """Return the dictionary of a side as it is stored: labels and their hashes by dense id."""
    return pa.table({"id": labels, "hash": column_of(label_hashes(labels))})


def read_labels(folder: GraphFolder, record: StoredGraph | None = None) -> tuple[pa.Array, pa.Array]:
    """Read the labels of both sides of a graph, by dense id; `record`: its graph.json, if known."""
    left, right = (column.combine_chunks() for column in _columns(folder, "id", record))
    return left, right


def read_hashes(folder: GraphFolder) -> tuple[Hashes, Hashes]:
    """Read the hashes of the labels of both sides of a graph, by dense id."""
    left, right = (values_of(column) for column in _columns(folder, "hash"))
    return left, right


def place_of(label: object, labels: pa.Array, fold: str | None = None) -> int | None:
    """Find a vertex by its name: only what is written as its label names it.

    Or what is united with it, where labels were folded.

    `label`: text, or anything that is written as a label. `labels`: int64 or string, by dense id.
    `fold`: the forms that were united, as in `IngestSettings`.

    Examples
    --------
    >>> place_of("ANN", pa.array(["ann", "bob"]), "case"), place_of("ANN", pa.array(["ann", "bob"]))
    (0, None)
    >>> numbers = pa.array([5, 7])
    >>> [place_of(label, numbers) for label in (7, "7", "007", " 7", "+7", "7_0")]
    [1, 1, None, None, None, None]
    """
    text: Any = str(label)
    if pa.types.is_integer(labels.type):
        if not WHOLE.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
            return None
        text = int(text)
    elif fold is not None:
        text = folded(pa.array([text]), fold)[0].as_py()
    place = pc.index(labels, pa.scalar(text, labels.type)).as_py()
    return None if place < 0 else int(place)


def nearest(label: object, *sides: pa.Array) -> str:
    """Say which labels are most like a mistyped one, as the end of a sentence.

    Labels of about its length are compared, `COMPARED` at most, those first that begin as it does.

    Examples
    --------
    >>> nearest("user3", pa.array(["user03", "user07", "item1"]))
    "; the nearest are 'user03', 'user07'"
    >>> nearest("zz", pa.array([1, 2]))
    ''
    """
    text, found = str(label), []
    for labels in sides:
        words = pc.cast(labels, pa.string())
        lengths = pc.utf8_length(words)
        words = words.filter(pc.less_equal(pc.abs(pc.subtract(lengths, len(text))), max(2, len(text) // 3)))
        alike = words.filter(pc.starts_with(words, text[:1], ignore_case=True))
        found += [*alike.slice(0, COMPARED).to_pylist(), *words.slice(0, COMPARED).to_pylist()]
    near = get_close_matches(text, dict.fromkeys(found), NEAREST)
    if not near:
        return ""
    return f"; the nearest {'is' if len(near) == 1 else 'are'} {', '.join(map(shown, near))}"


def _columns(folder: GraphFolder, name: str, record: StoredGraph | None = None) -> list[pa.ChunkedArray]:
    """Read a column of both dictionaries; those of a graph that is not whole follow its base's."""
    record = record or folder.record()
    base = folder.base(record)
    before = [None, None] if base is None else _columns(base, name)
    found = []
    for side, known in zip(("left", "right"), before, strict=True):
        file = record.if_written(f"{side}_ids.parquet")
        column = known if file is None else folder.read_table(file, [name])[name]
        if column is None:
            raise DamageError(f"{folder.uri}: its record names no labels of the {side} side; {MEND}")
        if known is not None and file is not None:
            column = pa.chunked_array([*known.cast(column.type).chunks, *column.chunks], column.type)
        found.append(column)
    return found
