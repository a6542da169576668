"""Undirected graphs: files of edges in one set of vertices, or one side of a bipartite table, as a symmetric CSR.

DIMACS (``.clq``, ``.col``) and MatrixMarket files are read here, every other format by the readers of edge tables,
whose two columns then draw from one set of labels. The direction of an edge, its repetition and self-loops mean
nothing to a clique: they are counted and dropped.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import kernels
from pipeline.errors import InputError
from pipeline.formats import bare_name, open_bytes
from pipeline.formats.problems import int64_of
from pipeline.formats.words import shown
from pipeline.graphs.bipartite import BipartiteGraph, read_graph
from pipeline.graphs.projection import frequent, symmetric_csr, tied_pairs
from pipeline.placement.arrays import library_of
from pipeline.placement.device import device_errors_of, is_loaded, to_device, why_no_data_on_device
from pipeline.placement.fallback import failed, search_on
from pipeline.settings import IngestSettings
from pipeline.stages.ingest import EdgeTable, read_edge_table
from pipeline.store.layout import Store

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
DIMACS_SUFFIXES = (".clq", ".col", ".dimacs")

TIES, TIES_LOADED = 3 << 25, 1 << 23
"""Expected edges of a projection from which on a GPU is worth it, with the cliques that follow: where its libraries are yet to be loaded, and where
they are (docs/methods.md)."""


@dataclass(frozen=True, eq=False)
class UndirectedGraph:
    """An undirected graph with the labels of its vertices.

    Parameters
    ----------
    indptr, indices
        Symmetric CSR, rows ascending, without self-loops; on the host or on a GPU.
    ids
        Label of each vertex (int64 or string), ascending.
    self_loops, repeated
        Rows that were dropped: an edge of a vertex with itself, and an edge given before, in either direction.
    """

    indptr: Int64s
    indices: Int32s
    ids: pa.Array
    self_loops: int = 0
    repeated: int = 0

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.indices) // 2

    @classmethod
    def from_edges(cls, u: npt.ArrayLike, v: npt.ArrayLike, ids: pa.Array) -> UndirectedGraph:
        """Build a graph from pairs of vertex numbers in any order and direction, where their arrays lie.

        Examples
        --------
        >>> graph = UndirectedGraph.from_edges([0, 1, 1], [1, 0, 1], pa.array(["a", "b"]))
        >>> graph.n_edges, graph.repeated, graph.self_loops
        (1, 1, 1)
        """
        xp = library_of(u)
        us, vs = xp.asarray(u, xp.int64), xp.asarray(v, xp.int64)
        apart = us != vs
        pairs = frequent((xp.minimum(us, vs) << 32 | xp.maximum(us, vs))[apart], 1)
        loops = us.size - int(apart.sum())
        return cls(*symmetric_csr(pairs, len(ids)), ids, loops, us.size - loops - pairs.size)


def read_undirected(
    source: str | os.PathLike[str], settings: IngestSettings | None = None, backend: str = "cpu"
) -> UndirectedGraph:
    """Read a file of edges as an undirected graph.

    Parameters
    ----------
    source
        Path or fsspec URL: DIMACS, MatrixMarket (square), or any edge table that `read_edge_table` reads.
    settings
        Format, columns and filters of an edge table.
    backend
        "cpu"; "cuda": an edge table is read on the GPU, and the graph's arrays lie there; or "auto": the GPU for a large table. DIMACS and
        MatrixMarket files stay on the host.

    Raises
    ------
    InputError
        At anything wrong in the file: what, and in which line.
    BackendError
        If "cuda" cannot run here.
    """
    settings = settings or IngestSettings()
    source = os.fspath(source)
    name = bare_name(source)
    if settings.format == "auto" and name.endswith(DIMACS_SUFFIXES):
        return _numbered(source, _dimacs(source))
    if settings.format == "mtx" or (settings.format == "auto" and name.endswith(".mtx")):
        return _numbered(source, _matrix_market(source))
    settings = settings.model_copy(update={"sides": settings.sides or "source-target"})
    table = read_edge_table(source, settings, backend=backend)
    left_ids, right_ids = table.left_ids, table.right_ids
    if left_ids.type != right_ids.type:
        left_ids, right_ids = left_ids.cast(pa.string()), right_ids.cast(pa.string())
    ids = pc.unique(pa.chunked_array([left_ids, right_ids]))
    ids = ids.take(pc.sort_indices(ids))
    left = pc.index_in(left_ids, value_set=ids).to_numpy()
    right = pc.index_in(right_ids, value_set=ids).to_numpy()
    return UndirectedGraph.from_edges(*_where_read(table, left[table.left], right[table.right]), ids)


def project_table(
    source: str,
    side: Literal["left", "right"],
    min_shared: int,
    settings: IngestSettings | None = None,
    store: Store | None = None,
    threads: int = 1,
    backend: str = "cpu",
) -> UndirectedGraph:
    """Tie the vertices of one side of a bipartite table that share at least so many of the other side.

    Parameters
    ----------
    source
        Path or fsspec URL of an edge table; with a store, the name of one of its graphs, or how it begins.
    side, min_shared
        The side to keep, and how many common neighbours make an edge.
    settings
        How a table is read.
    store
        Where `source` is a graph.
    threads
        Threads of the projection on the CPU; 0 takes all cores.
    backend
        "cpu"; "cuda": the table is read and projected on the GPU, where the arrays of the graph then lie; or "auto": the GPU where it is worth
        its start, for a large table or for a small one with many paths of two edges, and the CPU where the GPU fails.

    Raises
    ------
    InputError
        Where the table is wrong, or the graph is not in the store.
    BackendError
        If "cuda" cannot run here, or has too little memory.
    """
    graph, ids = read_sides(source, side, settings, store, backend)
    chosen = _where_to_project(graph, side, min_shared, backend)
    return search_on(backend, chosen, lambda where: project(graph.on(where), ids, side, min_shared, threads))


def read_sides(
    source: str,
    side: Literal["left", "right"],
    settings: IngestSettings | None = None,
    store: Store | None = None,
    backend: str = "cpu",
) -> tuple[BipartiteGraph, pa.Array]:
    """Read a bipartite graph and the labels of one side; the parameters are those of `project_table`."""
    if store is not None:
        folder = store.graph(store.find_graph(source))
        return read_graph(folder, backend), folder.read_table(f"{side}_ids.parquet")["id"].combine_chunks()
    table = read_edge_table(source, settings, backend=backend)
    ends = _where_read(table, table.left, table.right)
    graph = BipartiteGraph.from_edges(*ends, len(table.left_ids), len(table.right_ids))
    return graph, table.left_ids if side == "left" else table.right_ids


def project(
    graph: BipartiteGraph, ids: pa.Array, side: Literal["left", "right"], min_shared: int, threads: int = 1
) -> UndirectedGraph:
    """Project one side of a bipartite graph, whose labels are given, where its arrays lie: by the kernel, or on the GPU."""
    if library_of(graph.indices) is np:
        csr = kernels.project_one_mode(
            graph.indptr, graph.indices, graph.n_right, side=side, min_shared=min_shared, threads=threads
        )
        return UndirectedGraph(*csr, ids)
    with device_errors_of(graph.indices):
        rows = graph if side == "left" else graph.transpose()
        return UndirectedGraph(*symmetric_csr(tied_pairs(rows, min_shared), rows.n_left), ids)


def _where_to_project(graph: BipartiteGraph, side: Literal["left", "right"], min_shared: int, asked: str) -> str:
    """Where the graph lies; or, with "auto", on a GPU, where there is work for one: of the pairs that share something, about one in k² shares k."""
    if library_of(graph.indices) is not np:
        return "cuda"
    if asked != "auto" or failed() or why_no_data_on_device() is not None:
        return "cpu"
    degrees = graph.right_degrees if side == "left" else graph.left_degrees
    ties = int((degrees * (degrees - 1) // 2).sum()) // min_shared**2
    return "cuda" if ties >= (TIES_LOADED if is_loaded() else TIES) else "cpu"


def _where_read(table: EdgeTable, left: Any, right: Any) -> tuple[Any, Any]:
    """Ends of a table's edges on the GPU, where that was chosen for it (be it that the CPU had to read it), else as they are."""
    return (left, right) if table.summary["backend"] == "cpu" else (to_device(left), to_device(right))


