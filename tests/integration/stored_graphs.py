"""Graphs for the tests of the stages, as ingest leaves them in a store, and their bicliques by
force."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.labels import label_hashes, labels_table
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import StoredGraph
from tests.reference.brute_force import maximal_bicliques, passing


def random_graph(n_left=40, n_right=30, density=0.15, seed=0) -> BipartiteGraph:
    left, right = np.nonzero(np.random.default_rng(seed).random((n_left, n_right)) < density)
    return BipartiteGraph.from_edges(left, right, n_left, n_right)


def put_graph(store: Store, graph: BipartiteGraph) -> str:
    """Left labels are strings, right labels integers; both in the order of the dense ids."""
    folder = store.graph(graph.digest)
    left_ids = labels_table(pa.array([left_label(i) for i in range(graph.n_left)], pa.string()))
    right_ids = labels_table(pa.array([right_label(i) for i in range(graph.n_right)], pa.int64()))
    tables = {"edges.parquet": graph.to_batches(), "left_ids.parquet": left_ids, "right_ids.parquet": right_ids}
    sizes = {"n_left": graph.n_left, "n_right": graph.n_right, "n_edges": graph.n_edges}
    stored = tuple(folder.write_table(name, table) for name, table in tables.items())
    folder.write(StoredGraph.at, StoredGraph(stored=stored, **sizes, summary=Summary(), seconds={}))
    return graph.digest


def copied(settings: Settings, folder: Path) -> Settings:
    """The same for a copy of a store: what is finished is made once, for all tests that change
    it."""
    shutil.copytree(settings.store, folder / "store")
    return settings.model_copy(update={"store": str(folder / "store")})


def flip_a_bit(folder: Folder, name: str, at: float = 0.5) -> None:
    """Change one bit of a file of a store, at a share of its length."""
    data = bytearray(folder.fs.cat_file(folder.path_of(name)))
    data[min(int(len(data) * at), len(data) - 1)] ^= 1
    folder.fs.pipe_file(folder.path_of(name), bytes(data))


def left_label(dense: int) -> str:
    return f"left {dense:06}"


def right_label(dense: int) -> int:
    return 1000 + 3 * dense


def brute_force(graph: BipartiteGraph, min_left=1, min_right=1, min_edges=1) -> set[tuple[tuple, tuple]]:
    edges = zip(graph.edge_left.tolist(), graph.indices.tolist(), strict=True)
    found = passing(maximal_bicliques(edges, graph.n_left), min_left, min_right, min_edges)
    return {(tuple(sorted(left)), tuple(sorted(right))) for left, right in found}


def digest_of(bicliques: set[tuple[tuple, tuple]]) -> str:
    """Digest of bicliques of dense ids of a graph that was put into a store."""
    ordered = sorted(bicliques)
    lists, hashes = [], []
    for side, label in ((0, left_label), (1, right_label)):
        ids = np.array([i for b in ordered for i in b[side]], np.int32)
        lists += [np.cumsum([0] + [len(b[side]) for b in ordered]), ids]
        hashes.append(label_hashes(pa.array([label(i) for i in range(int(ids.max(initial=-1)) + 1)])))
    return f"{kernels.set_digest(*lists, *hashes):016x}"


def bicliques_of(table: pa.Table) -> set[tuple[tuple, tuple]]:
    return {(tuple(row["left"]), tuple(row["right"])) for row in table.select(["left", "right"]).to_pylist()}


def streamed(part):
    """The bicliques of a partition or a piece of one, by dense ids."""
    arrays = part.indptr, part.indices, part.n_right
    ids = {name: getattr(part, name) for name in ("left_ids", "right_ids", "left_hashes", "right_hashes")}
    found = set()
    with kernels.stream_maximal_bicliques(*arrays, side=part.side, roots=part.roots, **ids) as stream:
        for batch in stream:
            for i in range(len(batch.left_offsets) - 1):
                left = batch.left[batch.left_offsets[i] : batch.left_offsets[i + 1]].tolist()
                right = batch.right[batch.right_offsets[i] : batch.right_offsets[i + 1]].tolist()
                one = tuple(sorted(left)), tuple(sorted(right))
                assert one not in found
                found.add(one)
    return found
