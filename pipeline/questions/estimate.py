"""What a run will find and cost, before it: bicliques, ids, bytes and seconds, by thresholds."""

from __future__ import annotations

import io
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kernels
from pipeline.errors import InputError
from pipeline.graphs.reduce import reduce
from pipeline.settings import PublishSettings, SearchSettings, Settings
from pipeline.stages.in_memory import bipartite_of
from pipeline.stages.ingest import read_edge_table
from pipeline.store.biclique_file import BicliqueWriter
from pipeline.store.sink import hashing_sink

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50)
"""Thresholds that are tried on both sides, from the ones asked for on."""

WRITTEN, PARTS = 1 << 16, 8
"""Bicliques that are written to memory to see how many bytes an id takes, and how long; so many
searches find an equal share of them each."""

WRITTEN_ROOTS = 256
"""Roots below which they are taken; bicliques of one root are more alike than those of a run."""

SEED = 20_260_101


@dataclass(frozen=True)
class WritingRate:
    """What writing bicliques takes.

    Parameters
    ----------
    bytes
        Bytes of Parquet an id.
    seconds
        Seconds of one thread an id, the search left out.
    """

    bytes: float
    seconds: float


def estimate_table(source: str | os.PathLike[str], settings: Settings, seed: int = 0) -> dict[str, Any]:
    """Estimate what a run of an edge table finds and costs, in about a second.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    settings
        Its `ingest`, `search` and `publish` parts are used.
    seed
        Of the sample; the same gives the same numbers of bicliques and ids.

    Returns
    -------
    dict
        bicliques, low, high (90 %), ids, low_ids, high_ids, bytes, low_bytes, high_bytes, exact,
        n_left, n_right, n_edges, side, backend, threads, thresholds (a list of min_left, min_right,
        bicliques, low, high, ids, bytes), and seconds: ``search`` and ``write`` are what a run
        would take on the threads asked for, ``estimate`` and ``total`` what this call took.

    Notes
    -----
    Sizes of files are those of a sample of `WRITTEN` bicliques below roots drawn by their degree.
    """
    started = time.perf_counter()
    asked = settings.search
    table = read_edge_table(os.fspath(source), settings.ingest, backend="cpu")
    core = reduce(bipartite_of(table, "cpu"), asked.min_left, asked.min_right).on_host()
    graph = core.graph
    threads = kernels.number_of_threads(asked.threads)
    read = time.perf_counter()
    found = kernels.estimate_bicliques(
        graph.indptr,
        graph.indices,
        graph.n_right,
        side=asked.side,
        min_left=asked.min_left,
        min_right=asked.min_right,
        min_edges=asked.min_edges,
        left_steps=_steps(asked.min_left),
        right_steps=_steps(asked.min_right),
        seed=seed,
        threads=threads,
    )
    rate = writing_rate(graph, asked, found.side, settings.publish)
    ended = time.perf_counter()
    return {
        "bicliques": found.bicliques,
        "low": found.low,
        "high": found.high,
        "ids": found.ids,
        "low_ids": found.low_ids,
        "high_ids": found.high_ids,
        "bytes": round(rate.bytes * found.ids),
        "low_bytes": round(rate.bytes * found.low_ids),
        "high_bytes": round(rate.bytes * found.high_ids),
        "exact": found.exact,
        "n_left": len(table.left_ids),
        "n_right": len(table.right_ids),
        "n_edges": len(table.left),
        "side": found.side,
        "backend": "cpu",
        "threads": threads,
        "thresholds": _thresholds(found, rate),
        "seconds": {
            "search": found.seconds / threads,
            "write": rate.seconds * found.ids / threads,
            "ingest": read - started,
            "estimate": ended - read,
            "total": ended - started,
        },
    }


def writing_rate(graph: Any, asked: SearchSettings, side: Any, publish: PublishSettings) -> WritingRate:
    """Write some bicliques of a graph to memory, as a run would, and see what an id takes."""
    degrees = np.asarray(graph.left_degrees if side == "left" else graph.right_degrees, np.float64)
    if not degrees.any():
        return WritingRate(0.0, 0.0)
    random = np.random.default_rng(SEED)
    n = min(WRITTEN_ROOTS, int((degrees > 0).sum()))
    roots = np.sort(random.choice(degrees.size, n, replace=False, p=degrees / degrees.sum())).astype(np.int32)
    batches = []
    for chosen in np.array_split(random.permutation(roots), min(n, PARTS)):
        stream = kernels.stream_maximal_bicliques(
            graph.indptr,
            graph.indices,
            graph.n_right,
            side=side,
            roots=np.sort(chosen),
            min_left=asked.min_left,
            min_right=asked.min_right,
            min_edges=asked.min_edges,
            max_bicliques=WRITTEN // PARTS,
        )
        with stream:
            batches += list(stream)
    ids = sum(len(batch.left) + len(batch.right) for batch in batches)
    started = time.process_time()
    with hashing_sink(io.BytesIO()) as sink, BicliqueWriter(sink, 1, publish) as writer:
        for batch in batches:
            writer.write(batch)
    seconds = time.process_time() - started
    return WritingRate(sink.bytes / ids, seconds / ids) if ids else WritingRate(0.0, 0.0)


def draw_thresholds(record: dict[str, Any], path: str | Path) -> None:
    """Draw the numbers of bicliques over the thresholds of both sides.

    The format of the picture is that of the path's suffix.

    Raises
    ------
    InputError
        Where matplotlib is not installed, or cannot write such a file.
    """
    try:
        from matplotlib.colors import LogNorm
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("a picture needs matplotlib: pip install matplotlib") from error
    rows = record["thresholds"]
    lefts, rights = (sorted({row[name] for row in rows}) for name in ("min_left", "min_right"))
    counts = np.array([row["bicliques"] for row in rows], np.float64).reshape(len(lefts), len(rights))
    figure = Figure(figsize=(0.62 * len(rights) + 2.2, 0.42 * len(lefts) + 1.4), layout="constrained")
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
    try:
        figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: the picture cannot be written: {error}") from error


def short(value: float) -> str:
    """A number in a few characters.

    Examples
    --------
    >>> short(930_851_335), short(8_910), short(63), short(0)
    ('931M', '8.91k', '63', '0')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            scaled = value / size
            return f"{scaled:.{max(0, 2 - int(np.log10(max(scaled, 1))))}f}{letter}"
    return f"{value:.0f}"


def _steps(least: int) -> list[int]:
    return [step for step in LADDER if step > least]


def _thresholds(found: kernels.BicliqueEstimate, rate: WritingRate) -> list[dict[str, int]]:
    rows = []
    for i, left in enumerate(found.left_steps):
        for j, right in enumerate(found.right_steps):
            value, low, high = (round(float(x)) for x in found.table[i, j])
            ids = round(float(found.ids_table[i, j, 0]))
            of = {"min_left": left, "min_right": right, "bicliques": value, "low": low, "high": high}
            rows.append({**of, "ids": ids, "bytes": round(rate.bytes * ids)})
    return rows
