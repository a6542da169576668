"""What `make sanitize-gpu` runs below NVIDIA's checkers: a few small graphs on few warps, counted,
digested, written and encoded, what some of their edges change, and the best of them found;
(p,q)-bicliques counted, and butterflies of edges; maximum cliques of sets of one word a lane and of
two, in one matrix and by roots.

compute-sanitizer --tool racecheck --kernel-name kns=build python -m tests.gpu.sanitize
"""

from __future__ import annotations

import os
import sys
from itertools import product
from typing import Any, Literal

import numpy as np

from bicliq import kernels
from bicliq.kernels.contracts import CODECS, Compression
from bicliq.kernels.cuda import butterflies as cuda_butterflies
from bicliq.kernels.cuda import finding as cuda_finding
from bicliq.kernels.cuda import nvcomp
from bicliq.kernels.cuda import row_groups as cuda_row_groups
from bicliq.kernels.cuda import stream as cuda_stream
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from bicliq.kernels.cuda.row_groups import DeviceRowGroups, encode_on_device
from bicliq.kernels.cuda.search_program import Tuning, tuned

FEW_WARPS = Tuning(warps_a_block=4, blocks_a_multiprocessor=1, most_multiprocessors=2, nodes_a_poll=2)
MEMORY = 512 << 20  # bytes; what the search takes is cleared and tracked word by word
SHAPES = (  # left, right, density, words of a task; of the last, matrices are shared by warps
    (40, 60, 0.15, 64),
    (90, 45, 0.2, 1 << 13),
    (160, 24, 0.25, 64),
    (1600, 12, 0.4, 1 << 13),
)
METHODS: tuple[Literal["levels", "pivot"], ...] = ("levels", "pivot")
CLIQUES = ((70, 0.8), (150, 0.75), (300, 0.5), (1100, 0.2), (2500, 0.02))  # vertices, density


