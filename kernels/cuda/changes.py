"""The CUDA driver of changes: what vanishes in bicliques of a GPU, by `src/changes/changes.cu`.

The bicliques of a launch are judged where they lie, and what they change is written there, as lists
that only have to be copied to the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from bicliq.kernels.contracts import BicliqueBatch
from bicliq.kernels.cuda.device import current_device, device_errors, multiprocessors, streams
from bicliq.kernels.cuda.program import Program, SharedEnum, Struct, Values
from bicliq.kernels.cuda.stream import to_host

JUDGE_THREADS = 128
BLOCKS_A_MULTIPROCESSOR = 16


class Kind(IntEnum):
    """What a biclique adds lists to: what appeared, what vanished, what the host must settle."""

    APPEARED = 0
    VANISHED = 1
    UNSETTLED = 2


OF_A_LAUNCH = ("left_offsets", "left", "right_offsets", "right")
TABLES = (
    "left_start", "left_row", "right_start", "right_row", "fresh_left_start", "fresh_left_row", "fresh_right_start",
    "fresh_right_row", "change_left", "change_right", "left_changes", "right_changes",
)  # fmt: skip
"""Arrays that the kernels are told of: the lists of a launch; the graph and its changes."""

CHANGE_TABLES = Struct.of_words(
    "ChangeTables", *OF_A_LAUNCH, "n_bicliques", "left_of", "right_of", "change_of", *TABLES, "min_left", "min_right", "min_edges",
    "verdicts", "sizes",
)  # fmt: skip
CHANGE_LISTS = Struct("ChangeLists", np.dtype([("ends", "u8"), ("columns", "u8", (len(Kind) * len(OF_A_LAUNCH),))]))
PROGRAM = Program(
    "changes/changes.cu",
    (CHANGE_TABLES, CHANGE_LISTS, SharedEnum(Kind), Values.of(kJudgeThreads=JUDGE_THREADS, kKinds=len(Kind))),
)

Columns = tuple[Any, Any, Any, Any]
"""Offsets and ids of the left sides of bicliques, and of the right ones."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What the bicliques of a launch change.

    Parameters
    ----------
    unsettled : tuple of array
        Bicliques that the host must settle, as they came.
    appeared, vanished : tuple of array
        Bicliques of the graph, on the device; nothing else leaves what vanished here.
    """

    unsettled: Columns
    appeared: Columns
    vanished: Columns

    def changes(self) -> tuple[Columns, Columns]:
        """What appeared and what vanished, on the host."""
        with device_errors():
            return _on_host(self.appeared), _on_host(self.vanished)


class CudaJudge:
    """Judges the bicliques of the subgraphs around new edges, on the current GPU.

    Parameters
    ----------
    tables
        The graph and its changes (`TABLES`).
    least
        min_left, min_right and min_edges.
    """

    def __init__(self, tables: Mapping[str, Any], least: Mapping[str, int]) -> None:
        import cupy

        with device_errors(), streams(current_device()).beside:
            self._tables = {name: cupy.asarray(tables[name]) for name in TABLES}
            self._module = PROGRAM.compiled()
        self._least = dict(least)
        self._blocks = BLOCKS_A_MULTIPROCESSOR * multiprocessors()

    def judge(self, batch: BicliqueBatch, left_of: Any, right_of: Any, change_of: Any) -> Judged:
        """Find what the bicliques of a launch change.

        Parameters
        ----------
        batch
            Its arrays lie on the device.
        left_of, right_of, change_of
            The vertices that its numbers stand for, and the changes of the left ones.
        """
        import cupy

        n = len(batch)
        with device_errors(), streams(current_device()).beside:
            arrays = {
                **{name: getattr(batch, name) for name in OF_A_LAUNCH},
                "left_of": cupy.asarray(left_of),
                "right_of": cupy.asarray(right_of),
                "change_of": cupy.asarray(change_of),
                **self._tables,
                "verdicts": cupy.empty(n, cupy.uint8),
                "sizes": cupy.empty(3 * len(Kind) * n, cupy.int32),
            }
            told = cupy.asarray(CHANGE_TABLES.packed({**arrays, **self._least, "n_bicliques": n}))
            self._launch("judge_changes", told)
            ends = cupy.cumsum(arrays["sizes"], dtype=cupy.int64)
            columns = [_columns(cupy, *sizes) for sizes in _totals(ends, n)]
            to = tuple(array for some in columns for array in some)
            self._launch("write_changes", told, CHANGE_LISTS.packed({"ends": ends, "columns": to}))
            left_offsets, left, right_offsets, right = _on_host(columns[Kind.UNSETTLED])
        narrow = left_offsets.astype(np.int32), left, right_offsets.astype(np.int32), right
        return Judged(narrow, columns[Kind.APPEARED], columns[Kind.VANISHED])

    def _launch(self, kernel: str, told: Any, *structs: Any) -> None:
        import cupy

        arguments = (told, *map(cupy.asarray, structs))
        self._module.get_function(kernel)((self._blocks,), (JUDGE_THREADS,), arguments)


def empty_on_host(shape: int, dtype: Any) -> Any:
    """An array in memory that CuPy keeps for the next one (`to_host`)."""
    import cupyx

    return cupyx.empty_pinned(shape, dtype) if shape else np.empty(shape, dtype)


def _totals(ends: Any, n: int) -> list[tuple[int, int, int]]:
    """Of each kind bicliques, left ids and right ids, from their sizes, added up."""
    rows = np.diff(ends[n - 1 :: n].get(), prepend=0).tolist()
    return [(rows[3 * kind], rows[3 * kind + 1], rows[3 * kind + 2]) for kind in Kind]


def _columns(cupy: Any, n: int, n_left: int, n_right: int) -> Columns:
    left_offsets, right_offsets = (cupy.zeros(n + 1, cupy.int64) for _ in range(2))
    return left_offsets, cupy.empty(n_left, cupy.int32), right_offsets, cupy.empty(n_right, cupy.int32)


def _on_host(columns: Columns) -> Columns:
    beside = streams(current_device()).beside
    left_offsets, left, right_offsets, right = (to_host(array, beside) for array in columns)
    beside.synchronize()
    return left_offsets, left, right_offsets, right
