"""What bicliques take in their files, bytes and seconds, seen on those of a few roots.

A file has the bicliques of one root after another, which are much alike, and a codec lives of that.
So the bicliques below a root are laid out as a row group, nearly all of them. Bytes a biclique
hardly depend on which roots these are; bytes an id do, since long lists are more alike.

A root is drawn as often as paths of two edges begin at it, of which most have most bicliques: the
end of a random path that comes first in the order of the search. Its bicliques are found in the
graph of its rows alone, so that no large graph is laid out anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.placement.arrays import starts_of
from bicliq.pipeline.settings import PublishSettings, SearchSettings
from bicliq.pipeline.store.biclique_file import layout_of

ROOTS, MOST_ROOTS = 8, 32
"""Roots that are laid out, and how many at most where they have few bicliques."""

ENOUGH = 1 << 14
"""Bicliques that are enough."""

ROW_GROUP = 1 << 15
"""Bicliques from which on a row group is not made larger."""

MOST_EDGES = 1 << 24
"""Of the rows of a root; those of a hub are left out."""

MOST_SECONDS = 1.0
"""Of the processor, of all searches below roots: what thresholds hide can take for ever. By the
clock a busy machine would lay out fewer."""

UNSEEN = 64.0
"""Bytes of a biclique where no root has any: a few ids as they are."""

SEED = 20_260_101

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WritingRate:
    """What writing bicliques takes.

    `bytes`: bytes of Parquet a biclique. `seconds`: seconds of one thread a biclique, the search
    left out.
    """

    bytes: float
    seconds: float


def writing_rate(
    graph: BipartiteGraph, asked: SearchSettings, side: Any, publish: PublishSettings, most: int
) -> WritingRate:
    """Lay some bicliques of a graph out as row groups of a file, and see what one takes.

    Parameters
    ----------
    graph
        On the host.
    asked
        The thresholds.
    side
        The side whose vertices are the roots.
    publish
        How they are to lie in their files.
    most
        So many bicliques are laid out, at most.

    Notes
    -----
    O(n_edges), and the search below the roots, which ends after `MOST_SECONDS`: where that is too
    little, fewer are laid out, and the numbers depend on the machine.
    """
    layout = layout_of(publish, graph.surprise_terms if "surprise" in publish.objectives else None)
    found: list[kernels.BicliqueBatch] = []
    for n, batches in enumerate(_below_roots(graph, asked, side, most // ROOTS), 1):
        found += batches
        if n >= ROOTS and sum(map(len, found)) >= ENOUGH:
            break
    bicliques = sum(map(len, found))
    started = time.process_time()
    size = sum(len(kernels.encode_bicliques(batch, layout).data) for batch in _joined(found))
    seconds = time.process_time() - started
    return WritingRate(size / bicliques, seconds / bicliques) if bicliques else WritingRate(UNSEEN, 0.0)


def _joined(batches: list[kernels.BicliqueBatch]) -> Iterator[kernels.BicliqueBatch]:
    """Batches of as many bicliques as a row group has, where there are so many."""
    waiting: list[kernels.BicliqueBatch] = []
    for place, batch in enumerate(batches, 1):
        waiting.append(batch)
        if sum(map(len, waiting)) >= ROW_GROUP or place == len(batches):
            left = _lists([each.n_left for each in waiting], [each.left for each in waiting])
            right = _lists([each.n_right for each in waiting], [each.right for each in waiting])
            yield kernels.BicliqueBatch(*left, *right, np.concatenate([each.root for each in waiting]))
            waiting = []


def _lists(lengths: list[Int32s], ids: list[Int32s]) -> tuple[Int32s, Int32s]:
    """Offsets and ids of lists one behind the other."""
    return starts_of(np.concatenate(lengths)).astype(np.int32), np.concatenate(ids)


def _below_roots(
    graph: BipartiteGraph, asked: SearchSettings, side: Any, most: int
) -> Iterator[list[kernels.BicliqueBatch]]:
    """Search below some roots, of each so many bicliques at most."""
    transposed = graph.transpose()
    columns, rows = (graph, transposed) if side == "left" else (transposed, graph)
    due = time.process_time() + MOST_SECONDS
    for root in _roots(rows, columns.left_degrees):
        own = columns.indices[columns.indptr[root] : columns.indptr[root + 1]]
        if rows.left_degrees[own].sum() > MOST_EDGES:
            continue
        near, vertices = _neighbourhood(rows, own, columns.left_degrees)
        ids = (vertices, own) if side == "left" else (own, vertices)
        near = near.transpose() if side == "left" else near
        with kernels.stream_maximal_bicliques(
            near.indptr, near.indices, near.n_right, side=side, roots=np.flatnonzero(vertices == root),
            left_ids=ids[0], right_ids=ids[1], min_left=asked.min_left, min_right=asked.min_right,
            min_edges=asked.min_edges, max_bicliques=max(most, 1), until=lambda: time.process_time() > due,
        ) as stream:  # fmt: skip
            yield list(stream)
        if time.process_time() > due:
            return


def _roots(rows: BipartiteGraph, degrees: Int64s) -> Iterator[int]:
    """Draw roots as often as paths of two edges begin at them, each once.

    Of the ends of a path the one of lower degree is the root, as in the order of the search.
    """
    reached = np.cumsum(rows.left_degrees.astype(np.float64) ** 2)
    if not reached.size or not reached[-1]:
        return
    random = Random(SEED)
    seen = set()
    for _ in range(MOST_ROOTS):
        row = np.searchsorted(reached, random.random() * reached[-1], side="right")
        own = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        root = min(map(int, random.choices(own, k=2)), key=lambda vertex: (degrees[vertex], vertex))
        if root not in seen:
            seen.add(root)
            yield root


def _neighbourhood(rows: BipartiteGraph, own: Any, degrees: Int64s) -> tuple[BipartiteGraph, Any]:
    """Return some rows as a graph, its columns in the order of the search, and their numbers."""
    lengths = rows.left_degrees[own]
    starts = starts_of(lengths)
    members = rows.indices[np.repeat(rows.indptr[own] - starts[:-1], lengths) + np.arange(starts[-1])]
    vertices, which = np.unique(members, return_inverse=True)
    order = np.lexsort((vertices, degrees[vertices]))
    places = np.argsort(order)[which]
    ascending = np.lexsort((places, np.repeat(np.arange(own.size), lengths)))
    near = BipartiteGraph(own.size, vertices.size, starts, places[ascending].astype(np.int32))
    return near, vertices[order].astype(np.int32)