def graph(seed: int, n_left: int, n_right: int, density: float) -> tuple[Any, Any, int]:
    """A random graph with a dense block, so that some roots are wide and some narrow."""
    table = np.random.default_rng(seed).random((n_left, n_right)) < density
    table[: n_left // 4, : n_right // 4] = True
    return np.concatenate([[0], table.sum(axis=1).cumsum()]), np.nonzero(table)[1], n_right


def differences() -> list[str]:
    """Search all graphs from both sides on the GPU and on the CPU; says where they differ."""
    wrong = []
    for seed, (n_left, n_right, density, task_words) in enumerate(SHAPES):
        csr = graph(seed, n_left, n_right, density)
        for side in ("left", "right"):
            options: dict[str, Any] = {"side": side, "max_bicliques": None}
            expected = kernels.enumerate_maximal_bicliques(*csr, mode="digest", **options)
            with tuned(Tuning(**{**vars(FEW_WARPS), "task_words": task_words})):
                counted = kernels.enumerate_maximal_bicliques(*csr, backend="cuda", **options)
                found = kernels.enumerate_maximal_bicliques(*csr, mode="digest", backend="cuda", **options)
                with kernels.stream_maximal_bicliques(*csr, backend="cuda", **options) as stream:
                    written = sum(map(len, stream))
                with kernels.stream_smaller_sides(*csr, side=side, on_device=True) as stream_of_smaller:
                    smaller = sum(map(len, stream_of_smaller))
            print(f"{n_left} x {n_right}, {side}: {found.bicliques} bicliques", flush=True)
            if {counted.bicliques, found.bicliques, written, smaller} != {
                expected.bicliques
            } or found.digest != expected.digest:
                wrong.append(
                    f"{n_left} x {n_right}, {side}: {counted.bicliques}, {found.bicliques}, {written}, {smaller} for {expected.bicliques}"
                )
    return wrong


def wrong_row_groups() -> list[str]:
    """Encode bicliques on the GPU, and read them again; says where they differ."""
    wrong = []
    for seed, (n_left, n_right, density, _) in enumerate(SHAPES):
        csr = graph(seed, n_left, n_right, density)
        for both, codec in product((True, False), filter(nvcomp.compresses, CODECS)):
            with tuned(FEW_WARPS):
                stream: kernels.Stream[Any] = (
                    kernels.stream_maximal_bicliques(*csr, backend="cuda", on_device=True)
                    if both
                    else kernels.stream_smaller_sides(*csr, on_device=True)
                )
                n_bytes = 0
                with stream:
                    for batch in stream:  # what is kept of each, small as it is, would fill the card
                        for part in encode_on_device(batch, codec):
                            n_bytes += len(part.data)
                            wrong += [] if _holds(part, batch, codec) else [f"{n_left} x {n_right}: a row group"]
            print(f"{n_left} x {n_right}, {codec}: {n_bytes} bytes", flush=True)
    return wrong


def _holds(part: DeviceRowGroups, batch: Any, codec: Compression) -> bool:
    """Whether the one row group of a batch says what that does."""
    (group,) = part.groups
    lists = list(batch.lists.values())
    kinds = ["list"] * len(lists) + ["int32"] * 3
    columns: Any = [
        (chunk.begin, chunk.end, chunk.n_values, kind) for chunk, kind in zip(group.columns, kinds, strict=True)
    ]
    read = kernels.read_columns(part.data.get(), codec, columns, group.rows)
    expected = [array for pair in lists for array in pair] + [batch.n_left, batch.n_right, batch.root]
    return read is not None and all(np.array_equal(a, b.get()) for a, b in zip(read, expected, strict=True))


def wrong_changes() -> list[str]:
    """Search what some edges change on the GPU and on the CPU; says where they differ."""
    wrong = []
    for seed, (n_left, n_right, density, _) in enumerate(SHAPES):
        indptr, indices, _ = csr = graph(seed, n_left, n_right, density)
        new = np.random.default_rng(seed).random(len(indices)) < 30 / len(indices)
        ends = np.repeat(np.arange(n_left), np.diff(indptr))[new], indices[new]
        found, expected = (
            [
                kernels.set_digest(lists.left_offsets, lists.left, lists.right_offsets, lists.right)
                for changes in [kernels.ChangeSearch(*csr, *ends, min_left=2).find(backend=name)]
                for lists in (changes.appeared, changes.vanished)
            ]
            for name in ("cuda", "cpu")
        )
        print(f"{n_left} x {n_right}, {len(ends[0])} new edges", flush=True)
        if found != expected:
            wrong.append(f"{n_left} x {n_right}, {len(ends[0])} new edges: {found} for {expected}")
    return wrong


def wrong_counts() -> list[str]:
    """Count bicliques of some sizes on the GPU and on the CPU; says where they differ."""
    wrong = []
    for seed, (n_left, n_right, density, _) in enumerate(SHAPES):
        csr = graph(seed, n_left, n_right, density)
        for p, q in ((2, 3), (4, 4), (5, 3)):
            expected = kernels.count_bicliques(*csr, p, q).count
            for method in METHODS:
                found = kernels.count_bicliques(*csr, p, q, method=method, backend="cuda").count
                print(f"{n_left} x {n_right}, ({p},{q}) by {method}: {found} bicliques", flush=True)
                if found != expected:
                    wrong.append(f"{n_left} x {n_right}, ({p},{q}) by {method}: {found} for {expected}")
            of_each = [kernels.count_bicliques(*csr, p, q, per_vertex=True, backend=name) for name in ("cuda", "cpu")]
            if not np.array_equal(of_each[0].left_counts, of_each[1].left_counts):
                wrong.append(f"{n_left} x {n_right}, ({p},{q}) of vertices")
        found_of, known_of = (kernels.count_bicliques(*csr, 2, 2, per_vertex=True, backend=b) for b in ("cuda", "cpu"))
        print(f"{n_left} x {n_right}, {found_of.count} butterflies", flush=True)
        if found_of.count != known_of.count or not np.array_equal(found_of.edge_counts, known_of.edge_counts):
            wrong.append(f"{n_left} x {n_right}, {found_of.count} butterflies for {known_of.count}, or those of edges")
    return wrong


def wrong_groups() -> list[str]:
    """Find the best bicliques on the GPU and on the CPU; says where they differ."""
    wrong = []
    for seed, (n_left, n_right, density, task_words) in enumerate(SHAPES):
        csr = graph(seed, n_left, n_right, density)
        for objective in ("balanced", "edges", "surprise"):
            with tuned(Tuning(**{**vars(FEW_WARPS), "task_words": task_words})):
                found, expected = (
                    [(group.value, group.left.tolist(), group.right.tolist()) for group in best.groups]
                    for best in (kernels.top_bicliques(*csr, 9, objective, backend=name) for name in ("cuda", "cpu"))
                )
            print(f"{n_left} x {n_right}, {objective}: {found[0][0]:g}", flush=True)
            if found != expected:
                wrong.append(f"{n_left} x {n_right}, {objective}: {found} for {expected}")
    return wrong


def wrong_cliques() -> list[str]:
    """Seek maximum cliques on the GPU and on the CPU; says where they differ."""
    wrong = []
    for seed, (n, density) in enumerate(CLIQUES):
        table = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1)
        table |= table.T
        csr = np.concatenate([[0], table.sum(axis=1).cumsum()]), np.nonzero(table)[1]
        found, expected = (kernels.maximum_clique(*csr, backend=name) for name in ("cuda", "cpu"))
        print(f"{n} at {density}: a clique of {found.size}, {found.nodes} nodes", flush=True)
        if found.size != expected.size:
            wrong.append(f"{n} at {density}: a clique of {found.size} for {expected.size}")
    return wrong


def main() -> int:
    """Exit code 1 where a result differs; the checker has a code of its own."""
    os.environ.setdefault(MEMORY_VARIABLE, str(MEMORY))
    cuda_stream.OUTPUT_WORDS = cuda_stream.OUTPUT_WORDS_KEPT = cuda_finding.OUTPUT_WORDS = (
        1 << 12
    )  # small: warps park and go on
    cuda_row_groups.STORED_BYTES = 1 << 8
    cuda_butterflies.LARGEST_TABLE_WORDS = 1 << 12  # small as well: many batches
    wrong = differences() + wrong_row_groups() + wrong_changes() + wrong_groups() + wrong_counts() + wrong_cliques()
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
