"""Compact: a version written as a run of its own, which stands on nothing.

The data files of its base are merged with what appeared since, without what vanished; or its graph
is searched, where that is known to take less. Its graph is written whole, too. What comes of it is
a run like any other: a plan (that of the base, with later vertices at its end), subgraphs, data
files, commit records, and a manifest that is written last. So a process that is killed leaves the
version as it was, and the same command goes on with the partitions that are not committed. The run
keeps what is known of its version: parent, update, files taken.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of, empty_table, values_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import tell
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.stages.extend import extended_plan, write_whole
from bicliq.pipeline.stages.partition import write_partitions
from bicliq.pipeline.stages.plan import known_plan
from bicliq.pipeline.stages.planned import PLAN_COLUMNS, Plan, commit_plan, read_plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search import biclique_writer, search_partition
from bicliq.pipeline.stages.search_run import sound_commits
from bicliq.pipeline.store.biclique_reader import BicliqueReader, Int64s
from bicliq.pipeline.store.bicliques import MASK, SCHEMA, batches_of
from bicliq.pipeline.store.labels import Hashes, read_hashes
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.manifest import moment_after
from bicliq.pipeline.store.records import FORMAT, Commit, Held, PlanRecord, RunRecord
from bicliq.pipeline.store.states import OpenedRun, latest_run, read_run
from bicliq.pipeline.store.taken import holds_taken_alone, own_taken
from bicliq.pipeline.store.versions import Part, layers_of

How = Literal["merged", "searched", "whole"]

MERGED_A_SECOND = 2_000_000
"""Bicliques that are read, compared with what vanished, and written again in a second, about."""

LIGHT = 50_000
"""Bicliques that changed, of which a reader notices nothing (0.05 s): so few are never worth it."""


@dataclass(frozen=True)
class CompactRecord:
    """What was written of a version.

    Parameters
    ----------
    run, version, store
        The new run, the version that it holds, and the store's URL; both runs are one where the
        version stands on nothing already.
    bicliques, digest
        Those of either, and their set digest, 16 hex digits.
    layers
        Updates that the version stood on, besides its base.
    how
        "merged" from files, "searched" anew, or "whole": there was nothing to do.
    partitions, written
        Data files of the run, and those of them that this call wrote.
    bytes, bytes_before
        Size of the data files of the run, and of those that the version was read from.
    seconds
        Duration.
    """

    run: str
    version: str
    store: str
    bicliques: int
    digest: str
    layers: int
    how: How
    partitions: int
    written: int
    bytes: int
    bytes_before: int
    seconds: float

    def record(self) -> dict[str, Any]:
        """Plain record for JSON."""
        return asdict(self)


def compact(store: Store, run: str | None = None, threads: int = 0) -> CompactRecord:
    """Write a version as a run of its own, which stands on no other run.

    `store`, `run`: the version, or how its name begins; by default the run that was published last.
    `threads`: threads that encode, or search; 0: all that this process may use. Raises InputError
    where the run is not published whole. Raises DamageError where a file of the version is damaged;
    nothing is then published.

    One read and one write of all bicliques, a row group at a time, in one thread; or a search, with
    all of them, where the first run of the table took less than that. Either is compared with the
    digest of the version. The version stays until it is pruned. Its run is the latest one where the
    version was: it counts as published when that was.
    """
    started = time.perf_counter()
    name = latest_run(store) if run is None else store.find_run(run)
    opened = read_run(store.run(name))
    if opened.state.name != "published" or opened.manifest is None:
        raise InputError(
            f"{store.run(name).uri}: only a published run can be written whole; this one is {opened.state}"
        )
    if opened.asked.layered is None:
        return _record(store, name, name, opened, 0, "whole", 0, started)
    folder = store.run(compact_id(name))
    with folder.claim("compact"):
        compaction = _Compaction(folder, name, opened, threads)
        written = compaction.done()
    return _record(store, folder.run, name, opened, len(opened.asked.layers), compaction.how, written, started)


def compact_id(version: str) -> str:
    """Name the run that a version is written as: a hash of the version's name."""
    what = {"format": FORMAT, "compacts": version}
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


