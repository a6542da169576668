"""Updates of a run by batches of edges, small to large, beside a run from scratch."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import Timed, median, repeated
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.picture import picture
from bicliq.pipeline.run import RunSummary, run
from bicliq.pipeline.settings import ClusterSettings, SearchSettings, Settings, VersionSettings
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.update_record import UpdateRecord

LARGEST = 0.1
"""Share of the edges that the largest batch joins."""


@dataclass(frozen=True)
class UpdateMeasured:
    """What a batch of new edges changes and costs.

    Parameters
    ----------
    graph
        The graph, of which the batches were held out.
    edges, share
        Edges of the batch, and their share of all.
    how
        "changes" or "full run", as the update chose.
    appeared, vanished
        Bicliques that changed; None where a full run was made.
    bicliques
        Those of the new version.
    bytes
        What the version added to the store.
    seconds, search, full
        Of the update, from new rows to the committed version; of it the search of what changes; and
        of a run from scratch of the base, published: medians, where these were repeated.
    """

    graph: str
    edges: int
    share: float
    how: str
    appeared: int | None
    vanished: int | None
    bicliques: int
    bytes: int
    seconds: float
    search: float
    full: float

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return asdict(self)


def batch_sizes(n_edges: int) -> list[int]:
    """Return the sizes of batches: powers of ten, and 0.1, 1 and 10 % of the edges.

    Examples
    --------
    >>> batch_sizes(7089)
    [1, 7, 10, 70, 100, 708]
    """
    most = int(n_edges * LARGEST)
    powers = [10**k for k in range(4) if 10**k <= most]
    return sorted({*powers, *(size for share in (0.001, 0.01, LARGEST) if (size := int(n_edges * share)) >= 1)})


def measure_updates(
    graphs: dict[str, Path], seed: int = 1, threads: int = 1, sizes: Sequence[int] = (), runs: int = 1
) -> Iterator[UpdateMeasured]:
    """Hold random edges out of each graph, search the rest, and join them in batches.

    Parameters
    ----------
    graphs
        Parquet files of dense pairs by name.
    seed
        Of the order of the edges.
    threads
        Threads of the searches.
    sizes
        Edges of the batches; by default those of `batch_sizes`.
    runs
        How often each batch is joined to the base, and the base searched.

    Raises
    ------
    InputError
        Where a batch has all edges of a graph.
    BicliqError
        Where an update and a run from scratch differ: the largest batch is compared.
    """
    for name, path in graphs.items():
        table = pq.read_table(path)
        batches = sorted(sizes) or batch_sizes(len(table))
        if not batches or batches[-1] >= len(table):
            raise InputError(f"{name}: batches of {batches} edges of {len(table)}: some edges must be left")
        order = np.random.default_rng(seed).permutation(len(table))
        with tempfile.TemporaryDirectory() as folder:
            bench = _Updates(name, table, order, Path(folder), threads, VersionSettings(compact_share=float("inf")))
            bases = repeated(partial(bench.scratch, "base.parquet", order[batches[-1] :]), runs)
            for batch in batches:
                joined = repeated(partial(bench.join, f"{batch}.parquet", order[:batch]), runs)
                yield bench.measured(batch, joined, bases)
            bench.compare(joined[-1].result)


def measure_nights(
    graphs: dict[str, Path], nights: int, seed: int = 1, threads: int = 1, size: int | None = None
) -> Iterator[UpdateMeasured]:
    """Join batches of random edges one after the other, each to the version before.

    Parameters
    ----------
    graphs, seed, threads
        As of `measure_updates`.
    nights
        How many batches.
    size
        Edges of a batch; None: a thousandth of all.

    Raises
    ------
    InputError, BicliqError
        As of `measure_updates`; the last version is compared.

    Notes
    -----
    A version whose layers have grown heavy is written whole, which counts.
    """
    for name, path in graphs.items():
        table = pq.read_table(path)
        own = size or max(len(table) // 1000, 1)
        if own * nights >= len(table):
            raise InputError(f"{name}: {nights} batches of {own} edges of {len(table)}: some edges must be left")
        order = np.random.default_rng(seed).permutation(len(table))
        with tempfile.TemporaryDirectory() as folder:
            bench = _Updates(name, table, order, Path(folder), threads, VersionSettings())
            bases = repeated(partial(bench.scratch, "base.parquet", order[own * nights :]), 1)
            for night in range(nights):
                rows = order[own * night : own * (night + 1)]
                joined = repeated(partial(bench.update, f"{night}.parquet", rows), 1)
                yield bench.measured(own, joined, bases)
            bench.compare(joined[-1].result)


class _Updates:
    """A graph whose edges are joined to a store, in batches."""

    def __init__(
        self, name: str, table: pa.Table, order: Any, folder: Path, threads: int, versions: VersionSettings
    ) -> None:
        self._name, self._table, self._order, self._folder = name, table, order, folder
        self._settings = Settings(
            store=str(folder / "store"),
            search=SearchSettings(threads=threads),
            versions=versions,
            cluster=ClusterSettings(local=True),
        )

    def scratch(self, file: str, rows: Any) -> RunSummary:
        """Search some of the edges, in a store that has nothing else."""
        shutil.rmtree(self._settings.store, ignore_errors=True)
        return run(self._written(file, rows), self._settings)

    def join(self, file: str, rows: Any) -> UpdateRecord:
        """Join some of the edges in a copy of the store, which stays as it was."""
        with tempfile.TemporaryDirectory(prefix="copy-", dir=self._folder) as copy:
            shutil.copytree(self._settings.store, copy, dirs_exist_ok=True)
            return update(self._written(file, rows), self._settings.model_copy(update={"store": copy}))

    def update(self, file: str, rows: Any) -> UpdateRecord:
        """Join some of the edges to the latest version."""
        return update(self._written(file, rows), self._settings)

    def measured(
        self, size: int, joined: Sequence[Timed[UpdateRecord]], bases: Sequence[Timed[RunSummary]]
    ) -> UpdateMeasured:
        """What updates by the same edges changed and took, beside runs of their base."""
        found, own = joined[0].result, size / len(self._table)
        changed = found.how, found.appeared, found.vanished, found.bicliques, found.bytes
        seconds = median(joined, lambda record: record.seconds["total"])
        search = median(joined, lambda record: record.seconds["search"])
        full = median(bases, lambda base: base.seconds["total"])
        return UpdateMeasured(self._name, size, own, *changed, seconds, search, full)

    def compare(self, found: UpdateRecord) -> None:
        """Compare a version that holds all edges with a run from scratch."""
        whole = self.scratch("all.parquet", self._order)
        if (whole.bicliques, whole.digest) != (found.bicliques, found.digest):
            raise BicliqError(f"{self._name}: a version and a run of all of its edges differ; this is a defect")

    def _written(self, file: str, rows: Any) -> str:
        pq.write_table(self._table.take(pa.array(np.sort(rows))), self._folder / file)
        return str(self._folder / file)


def draw_updates(records: Sequence[dict[str, Any]], path: str | Path) -> None:
    """Draw seconds over the size of the batch, a panel a graph, with the run from scratch.

    Raises what `pipeline.picture.picture` does.
    """
    names = list(dict.fromkeys(record["graph"] for record in records))
    with picture(path, 3.2 * len(names) + 0.6, 3.0) as figure:
        panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
        for axes, name in zip(panels, names, strict=True):
            rows = [record for record in records if record["graph"] == name]
            for how, mark, said in (
                ("changes", "o", "what changes is searched"),
                ("full run", "s", "a full run is made"),
            ):
                some = [row for row in rows if row["how"] == how]
                axes.plot(
                    [row["edges"] for row in some], [row["seconds"] for row in some], mark, markersize=4, label=said
                )
            axes.plot([row["edges"] for row in rows], [row["seconds"] for row in rows], color="0.6", zorder=0)
            axes.axhline(rows[0]["full"], color="C3", linestyle="--", label="run from scratch")
            axes.set(title=name, xlabel="new edges", xscale="log", yscale="log")
        panels[0].set_ylabel("seconds to the new version")
        panels[0].legend(fontsize=7)
