"""What a run will find and cost, before it: bicliques, ids, bytes and seconds, by thresholds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.arguments import check_kind
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.picture import picture
from bicliq.pipeline.placement.device import encodes
from bicliq.pipeline.placement.where import check_backends
from bicliq.pipeline.settings import PublishSettings, Settings
from bicliq.pipeline.stages.edge_table import EdgeTable
from bicliq.pipeline.stages.expected import Estimated, expected_output, short
from bicliq.pipeline.stages.in_step import expand_where, read_timed
from bicliq.pipeline.stages.ingest import read_edge_table
from bicliq.pipeline.stages.search import reduced_table

GPU_WRITE, SMALLER = 0.75e-9, 0.6
"""Seconds to order, encode and write an id on an H200, and the part of it that smaller sides take
(docs/results.md)."""

_NOT_TOLD = ("nodes", "search_seconds", "write_seconds", "would_do", "side", "thresholds")
"""What is told otherwise, or not."""


def estimate_table(source: Edges, settings: Settings, seed: int = 0) -> dict[str, Any]:
    """Estimate what a run of an edge table finds and costs, in about a second.

    `source`: path or fsspec URL of the edge table, or a table in memory
    (`pipeline.formats.tables`). `settings`: its `ingest`, `search` and `publish` parts are used,
    and `data_backend`. `seed`: of the sample; the same gives the same numbers of bicliques and ids.
    Returns bicliques, low, high (90 %), ids, low_ids, high_ids, bytes, low_bytes, high_bytes,
    exact, n_left, n_right, n_edges, side, backend, threads, thresholds (a list of min_left,
    min_right, bicliques, low, high, ids, bytes), the `account` of the table, and seconds:
    ``search`` and ``write`` are what a run would take on the threads asked for, ``gpu_search`` and
    ``gpu_write`` on this machine's GPU (None where it has none), ``estimate`` and ``total`` what
    this call took.

    A number of bicliques of 0 of which `exact` is false was not seen in the sample; ``high`` is
    then what lower thresholds leave, and 0 where that is not known either.
    """
    started = time.perf_counter()
    asked = settings.search
    check_kind("seed", seed, "int")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be at least 0")
    check_backends(settings.data_backend, "cpu", asked.threads)
    if settings.ingest.in_step is None:
        table = read_edge_table(source, settings.ingest, backend=settings.data_backend)
        core, exact = reduced_table(table, asked, settings.data_backend).graph, True
    else:
        table = read_timed(source, settings)
        windows = expand_where(settings.data_backend, table, asked)
        core, exact = windows.core.graph, windows.windows.one_each
    threads = kernels.number_of_threads(asked.threads)
    read = time.perf_counter()
    found = expected_output(core, asked, asked.side, settings.publish, threads=threads, seed=seed)
    ended = time.perf_counter()
    if not exact:
        found = _at_most(found, table)
    search, write = found.search_seconds / threads, found.write_seconds / threads
    gpu_search = kernels.gpu_seconds(found.nodes)
    return {
        **{name: value for name, value in vars(found).items() if name not in _NOT_TOLD},
        "n_left": len(table.left_ids),
        "n_right": len(table.right_ids),
        "n_edges": len(table.left),
        "side": found.side,
        "backend": "cpu",
        "threads": threads,
        "thresholds": found.thresholds,
        **table.summary.account,
        "seconds": {
            "search": search,
            "write": write,
            "gpu_search": gpu_search,
            "gpu_write": None if gpu_search is None else _gpu_write(found, settings.publish, write),
            "ingest": read - started,
            "estimate": ended - read,
            "total": ended - started,
        },
    }


def _at_most(found: Estimated, table: EdgeTable) -> Estimated:
    """Say of groups in step that they are at most so many."""
    known = (
        "groups in step are at most so many: vertices of the right side that have several windows are counted for each"
    )
    table.summary.assumed.append(known)
    say("assumed", known)
    return found.as_bound()


def _gpu_write(found: Estimated, publish: PublishSettings, on_host: float) -> float:
    """Seconds to write what a GPU finds, encoded there or else by threads of the host."""
    if not encodes(publish):
        return on_host
    return GPU_WRITE * found.ids * (1.0 if publish.columns == "both" else SMALLER)


def draw_thresholds(record: dict[str, Any], path: str | Path) -> None:
    """Draw the numbers of bicliques over the thresholds of both sides.

    The format of the picture is that of the path's suffix.

    Raises what `pipeline.picture.picture` does.
    """
    rows = record["thresholds"]
    lefts, rights = (sorted({row[name] for row in rows}) for name in ("min_left", "min_right"))
    counts = np.array([row["bicliques"] for row in rows], np.float64).reshape(len(lefts), len(rights))
    with picture(path, 0.62 * len(rights) + 2.2, 0.42 * len(lefts) + 1.4) as figure:
        from matplotlib.colors import LogNorm

        axes = figure.subplots()
        shown = np.ma.masked_less(counts, 0.5)
        most = max(10.0, float(counts.max(initial=0)))
        image = axes.imshow(shown, norm=LogNorm(1, most), cmap="viridis_r", aspect="auto", origin="lower")
        for (i, j), value in np.ndenumerate(counts):
            dark = value > most**0.6
            axes.text(j, i, short(value), ha="center", va="center", fontsize=7, color="white" if dark else "black")
        axes.set_xticks(range(len(rights)), map(str, rights))
        axes.set_yticks(range(len(lefts)), map(str, lefts))
        axes.set(xlabel="least right vertices", ylabel="least left vertices")
        figure.colorbar(image, label="maximal bicliques")
