"""Generate: a bipartite edge table with the skew of real data, from a seed, as large as the disk.

R-MAT: each edge falls through a matrix that is halved in both directions again and again, into one
of four corners with fixed probabilities. A little noise on each level, the same for all edges,
smooths the staircase that the degrees would otherwise form. All arithmetic is on whole numbers,
drawn from raw bits of PCG64, so a seed gives the same edges on every machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.rings import Ring, ring_edges
from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.store.file_systems import file_system
from bicliq.pipeline.store.folder import COMPRESSION_LEVEL, Folder

CORNERS = (0.57, 0.19, 0.19, 0.05)
"""Graph500's corners: both ends hubs, left only, right only, neither. Degrees are as skewed as
those of web pages."""

NOISE = 0.1
"""Largest relative change of the first corner on a level (Seshadhri, Pinar, Kolda: noisy stochastic
Kronecker graphs)."""

CHUNK_EDGES = 1 << 20
"""Edges drawn at a time, and rows of a row group: 50 MiB of memory for each file that is written,
however many edges there are."""

DRAWS = 4
"""Draws of 16 bits that a number of the generator gives; `CHUNK_EDGES` is a multiple of it."""

FILE_CHUNKS = 32
"""Most chunks of one Parquet file of a folder."""

ODD = 0x9E3779B97F4A7C15
"""Multiplying by an odd number scatters the ids of a side, so that hubs do not lie at its
beginning."""

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Generated:
    """An edge table that was generated.

    Parameters
    ----------
    uri
        The file, or the folder of files.
    files, edges, bytes
        Files, rows (some repeat an edge, as in real tables), and size on the disk.
    rings
        Fraud rings in it.
    seconds
        Duration.
    """

    uri: str
    files: int
    edges: int
    bytes: int
    seconds: float
    rings: int = 0


def generate(
    target: str,
    n_left: int,
    n_right: int,
    n_edges: int,
    seed: int = 0,
    corners: tuple[float, float, float, float] = CORNERS,
    text: bool = False,
    rings: int = 0,
    truth: str | None = None,
) -> Generated:
    """Write a generated edge table with the columns left and right.

    Parameters
    ----------
    target
        Path or fsspec URL: a file that ends in ``.parquet`` or ``.csv``, or a folder, which gets
        Parquet files of at most `FILE_CHUNKS` row groups, as many at a time as there are cores.
    n_left, n_right
        Number of ids of each side; not every id need occur.
    n_edges
        Rows.
    seed
        The same seed and sizes give the same table.
    corners
        Probabilities of the four corners on each level; four equal ones give a table without skew.
    text
        Whether the labels are text (``u12``, ``v7``) instead of numbers.
    rings
        Fraud rings that are hidden in it (`pipeline.graphs.rings`); their edges are rows besides
        `n_edges`, at the end. Popular items, active customers and members that were there before
        are drawn from the first `CHUNK_EDGES` rows.
    truth
        Path or fsspec URL of a CSV file of their members: ring, side, label.

    Returns
    -------
    Generated

    Raises
    ------
    InputError
        If a size or a corner is out of range, or so many rings do not fit.

    Notes
    -----
    O(n_edges log n) time; memory is bounded by `CHUNK_EDGES` and the cores, whatever the size.
    Chakrabarti, Zhan, Faloutsos: R-MAT, a recursive model for graph mining, 2004.

    Examples
    --------
    >>> generate("memory://examples/small.csv", 100, 50, 1000).edges
    1000
    """
    _check(n_left, n_right, n_edges, corners)
    _check_rings(rings, truth)
    started = time.perf_counter()
    drawing = _Drawing(n_left, n_right, n_edges, seed, corners)
    planted = None
    if rings:
        planted = ring_edges(*drawing.chunk(0), n_left, n_right, rings, seed)
        n_edges += planted.left.size

    def batches(chunks: Iterable[int]) -> Iterator[pa.RecordBatch]:
        for i in chunks:
            left, right = drawing.chunk(i) if i < len(drawing) or planted is None else (planted.left, planted.right)
            yield pa.record_batch({"left": _labels(left, "u", text), "right": _labels(right, "v", text)})

    fs, path = file_system(target)
    parent, _, name = path.rstrip("/").rpartition("/")
    chunks = range(len(drawing) + (planted is not None))
    if name.endswith((".parquet", ".csv")):
        sizes = [_write_file(Folder(fs, parent or "."), name, batches(chunks))]
    else:
        folder = Folder(fs, path.rstrip("/"))
        fs.makedirs(folder.path, exist_ok=True)
        parts = [chunks[first : first + FILE_CHUNKS] for first in range(0, len(chunks), FILE_CHUNKS)]
        with ThreadPoolExecutor(kernels.available_threads()) as pool:
            write = [pool.submit(_write_file, folder, f"part-{i:05d}.parquet", batches(p)) for i, p in enumerate(parts)]
            sizes = [written.result() for written in write]
    if planted is not None and truth is not None:
        _write_truth(truth, planted.rings, text)
    return Generated(target, len(sizes), n_edges, sum(sizes), round(time.perf_counter() - started, 6), rings)


def _write_truth(truth: str, rings: list[Ring], text: bool) -> None:
    """Write the members of the rings, a row each."""
    fs, path = file_system(truth)
    parent, _, name = path.rpartition("/")
    batches = (
        pa.record_batch(
            {"ring": np.full(ids.size, number), "side": [side] * ids.size, "label": _labels(ids, prefix, text)}
        )
        for number, ring in enumerate(rings, 1)
        for side, prefix, ids in (("left", "u", ring.left), ("right", "v", ring.right))
    )
    _write_file(Folder(fs, parent or "."), name, batches)


def edges(
    n_left: int, n_right: int, n_edges: int, seed: int = 0, corners: tuple[float, float, float, float] = CORNERS
) -> Iterator[tuple[Int64s, Int64s]]:
    """Draw the edges in chunks: left and right ids, int64, of at most `CHUNK_EDGES` each.

    Examples
    --------
    >>> [left.size for left, _ in edges(10, 10, 5)]
    [5]
    """
    drawing = _Drawing(n_left, n_right, n_edges, seed, corners)
    return (drawing.chunk(i) for i in range(len(drawing)))


@dataclass(frozen=True)
class _Drawing:
    """The edges that a seed gives, in chunks, each of which can be drawn alone."""

    n_left: int
    n_right: int
    n_edges: int
    seed: int
    corners: tuple[float, float, float, float]

    def __len__(self) -> int:
        """Number of chunks."""
        return -(-self.n_edges // CHUNK_EDGES)

    def chunk(self, number: int) -> tuple[Int64s, Int64s]:
        """Draw one chunk."""
        size = min(CHUNK_EDGES, self.n_edges - number * CHUNK_EDGES)
        bits = np.random.PCG64(self.seed)
        left_levels, right_levels = _levels(self.n_left), _levels(self.n_right)
        bounds = [_thresholds(self.corners, int(raw)) for raw in bits.random_raw(max(left_levels, right_levels))]
        bits.advance(number * len(bounds) * (CHUNK_EDGES // DRAWS))
        left, right = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for level, (a, b, c) in enumerate(bounds):
            draw = bits.random_raw(-(-size // DRAWS)).view(np.uint16)[:size]
            lower = draw >= b  # corners, in the order of the draw: hub-hub, hub-other, other-hub, other-other
            if level < left_levels:
                left += left
                left += lower
            if level < right_levels:
                right += right
                right += np.where(lower, draw >= c, draw >= a)
        return _scattered(left, left_levels, self.n_left), _scattered(right, right_levels, self.n_right)


def parse_corners(text: str) -> tuple[float, float, float, float]:
    """Corners from four numbers with commas between them.

    Examples
    --------
    >>> parse_corners("0.4,0.2,0.3,0.1")
    (0.4, 0.2, 0.3, 0.1)
    """
    try:
        a, b, c, d = map(float, text.split(","))
    except ValueError:
        raise InputError(f"corners are {text!r}; give four numbers, as 0.57,0.19,0.19,0.05") from None
    return a, b, c, d


def _check(n_left: int, n_right: int, n_edges: int, corners: tuple[float, ...]) -> None:
    for name, value, most in (("left", n_left, 2**31), ("right", n_right, 2**31), ("edges", n_edges, 2**40)):
        if not 1 <= value < most:
            raise InputError(f"{name} is {value}; it must be at least 1 and below {most}")
    if len(corners) != 4 or min(corners) < 0 or abs(sum(corners) - 1) > 1e-6:
        raise InputError(f"corners are {corners}; give four probabilities that add up to 1, as {CORNERS}")


def _check_rings(rings: int, truth: str | None) -> None:
    if rings < 0:
        raise InputError(f"rings is {rings}; it must be at least 0")
    if truth is not None and not rings:
        raise InputError(f"{truth}: there are no rings whose members could be written; add --rings")
    if truth is not None and not truth.endswith(".csv"):
        raise InputError(f"{truth}: the members of rings are written as CSV; let the name end in .csv")


def _levels(n: int) -> int:
    """Halvings that make a side of at least n ids."""
    return (n - 1).bit_length()


def _thresholds(corners: tuple[float, ...], raw: int) -> tuple[int, int, int]:
    """Bounds of the first three corners on 16 bits, shifted by this level's noise."""
    a, b, c, _ = (round(corner * 2**16) for corner in corners)
    shift = round(a * NOISE * (2 * (raw >> 11) / 2**53 - 1))
    a, b, c = a - shift, b + (shift + 1) // 2, c + shift // 2
    return a, a + b, a + b + c


def _scattered(codes: Int64s, levels: int, n: int) -> Int64s:
    """Scatter codes of so many bits over 0…n-1, each code to one id."""
    mixed = codes.astype(np.uint64) * np.uint64(ODD) & np.uint64((1 << levels) - 1)
    ids: Int64s = (mixed * np.uint64(n) >> np.uint64(levels)).astype(np.int64)
    return ids


def _labels(ids: Int64s, prefix: str, text: bool) -> pa.Array:
    numbers = pa.array(ids)
    return pa.compute.binary_join_element_wise(prefix, numbers.cast(pa.string()), "") if text else numbers


def _write_file(folder: Folder, name: str, batches: Iterator[pa.RecordBatch]) -> int:
    """Write batches as one file that appears whole; returns its bytes."""
    first = next(batches)
    with folder.sink(name) as sink, _writer(sink, first.schema, name) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)
    return sink.bytes


def _writer(sink: Any, schema: pa.Schema, name: str) -> Any:
    if name.endswith(".csv"):
        return pacsv.CSVWriter(sink, schema)
    return pq.ParquetWriter(sink, schema, compression="zstd", compression_level=COMPRESSION_LEVEL, use_dictionary=False)