# ---- files that number their vertices from 1 ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Numbered:
    n: int
    edges: Int64s
    """int64, shape (rows, 2), from 1."""


def _numbered(source: str, file: _Numbered) -> UndirectedGraph:
    ids = pa.array(np.arange(1, file.n + 1, dtype=np.int64))
    return UndirectedGraph.from_edges(file.edges[:, 0] - 1, file.edges[:, 1] - 1, ids)


def _lines(source: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines that are not blank, as words."""
    try:
        with open_bytes(source) as file, io.TextIOWrapper(file, "utf-8") as text:
            for number, line in enumerate(text, 1):
                if words := line.split():
                    yield number, words
    except FileNotFoundError as error:
        raise InputError(f"{source}: no such file; check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}: is no text ({error.reason}); a DIMACS or MatrixMarket file is plain text"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{source}: cannot be read: {error}; check the file") from error


def _dimacs(source: str) -> _Numbered:
    n, declared = -1, 0
    edges: list[tuple[int, int]] = []
    for number, words in _lines(source):
        if words[0] == "p":
            if n >= 0:
                raise InputError(f"{source}, line {number}: a second 'p' line; a file holds one graph")
            sizes = [_whole(word) for word in words[2:]]
            if len(words) != 4 or sizes[0] is None or sizes[1] is None:
                raise InputError(f"{source}, line {number}: {shown(' '.join(words))} must read 'p edge VERTICES EDGES'")
            n, declared = sizes[0], sizes[1]
        elif words[0] == "e":
            if n < 0:
                raise InputError(f"{source}, line {number}: an edge before the line 'p edge VERTICES EDGES'")
            edges.append(_pair(source, number, words[1:3], n))
        elif words[0] not in ("c", "n", "d", "v", "x"):
            raise InputError(f"{source}, line {number}: {words[0][:20]!r} begins no DIMACS line (c, p or e)")
    if n < 0:
        raise InputError(f"{source}: holds no line 'p edge VERTICES EDGES'; a DIMACS file must declare its size")
    if declared not in (len(edges), 2 * len(edges)):
        raise InputError(f"{source}: declares {declared} edges, but holds {len(edges)}; is the file cut off?")
    return _Numbered(n, np.array(edges, np.int64).reshape(-1, 2))


def _matrix_market(source: str) -> _Numbered:
    lines = _lines(source)
    number, words = next(lines, (1, []))
    if [word.lower() for word in words[:3]] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise InputError(f"{source}, line {number}: must begin with '%%MatrixMarket matrix coordinate …'")
    size: tuple[int, int] | None = None
    edges: list[tuple[int, int]] = []
    for number, words in lines:
        if words[0].startswith("%"):
            continue
        if size is None:
            sizes = [_whole(word) for word in words]
            if len(words) != 3 or None in sizes:
                raise InputError(f"{source}, line {number}: must be three numbers: rows, columns, entries")
            rows, columns, entries = (size or 0 for size in sizes)
            if rows != columns:
                raise InputError(
                    f"{source}, line {number}: {rows} rows and {columns} columns are two sets of vertices;"
                    " give a square matrix, or project a side with --project left or right"
                )
            size = rows, entries
            continue
        edges.append(_pair(source, number, words[:2], size[0]))
    if size is None:
        raise InputError(f"{source}: holds no line of sizes: rows, columns, entries")
    if len(edges) != size[1]:
        raise InputError(f"{source}: declares {size[1]} entries, but holds {len(edges)}; is the file cut off?")
    return _Numbered(size[0], np.array(edges, np.int64).reshape(-1, 2))


def _pair(source: str, number: int, words: list[str], n: int) -> tuple[int, int]:
    ends = [_whole(word) for word in words]
    if len(ends) < 2 or ends[0] is None or ends[1] is None:
        raise InputError(f"{source}, line {number}: {shown(' '.join(words))} must be two vertex numbers")
    u, v = ends[0], ends[1]
    if not (1 <= u <= n and 1 <= v <= n):
        raise InputError(f"{source}, line {number}: edge {u} {v} is outside the vertices 1…{n} that the file declares")
    return u, v


def _whole(word: str) -> int | None:
    """A whole number from 0 in ASCII digits, or None where a word is none or does not fit 64 bits."""
    return int64_of(word) if word.isascii() and word.isdigit() else None
