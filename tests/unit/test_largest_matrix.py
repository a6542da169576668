"""A root whose bit matrix has 2^32 words is refused: rows are found by offsets of 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bicliq import kernels

ROWS, COLUMNS = 1 << 17, 1 << 20
"""A bit for each of these would take 16 GiB."""


def large_root() -> tuple[tuple[Any, Any, int], int]:
    """A graph whose root has all rows, after columns of two rows each and before one that lacks a
    row."""
    starts = np.append(2 * np.arange(COLUMNS + 1), 2 * COLUMNS + np.array([ROWS, 2 * ROWS - 1]))
    pairs = np.stack([np.arange(COLUMNS) % (ROWS - 1), np.arange(COLUMNS) % (ROWS - 1) + 1], axis=1)
    indices = np.concatenate([pairs.ravel(), np.arange(ROWS), np.arange(1, ROWS)])
    return (starts, indices.astype(np.int32), ROWS), COLUMNS


def test_a_matrix_of_16_gib_is_refused_before_memory_is_taken():
    graph, root = large_root()
    with pytest.raises(kernels.CapacityError, match=r"has 131071 rows and 1048568 columns, 16 GiB, and 16 are"):
        kernels.enumerate_maximal_bicliques(*graph, side="left", roots=np.array([root]))
