"""Columns of Arrow as arrays of NumPy and back, in the same memory.

`pa.array`, `pa.table` of arrays, `to_numpy`, `empty_table` and `from_pylist` import pandas at their
first call, wherever it is installed: a quarter of a second of CPU time, as long as a run of a small
table takes without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.extras import needs


def column_of(values: np.ndarray[Any, Any]) -> pa.Array:
    """A column of numbers or truth values, without nulls.

    `values`: one dimension; whole or floating-point numbers in the memory of the column, or bools,
    which are packed to bits. The column has the same length and type.

    Examples
    --------
    >>> column_of(np.array([3, 1], np.int32)).type
    DataType(int32)
    >>> column_of(np.array([True, False])).to_pylist()
    [True, False]
    """
    flat = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(flat)])


def empty_table(schema: pa.Schema) -> pa.Table:
    """A table of these columns without rows."""
    return pa.Table.from_batches([], schema)


def words_column(words: Sequence[str]) -> pa.Array:
    """A column of text.

    Examples
    --------
    >>> words_column(["left", "right"]).to_pylist()
    ['left', 'right']
    """
    texts = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])


def values_of(column: pa.Array | pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """The numbers or truth values of a column.

    `column`: whole or floating-point numbers or bools, without nulls. Returns numbers of one chunk
    in the memory of the column, not to be written; else a copy. Raises TypeError a value is null,
    or of another kind.

    Examples
    --------
    >>> values_of(pa.chunked_array([[3, 1], [2]])).tolist()
    [3, 1, 2]
    """
    if isinstance(column, pa.ChunkedArray):
        parts = [values_of(chunk) for chunk in column.chunks]
        return np.concatenate(parts) if len(parts) > 1 else parts[0] if parts else np.empty(0, _dtype(column.type))
    if column.null_count:
        raise TypeError(f"{column.null_count} of {len(column)} values are null")
    if pa.types.is_boolean(column.type):
        return values_of(column.cast(pa.uint8())).view(np.bool_)
    dtype = _dtype(column.type)
    if not len(column):
        return np.empty(0, dtype)
    values = np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * dtype.itemsize)
    values.flags.writeable = False
    return values


def _dtype(kind: pa.DataType) -> np.dtype[Any]:
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TypeError(f"values of {kind} are not numbers")
    dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return dtype


def pandas_frame(table: pa.Table) -> Any:
    """Return a table as a pandas DataFrame; lists are Arrow lists.

    Examples
    --------
    >>> pandas_frame(pa.table({"left": [["ann", "bob"]]})).dtypes.astype(str).tolist()
    ['list<item: string>[pyarrow]']
    """
    with needs("frames", "to_pandas"):
        import pandas as pd

    return table.to_pandas(types_mapper=lambda kind: pd.ArrowDtype(kind) if pa.types.is_list(kind) else None)


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
