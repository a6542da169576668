"""Publish and verify: the manifest of a run, written last, and the proof that its files are what it says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import StorageError
from pipeline.graphs.bipartite import BipartiteGraph
from pipeline.stages.plan import read_plan_record, read_run_graph
from pipeline.store.bicliques import MASK, SCHEMA, table_digest
from pipeline.store.layout import Commit, RunFolder, Store, partition_name
from pipeline.store.sizes import Sizes

SAMPLE = 1_000
"""Bicliques whose maximality `verify` checks, unless told otherwise."""

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
    partitions: int
    bytes: int
    largest: dict[str, int] | None
    left_histogram: list[tuple[int, int]]
    right_histogram: list[tuple[int, int]]
    seconds: dict[str, float]
    created: str
    files: list[dict[str, Any]] = field(repr=False)


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Parameters
    ----------
    run
        The run.
    bicliques
        Bicliques read.
    digest
        Set digest of what was read, 16 hex digits.
    partitions
        Data files read.
    sampled
        Bicliques checked against the graph: complete, and maximal.
    problems
        One sentence a problem; empty where all is well.
    """

    run: str
    bicliques: int
    digest: str
    partitions: int
    sampled: int
    problems: list[str]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def publish(store: Store, run: str) -> Manifest:
    """Write the manifest of a run whose partitions are all committed.

    Parameters
    ----------
    store, run
        A run that was searched.

    Returns
    -------
    Manifest
        Also in manifest.json, which is written last.

    Raises
    ------
    StorageError
        Where partitions are missing, naming them. A run that reached its `max_bicliques` needs no more than
        it has.
    """
    folder = store.run(run)
    plan = read_plan_record(folder)
    commits = folder.committed()
    bicliques = sum(commit.rows for commit in commits.values())
    limit = folder.read_json("run.json")["search"].get("max_bicliques")
    missing = [number for number in range(plan.partitions) if number not in commits]
    if missing and (limit is None or bicliques < limit):
        raise StorageError(
            f"{folder.uri}: {_named(missing)} of {plan.partitions} not committed; resume the run, then publish it"
        )
    sizes = Sizes()
    for number, commit in commits.items():
        sizes.merge(commit.sizes, partition=number)
    graph = store.graph(plan.graph)
    record = graph.read_json("graph.json")
    manifest = Manifest(
        run=run,
        graph=plan.graph,
        side=plan.side,
        n_left=int(record["n_left"]),
        n_right=int(record["n_right"]),
        n_edges=int(record["n_edges"]),
        bicliques=bicliques,
        digest=_total_digest(commits),
        complete=not missing and all(commit.complete for commit in commits.values()),
        partitions=len(commits),
        bytes=sum(commit.bytes for commit in commits.values()),
        largest=sizes.largest,
        left_histogram=sizes.left,
        right_histogram=sizes.right,
        seconds={**plan.seconds, "search": round(sum(c.seconds for c in commits.values()), 6)},
        created=dt.datetime.now(dt.UTC).isoformat(),
        files=[_file(commit) for commit in commits.values()],
    )
    folder.write_json("manifest.json", asdict(manifest))
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