def why_heavy(store: Store, asked: RunRecord, share: float) -> str | None:
    """Say in words why a version is worth being written whole, or None.

    `store`, `asked`: the run.json of a version. `share`: rows of its layers, as a share of its
    bicliques, that are not worth it yet.
    """
    rows = sum(layer.rows for layer in layers_of(store, asked))
    bicliques = asked.version.manifest.bicliques
    if rows <= max(LIGHT, share * max(bicliques, 1)):
        return None
    return f"{rows:,} bicliques changed since its base was searched, of {bicliques:,}"


class _Compaction:
    """One version on its way to a run of its own."""

    def __init__(self, folder: RunFolder, version: str, opened: OpenedRun, threads: int) -> None:
        self._folder, self._version, self._opened, self._threads = folder, version, opened, threads
        self._store = folder.store
        self._searched_in = _search_seconds(self._base)
        merged_in = opened.manifest.bicliques / MERGED_A_SECOND if opened.manifest else 0.0
        cpu_seconds = None if self._searched_in is None else self._searched_in / kernels.number_of_threads(threads)
        self.how: How = "searched" if cpu_seconds is not None and cpu_seconds < merged_in else "merged"

    def done(self) -> int:
        """Write what is not committed, and publish; returns the partitions that were written."""
        before = self._opened.manifest
        assert before is not None  # a version is published
        if not self._folder.exists():
            self._folder.write(RunRecord.at, self._asked())
        plan, record = self._planned()
        write_partitions(self._store, self._folder.run)
        done = sound_commits(self._folder, check=False)
        missing = [number for number in range(record.partitions) if number not in done or not done[number].complete]
        if missing and self.how == "searched":
            for number in missing:
                search_partition(self._store.uri, self._folder.run, number, self._threads)
        elif missing:
            hashes = read_hashes(self._store.graph(record.graph))
            rows = _Rows(self._opened, read_plan(self._base), plan)
            for number in missing:
                self._write(number, rows, hashes, plan.digest)
        published = self._folder.manifest()
        if published is None or missing or published.created != before.created:
            publish(self._store, self._folder.run)
        tell("version compacted", version=self._version, run=self._folder.run, partitions=len(missing))
        return len(missing)

    @property
    def _base(self) -> RunFolder:
        return self._store.run(self._opened.asked.base)

    def _asked(self) -> RunRecord:
        asked = self._opened.asked
        now = asked.version.manifest
        return replace(
            asked,
            stored=(),
            run=self._folder.run,
            graph=write_whole(self._store, asked.graph),
            created=moment_after(asked.created),
            taken=own_taken(self._store, asked),
            holds_taken_alone=holds_taken_alone(self._store, asked),
            beside=False,
            compacts=self._version,
            holds=Held(bicliques=now.bicliques, digest=now.digest, created=now.created),
            search_seconds=self._searched_in,
            layered=None,
        )

    def _planned(self) -> tuple[Plan, PlanRecord]:
        """The plan of the base for the graph of the version, made unless a plan is there.

        Files are merged by the roots of the base. Under any other plan the graph is searched.
        """
        asked = self._folder.record()
        search, graph = asked.search, read_graph(self._store.graph(asked.graph))
        is_reduced = max(search.min_left, search.min_right) > 1
        if is_reduced:
            graph = reduce(graph, search.min_left, search.min_right).in_old_ids(graph.n_left, graph.n_right)
        extended = extended_plan(read_plan(self._base), graph)
        dense = np.unique(extended.partition, return_inverse=True)[1].astype(np.int32)
        own = replace(extended, partition=dense)
        with self._folder.claim("plan"):
            record = known_plan(self._folder) or self._plan(asked, own, graph, is_reduced=is_reduced)
        if record.digest != own.digest:
            self.how = "searched"
        return read_plan(self._folder), record

    def _plan(self, asked: RunRecord, found: Plan, graph: BipartiteGraph, *, is_reduced: bool) -> PlanRecord:
        known, written = self._base.planned, []
        if is_reduced:
            written.append(self._folder.write_table(self._folder.attempt_of("reduced.parquet"), graph.to_batches()))
        name = self._folder.attempt_of("plan.parquet")
        written.append(self._folder.write_table(name, found.to_table(), differences=PLAN_COLUMNS))
        record = replace(
            known,
            stored=tuple(written),
            run=self._folder.run,
            graph=asked.graph,
            n_left=int((graph.left_degrees > 0).sum()),
            n_right=int((graph.right_degrees > 0).sum()),
            n_edges=graph.n_edges,
            n_roots=int(found.roots.size),
            partitions=int(found.partition.max(initial=-1)) + 1,
            est_cost=int(found.cost.sum()),
            digest=found.digest,
        )
        return commit_plan(self._folder, record)

    def _write(self, number: int, rows: _Rows, hashes: tuple[Hashes, Hashes], plan: str) -> None:
        """Write and commit a partition, unless another process did."""
        started = time.perf_counter()
        with self._folder.claim_partition(number):
            if self._folder.read_commit(number) is not None:
                return
            digest, name = 0, self._folder.attempt_name(number)
            count = 0
            with self._folder.sink(name) as sink, biclique_writer(self._folder, sink, self._threads) as writer:
                for batch in (batch for table in rows.of(number) for batch in batches_of(table)):
                    writer.write(batch)
                    digest += kernels.check_bicliques(batch, *hashes)[0]
                    count += len(batch)
            commit = Commit(
                stored=(sink.file(name),),
                partition=number,
                rows=count,
                digest=f"{digest & MASK:016x}",
                seconds=round(time.perf_counter() - started, 6),
                complete=True,
                sizes=writer.sizes.counts(),
                plan=plan,
                backend=rows.backend,
                threads=kernels.number_of_threads(self._threads),
            )
            self._folder.commit_partition(commit)


