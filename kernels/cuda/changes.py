"""The CUDA driver of changes: what vanishes in bicliques of a GPU, by `src/enumeration/changes.cu`.

The bicliques of a launch are judged where they lie, while they are copied to the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.contracts import BicliqueBatch
from kernels.cuda.device import current_device, device_errors, streams
from kernels.cuda.layout import SharedEnum, Struct, Values
from kernels.cuda.program import Program
from kernels.cuda.stream import to_host

JUDGE_THREADS = 128
BLOCKS_A_MULTIPROCESSOR = 16


class Verdict(IntEnum):
    """What is known of a biclique: bits; 0: the host must find out."""

    JUDGED = 1
    LEFT_VANISHES = 2
    RIGHT_VANISHES = 4


OF_A_LAUNCH = ("left_offsets", "left", "right_offsets", "right")
TABLES = (
    "left_start", "left_row", "right_start", "right_row", "fresh_left_start", "fresh_left_row", "fresh_right_start",
    "fresh_right_row", "change_left", "change_right", "left_changes", "right_changes",
)  # fmt: skip
"""Arrays that the kernel is told of: the lists of a launch; the graph and its changes."""

CHANGE_TABLES = Struct.of_words(
    "ChangeTables", *OF_A_LAUNCH, "n_bicliques", "left_of", "right_of", "change_of", *TABLES, "min_left", "min_right", "min_edges", "verdicts"
)  # fmt: skip
PROGRAM = Program(
    "enumeration/changes.cu", (CHANGE_TABLES, SharedEnum(Verdict), Values.of(kJudgeThreads=JUDGE_THREADS))
)


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
            self._kernel = PROGRAM.compiled().get_function("judge_changes")
        self._least = dict(least)
        self._blocks = BLOCKS_A_MULTIPROCESSOR * int(cupy.cuda.Device().attributes["MultiProcessorCount"])

    def judge(self, batch: BicliqueBatch, left_of: Any, right_of: Any, change_of: Any) -> tuple[Any, NDArray[np.uint8]]:
        """Bring the bicliques of a launch to the host, with their verdicts.

        Parameters
        ----------
        batch
            Its arrays lie on the device.
        left_of, right_of, change_of
            The vertices that its numbers stand for, and the changes of the left ones.

        Returns
        -------
        tuple of array
            Offsets and ids of the left sides, and of the right ones.
        array of uint8, shape (n_bicliques,)
            A `Verdict` of each.
        """
        import cupy

        beside = streams(current_device()).beside
        with device_errors(), beside:
            lists = {name: getattr(batch, name) for name in OF_A_LAUNCH}
            verdicts = cupy.zeros(len(batch), cupy.uint8)
            arrays = {
                **lists,
                "left_of": cupy.asarray(left_of),
                "right_of": cupy.asarray(right_of),
                "change_of": cupy.asarray(change_of),
                **self._tables,
                "verdicts": verdicts,
            }
            fields = {name: int(array.data.ptr) for name, array in arrays.items()}
            told = cupy.asarray(CHANGE_TABLES.packed({**fields, **self._least, "n_bicliques": len(batch)}))
            if len(batch):
                self._kernel((self._blocks,), (JUDGE_THREADS,), (told,))
            columns = tuple(to_host(array, beside) for array in lists.values())
            found = to_host(verdicts, beside)
            beside.synchronize()
        return columns, found