def verify(store: Store, run: str, sample: int = SAMPLE, seed: int = 0) -> Verification:
    """Read every committed file of a run again and check it against its records and against the graph.

    Checked are the checksum, the schema, the number of rows, the lengths of lists, their thresholds and the
    digest of each file; that no partition is missing or unaccounted for; the manifest's totals; and, for a
    seeded sample, that each biclique is one of the graph and cannot be extended on either side.

    Parameters
    ----------
    store, run
        A run that was searched, published or not.
    sample
        Bicliques to check against the graph.
    seed
        Seed of the sample.

    Returns
    -------
    Verification
        With one sentence a problem.
    """
    folder = store.run(run)
    plan = read_plan_record(folder)
    commits = folder.committed()
    settings = folder.read_json("run.json")["search"]
    checker = _Checker(read_run_graph(store, run), plan.side, settings)
    problems: list[str] = []
    rows = digest = sampled = 0
    total = sum(commit.rows for commit in commits.values())
    generator = np.random.default_rng(seed)
    for commit in commits.values():
        problems += _check_bytes(folder, commit)
        read = digest_read = 0
        sizes = Sizes()
        share = min(commit.rows, -(-sample * commit.rows // max(total, 1)))
        picked = np.sort(generator.choice(commit.rows, share, replace=False))
        try:
            for table in _row_groups(folder, commit.file):
                here = picked[(picked >= read) & (picked < read + table.num_rows)] - read
                problems += checker.check_rows(commit.file, table, here)
                sampled += here.size
                read += table.num_rows
                digest_read += table_digest(table)
                sizes.add(table["n_left"].to_numpy(), table["n_right"].to_numpy())
        except (StorageError, OSError, pa.ArrowException) as error:
            problems.append(f"{commit.file}: cannot be read: {error}")
        problems += _compare(commit.file, commit, read, f"{digest_read & MASK:016x}", sizes)
        rows += read
        digest += digest_read
    problems += _check_totals(folder, plan.partitions, commits, settings.get("max_bicliques"))
    return Verification(run, rows, f"{digest & MASK:016x}", len(commits), sampled, problems)


def _columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types; cuDF's writer calls the items of a list otherwise, and lets columns be null."""
    return [(f.name, f"list of {f.type.value_type}" if pa.types.is_list(f.type) else str(f.type)) for f in schema]


class _Checker:
    """Checks rows of a data file: their lists, their thresholds, and some against the graph."""

    def __init__(self, graph: BipartiteGraph, side: str, settings: dict[str, Any]) -> None:
        self.left = graph
        self.right = graph.transpose()
        self.side = side
        self.settings = settings

    def check_rows(self, name: str, table: pa.Table, picked: Any) -> list[str]:
        """Check a row group of a data file, and the picked rows of it against the graph."""
        if _columns(table.schema) != _columns(SCHEMA):
            return [f"{name}: its columns are not those of a run: {table.schema.names}"]
        problems = []
        left, right = (
            table["n_left"].to_numpy().astype(np.int64),
            table["n_right"].to_numpy().astype(np.int64),
        )
        for side, sizes in (("left", left), ("right", right)):
            wrong = np.flatnonzero(pc.list_value_length(table[side]).to_numpy() != sizes)
            if wrong.size:
                problems.append(f"{name}: {wrong.size} rows where n_{side} is not the length of {side}")
        asked = self.settings
        small = (left < asked["min_left"]) | (right < asked["min_right"]) | (left * right < asked["min_edges"])
        if small.any():
            problems.append(f"{name}: {int(small.sum())} bicliques are smaller than asked for")
        for row in table.take(picked).to_pylist():
            reason = self.why_not(row["left"], row["right"], row["root"])
            if reason is not None:
                problems.append(f"{name}: left {row['left'][:5]}…, right {row['right'][:5]}…: {reason}")
        return problems

    def why_not(self, left: list[int], right: list[int], root: int) -> str | None:
        """Say why two lists are no maximal biclique of the graph, or None."""
        if not left or not right or min(left + right) < 0:
            return "a side is empty or holds a negative id"
        if max(left) >= self.left.n_left or max(right) >= self.left.n_right:
            return "an id is not in the graph"
        if sorted(set(left)) != left or sorted(set(right)) != right:
            return "a list is not ascending"
        if root not in (left if self.side == "left" else right):
            return f"the root {root} is not a member of the {self.side} side"
        if _common(self.left, left) != right:
            return "the right side is not the set of all common neighbours of the left side"
        if _common(self.right, right) != left:
            return "the left side is not the set of all common neighbours of the right side"
        return None


def _common(graph: BipartiteGraph, rows: list[int]) -> list[int]:
    """Vertices adjacent to all of some rows, ascending."""
    found, counts = np.unique(graph.rows_of(np.array(rows))[1], return_counts=True)
    common: list[int] = found[counts == len(rows)].tolist()
    return common


def _row_groups(folder: RunFolder, name: str) -> Iterator[pa.Table]:
    with folder.open_parquet(name) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)


def _check_bytes(folder: RunFolder, commit: Commit) -> list[str]:
    name = commit.file
    if not folder.has(name):
        return [f"{name}: committed, but the file is missing"]
    if folder.size(name) != commit.bytes:
        return [f"{name}: {folder.size(name)} bytes, its commit record says {commit.bytes}"]
    found = folder.checksum(name)
    return [] if found == commit.checksum else [f"{name}: checksum {found}, its commit record says {commit.checksum}"]


def _compare(name: str, commit: Commit, rows: int, digest: str, sizes: Sizes) -> list[str]:
    problems = []
    if rows != commit.rows:
        problems.append(f"{name}: {rows} rows, its commit record says {commit.rows}")
    if digest != commit.digest:
        problems.append(f"{name}: digest {digest}, its commit record says {commit.digest}")
    recorded = Sizes()
    recorded.merge(commit.sizes)
    if sizes.record() != recorded.record():
        problems.append(f"{name}: its bicliques have other sizes than its commit record says")
    return problems


def _check_totals(folder: RunFolder, partitions: int, commits: dict[int, Commit], limit: int | None) -> list[str]:
    problems = []
    missing = [number for number in range(partitions) if number not in commits]
    rows = sum(commit.rows for commit in commits.values())
    if missing and (limit is None or rows < limit):
        problems.append(f"{_named(missing)} of {partitions} not committed; resume the run")
    unknown = [number for number in commits if number >= partitions]
    if unknown:
        problems.append(f"{_named(unknown)} committed, but the plan has only {partitions}")
    manifest = folder.manifest()
    if manifest is not None:
        for name, found in (
            ("bicliques", rows),
            ("digest", _total_digest(commits)),
            ("partitions", len(commits)),
        ):
            if manifest[name] != found:
                problems.append(f"manifest.json: {name} {manifest[name]}, the commit records say {found}")
    return problems


def _total_digest(commits: dict[int, Commit]) -> str:
    return f"{sum(int(commit.digest, 16) for commit in commits.values()) & MASK:016x}"


def _file(commit: Commit) -> dict[str, Any]:
    record = asdict(commit)
    del record["sizes"]
    return {"path": record.pop("file"), "subgraph": partition_name(commit.partition), **record}


def _named(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[:NAMED])) + (", …" if len(numbers) > NAMED else "")
    return f"partitions {named} ({len(numbers)})"
