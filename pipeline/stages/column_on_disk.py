"""Columns in files without names, for what outgrows its share of memory.

Nothing is left of such a file when the process ends, however it ends. They lie in the folder that
TMPDIR names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.store.file_systems import storage_errors


class ColumnOnDisk:
    """A column of numbers in a file without a name, written at its end and read from its beginning.

    `kind`: type of the numbers.

    Examples
    --------
    >>> column = ColumnOnDisk(np.int32)
    >>> column.append(np.arange(5))
    >>> len(column), [block.tolist() for block in column.blocks(3)]
    (5, [[0, 1, 2], [3, 4]])
    """

    def __init__(self, kind: Any) -> None:
        self.kind = np.dtype(kind)
        self._size = 0
        self._place = tempfile.gettempdir()
        with storage_errors("write", self._place):
            self._file = tempfile.TemporaryFile(prefix="bicliq-")  # noqa: SIM115  it goes with this object

    def __len__(self) -> int:
        """Number of numbers."""
        return self._size

    def append(self, values: npt.NDArray[Any]) -> None:
        """Write some numbers more."""
        with storage_errors("write", self._place):
            self._file.seek(self._size * self.kind.itemsize)
            self._file.write(np.ascontiguousarray(values, self.kind).view(np.uint8).data)
        self._size += values.size

    def read(self, first: int, n: int) -> npt.NDArray[Any]:
        """Read some numbers: fewer than `n` where the column ends."""
        found = np.empty(max(min(n, self._size - first), 0), self.kind)
        with storage_errors("read", self._place):
            self._file.seek(first * self.kind.itemsize)
            self._file.readinto(found.view(np.uint8).data)
        return found

    def blocks(self, n: int) -> Iterator[npt.NDArray[Any]]:
        """Read all numbers, `n` at a time."""
        return (self.read(first, n) for first in range(0, self._size, n))


class LabelsOnDisk:
    """Labels in a file without a name.

    `labels`: Arrow array of int64 or string.

    Examples
    --------
    >>> LabelsOnDisk(pa.array(["jam", "tea"])).read().to_pylist()
    ['jam', 'tea']
    """

    def __init__(self, labels: pa.Array) -> None:
        self._place = tempfile.gettempdir()
        batch = pa.record_batch({"id": labels})
        with storage_errors("write", self._place):
            self._file = tempfile.TemporaryFile(prefix="bicliq-")  # noqa: SIM115  it goes with this object
            with pa.ipc.new_stream(self._file, batch.schema) as stream:
                stream.write_batch(batch)

    def read(self) -> pa.Array:
        """Read the labels."""
        with storage_errors("read", self._place):
            self._file.seek(0)
            return pa.ipc.open_stream(self._file).read_next_batch()["id"]
