"""Publish: the manifest of a run, written last, which says what it holds."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pipeline.errors import StorageError
from pipeline.stages.plan import read_plan_record
from pipeline.store.bicliques import MASK
from pipeline.store.layout import Commit, Store, partition_name
from pipeline.store.sizes import Sizes

NAMED = 10
"""Missing partitions that a message names before it stops."""


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
        False where a limit ended the search before its end.
    limit
        The number of bicliques at which that was, or None.
    partitions, bytes
        Data files and their size together.
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
    largest: dict[str, int] | None
    left_histogram: list[tuple[int, int]]
    right_histogram: list[tuple[int, int]]
    seconds: dict[str, float]
    created: str
    files: list[dict[str, Any]] = field(repr=False)


def publish(store: Store, run: str, max_bicliques: int | None = None) -> Manifest:
    """Write the manifest of a run whose partitions are all committed; published again, it is the latest run.

    Parameters
    ----------
    store, run
        A run that was searched.
    max_bicliques
        The limit that it was searched with: a run that reached it needs no more than it has.

    Returns
    -------
    Manifest
        Also in manifest.json, which is written last.

    Raises
    ------
    StorageError
        Where partitions are missing, were cut off by a limit, or are damaged, naming them.
    """
    folder = store.run(run)
    plan = read_plan_record(folder)
    commits = folder.committed()
    bicliques = sum(commit.rows for commit in commits.values())
    missing = [n for n in range(plan.partitions) if n not in commits or not commits[n].complete]
    if missing and (max_bicliques is None or bicliques < max_bicliques):
        raise StorageError(
            f"{folder.uri}: {named(missing)} of {plan.partitions} not committed, or cut off by a limit; resume the run, then"
            " publish it"
        )
    sizes = Sizes()
    for number, commit in commits.items():
        sizes.merge(commit.sizes, partition=number)
    graph = store.graph(plan.graph)
    record = graph.read_record("graph.json")
    manifest = Manifest(
        run=run,
        graph=plan.graph,
        side=plan.side,
        n_left=int(record["n_left"]),
        n_right=int(record["n_right"]),
        n_edges=int(record["n_edges"]),
        bicliques=bicliques,
        digest=total_digest(commits),
        complete=not missing,
        limit=bicliques if missing else None,
        partitions=len(commits),
        bytes=sum(commit.bytes for commit in commits.values()),
        largest=sizes.largest,
        left_histogram=sizes.left,
        right_histogram=sizes.right,
        seconds={**plan.seconds, "search": round(sum(c.seconds for c in commits.values()), 6)},
        created=dt.datetime.now(dt.UTC).isoformat(),
        files=[_file(commit) for commit in commits.values()],
    )
    folder.write_record("manifest.json", asdict(manifest))
    return manifest


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
    return Manifest(**{entry.name: found[entry.name] for entry in fields(Manifest)})


def total_digest(commits: dict[int, Commit]) -> str:
    """Return the set digest of all commits together, 16 hex digits."""
    return f"{sum(int(commit.digest, 16) for commit in commits.values()) & MASK:016x}"


def _file(commit: Commit) -> dict[str, Any]:
    record = asdict(commit)
    del record["sizes"]
    return {"path": record.pop("file"), "subgraph": partition_name(commit.partition), **record}


def named(numbers: list[int]) -> str:
    """Return some partitions and their number in words, as ``partitions 3, 5 (2)``."""
    listed = ", ".join(map(str, numbers[:NAMED])) + (", …" if len(numbers) > NAMED else "")
    return f"partitions {listed} ({len(numbers)})"
