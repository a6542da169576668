"""The manifest of a published run: what it holds, in one record that is written last."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from bicliq.pipeline.errors import StorageError
from bicliq.pipeline.store.layout import Store


@dataclass(frozen=True)
class Manifest:
    """What a published run holds; manifest.json has the same fields.

    Parameters
    ----------
    run, graph, side
        The run, its graph, and the side that was enumerated.
    n_left, n_right, n_edges
        Size of the ingested graph.
    bicliques
        Bicliques in the data files.
    digest
        Their set digest, 16 hex digits.
    complete
        False where a limit ended the search before its end, or partitions failed.
    limit
        The number of bicliques at which that was, or None.
    partitions, bytes
        Data files and their size together.
    backend, threads
        What the partitions ran on: one backend ("cpu-avx2", "cuda"), or several with numbers of
        partitions (`ran_on`); and the most threads (on a GPU warps) that searched one.
    largest
        The biclique with most edges: n_left, n_right, n_edges, partition; None where there is none.
    left_histogram, right_histogram
        Pairs (number of left, right vertices, number of bicliques), ascending.
    seconds
        Duration of each stage; ``search`` is summed over partitions.
    created
        When it was published (ISO, UTC).
    files
        One record a partition: path, rows, bytes, checksum, digest.
    checks
        One record a check of the input (`pipeline.stages.checks.Check`); empty where the run was
        made of a graph of the store, or by an earlier version.
    machine
        The machine that published it (`pipeline.placement.machine.machine_facts`).
    limited_by
        The limit that cut it off: "max_bicliques", "max_bytes", "time_limit" or "memory_limit";
        None where none did.
    failed
        Why partitions failed, by number.
    """

    run: str
    graph: str
    side: str
    n_left: int
    n_right: int
    n_edges: int
    bicliques: int
    digest: str
    complete: bool
    limit: int | None
    partitions: int
    bytes: int
    backend: str
    threads: int
    largest: dict[str, int] | None
    left_histogram: list[tuple[int, int]]
    right_histogram: list[tuple[int, int]]
    seconds: dict[str, float]
    created: str
    files: list[dict[str, Any]] = field(repr=False)
    checks: list[dict[str, Any]] = field(default_factory=list, repr=False)
    machine: dict[str, str] = field(default_factory=dict, repr=False)
    limited_by: str | None = None
    failed: dict[str, str] = field(default_factory=dict)


def read_manifest(store: Store, run: str) -> Manifest:
    """Read the manifest of a published run.

    Raises
    ------
    StorageError
        Where the run is not published.
    """
    found = store.run(run).manifest()
    if found is None:
        raise StorageError(f"{store.run(run).uri}: the run is not published; resume it first")
    for name in ("left_histogram", "right_histogram"):
        found[name] = [(int(size), int(count)) for size, count in found[name]]
    return Manifest(**{entry.name: found[entry.name] for entry in fields(Manifest) if entry.name in found})


def moment_after(earlier: str | None) -> str:
    """Return now as ISO time (UTC); where the clock is behind an earlier moment, one just after it.

    What is published last is the latest run. A clock that was put back must not make a new version
    an older one than its parent.

    Examples
    --------
    >>> moment_after("9999-01-01T00:00:00+00:00")
    '9999-01-01T00:00:00.000001+00:00'
    >>> moment_after(None) < moment_after("9999-01-01T00:00:00+00:00")
    True
    """
    now = dt.datetime.now(dt.UTC)
    if earlier is not None:
        now = max(now, dt.datetime.fromisoformat(earlier) + dt.timedelta(microseconds=1))
    return now.isoformat()


def ran_on(backends: Iterable[str]) -> str:
    """Name what the partitions of a run ran on, those of most partitions first.

    Examples
    --------
    >>> ran_on(["cuda", "cpu-avx2", "cuda"]), ran_on(["cuda", "cuda"]), ran_on([])
    ('cuda 2, cpu-avx2 1', 'cuda', 'none')
    """
    counts = sorted(Counter(backends).items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(name if len(counts) == 1 else f"{name} {count}" for name, count in counts) or "none"