def _search_seconds(base: RunFolder) -> float | None:
    """What a search of a run's graph takes one thread of a CPU, as far as that is known.

    Runs that were written whole hand it on.
    """
    asked = base.record()
    if asked.compacts is not None:
        return asked.search_seconds
    commits = base.committed().values()
    if any(not commit.backend.startswith("cpu") for commit in commits):
        return None
    return sum(commit.seconds * max(commit.threads, 1) for commit in commits)


class _Rows:
    """The bicliques of a version by the partitions of a new plan.

    `base`, `plan`: the plan of its base, and the new one, which extends it.
    """

    def __init__(self, opened: OpenedRun, base: Plan, plan: Plan) -> None:
        self._parts = list(opened.parts.values())
        self.backend = next((part.commit.backend for part in self._parts), "none")
        assert opened.manifest is not None  # a version is published
        self._partition = np.full(
            getattr(opened.manifest, f"n_{plan.side}"), -1, np.int64
        )  # what vanished may be of none
        self._partition[plan.roots] = plan.partition
        kept = np.isin(base.roots, plan.roots)
        both = base.partition[kept].astype(np.int64), self._partition[base.roots[kept]]
        self._of_base = dict(np.unique(both, axis=1).T.tolist())  # a partition of the base is in one of these

    def of(self, number: int) -> Iterator[pa.Table]:
        """Yield the bicliques of a partition, with dense ids, a row group of a file at a time."""
        for part in self._parts:
            if part.base is not None and self._of_base.get(part.base) != number:
                continue
            with part.open() as file:
                for group in range(len(file.rows)):
                    rows = self._mine(file, group, number)
                    table = self._living(part, file, group, rows) if rows.size else empty_table(SCHEMA)
                    if table.num_rows:
                        yield table.combine_chunks()

    def _mine(self, file: BicliqueReader, group: int, number: int) -> Int64s:
        """Rows of a row group whose root is in a partition."""
        return np.flatnonzero(self._partition[values_of(file.numbers(group)["root"])] == number)

    @staticmethod
    def _living(part: Part, file: BicliqueReader, group: int, rows: Int64s) -> pa.Table:
        """Those of some rows that did not vanish."""
        table = file.table(group, None if rows.size == file.rows[group] else rows)
        lives = part.lives(file, group, rows, table)
        return table if lives.all() else table.filter(column_of(lives))


def _record(
    store: Store, run: str, version: str, opened: OpenedRun, layers: int, how: How, written: int, started: float
) -> CompactRecord:
    manifest = store.run(run).published()
    return CompactRecord(
        run=run,
        version=version,
        store=store.uri,
        bicliques=manifest.bicliques,
        digest=manifest.digest,
        layers=layers,
        how=how,
        partitions=manifest.partitions,
        written=written,
        bytes=manifest.bytes,
        bytes_before=int(sum(part.commit.bytes for part in opened.parts.values())),
        seconds=round(time.perf_counter() - started, 6),
    )
