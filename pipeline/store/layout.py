"""The layout on disk or object storage: which files a store has, and how a partition is committed.

A store is a folder behind any fsspec URL (a local path, ``memory://``, ``s3://bucket/prefix``)::

    <store>/bicliq-store.json            the format of this layout
    <store>/graphs/<graph>/              an ingested graph
        edges.parquet left_ids.parquet right_ids.parquet
        rows.parquet                     of a window of time: its rows, with their times
        graph.json                       names them, written after them
        changed.parquet (left_ids.parquet right_ids.parquet)   instead: what differs from another
                                         graph, which graph.json names (`pipeline.store.edges`)
        profile.parquet profile.json     (and two_hop.*): made from the edges
    <store>/runs/<run>/                  a run over a graph
        run.json                         what is asked
        plan.parquet reduced.parquet plan.json      (or plan-<attempt>.parquet)
        took/00001.json                  files that it took since (`pipeline.store.taken`)
        compared.json                    what a version in step changed (`pipeline.versions.update`)
        checks.json                      how the input compares with earlier ones (`pipeline.stages.checks`)
        partitions/part-00012.arrow      a closed subgraph, and part-00012.json, which names it
        bicliques/partition=00012/part-0.parquet    (or part-<attempt>.parquet)
        commits/partition-00012.json     written after the data: without it the data is invisible
        claims/partition-00012.lock      locked by the process that searches the partition (local disks)
        claims/run.lock                  locked by the processes that search the run (local disks)
        failures/partition-00012.json    why the last attempt failed
        manifest.json                    written last
        counts/…                         counts of (p,q)-bicliques (`pipeline.store.counts`)
    <store>/runs/<version>/              a run that an update made (`pipeline.store.versions`)
        changes/appeared.parquet changes/vanished.parquet    (or appeared-<attempt>.parquet)
        changes/edges-….arrow changes/portion-….arrow        while workers of a cluster search it
        run.json                         written last: it names both files, and holds the manifest
        pruned.json                      of a run or graph that is being removed (`pipeline.versions.prune`)
        claims/update.lock               locked by the process that makes it (local disks)
    <store>/cliques/<name>/              a maximum clique (`pipeline.questions.clique`)
    <store>/publications/…               which run is the latest (`pipeline.store.log`)
    <store>/sources/<name>.json          files that versions took (`pipeline.store.taken`)
    <store>/reports/<name>.html          a page for people (`pipeline.report`), made again at any time

Every JSON file is a sealed record (`pipeline.store.records`), and every other file but locks is
named by one of them, with its size and its checksum. What no record names is not read by anybody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import uuid
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from bicliq.pipeline.errors import DamageError, InputError, StorageError
from bicliq.pipeline.events import warn
from bicliq.pipeline.store.commits import data_name
from bicliq.pipeline.store.file_systems import file_system
from bicliq.pipeline.store.folder import MEND, Folder
from bicliq.pipeline.store.record import Record, earlier_format
from bicliq.pipeline.store.records import (
    FORMAT,
    Commit,
    Failure,
    Manifest,
    PartitionCounts,
    PlanRecord,
    RunRecord,
    StoredGraph,
    StoreRecord,
    Subgraph,
)

READERS = 8
"""Data files whose checksums are compared side by side."""

STORE_FILE = StoreRecord.at


P = TypeVar("P", Commit, PartitionCounts)


class GraphFolder(Folder):
    """The folder of a graph.

    Edges, id dictionaries, profile, and ``graph.json``, which names the first three.
    """

    def exists(self) -> bool:
        """Whether the graph is there."""
        return self.has(StoredGraph.at)

    def must_exist(self) -> None:
        """Raise InputError where the graph is not in the store."""
        if not self.exists():
            raise InputError(f"{self.uri}: this graph is not in the store; ingest its edge table first")

    def record(self) -> StoredGraph:
        """Read graph.json."""
        return self.read(StoredGraph)

    def base(self, record: StoredGraph | None = None) -> GraphFolder | None:
        """The graph that this one is told by its differences from, or None: it is whole."""
        name = (record or self.record()).base
        if name is None:
            return None
        base = GraphFolder(self.fs, self.root, f"graphs/{name}")
        known = base.find(StoredGraph)
        if known is not None and known.base is not None:
            raise DamageError(f"{self.uri}: it is made of {base.uri}, which is not whole; {MEND}")
        return base

    def why_damaged(self) -> str | None:
        """Read all of the graph; says what is damaged or missing, or None."""
        try:
            base = self.base()
            for folder in [self] if base is None else [self, base]:
                for file in folder.record().stored:
                    folder.check(file)
            return None
        except DamageError as error:
            return str(error)


class RunFolder(Folder):
    """The folder of a run: plan, partitions, bicliques, commit records; the manifest comes last."""

    @property
    def store(self) -> Store:
        """The store that the run is in."""
        return Store(self.fs, self.root)

    @property
    def run(self) -> str:
        """Name of the run."""
        return self.place.rsplit("/", 1)[-1]

    @cached_property
    def asked(self) -> RunRecord:
        """What is asked of the run, as its run.json says; read once for this object."""
        return self.record()

    @cached_property
    def planned(self) -> PlanRecord:
        """The plan's record, as its plan.json says; read once for this object."""
        return self.read(PlanRecord)

    def record(self) -> RunRecord:
        """Read run.json."""
        return self.read(RunRecord)

    @property
    def graph(self) -> GraphFolder:
        """The folder of the graph that the run searches."""
        return self.store.graph(self.asked.graph)

    def exists(self) -> bool:
        """Whether the run was started."""
        return self.has(RunRecord.at)

    def manifest(self) -> Manifest | None:
        """Manifest of the run, or None while it is not published.

        That of a version lies in its run.json (`pipeline.store.versions`).
        """
        found = self.find(Manifest)
        if found is not None:
            return found
        record = self.find(RunRecord)
        return None if record is None or record.layered is None else record.layered.manifest

    def published(self) -> Manifest:
        """Manifest of the run; raises StorageError where it is not published."""
        found = self.manifest()
        if found is None:
            raise StorageError(f"{self.uri}: the run is not published; resume it first")
        return found

    def unpublish(self) -> None:
        """Remove the manifest, before anything that it describes is changed."""
        self.remove(Manifest.at)

    @contextlib.contextmanager
    def claim_partition(self, number: int) -> Iterator[None]:
        """Hold a partition for this process, as `claim` does.

        Two runs at once on one machine search each of them once.

        On an object store both may search it: each writes a data file of its own, and the first
        commit record stands.
        """
        with self.claim(f"partition-{number:05d}"):
            yield

    @contextlib.contextmanager
    def claim_run(self, second_run: Literal["share", "wait", "refuse"]) -> Iterator[None]:
        """Hold the search of the run for this process; the claim ends with the process.

        `second_run`: "share": others that share may search at the same time; "wait": this process
        alone, as soon as no other one does; "refuse": this process alone, or an error. Raises
        InputError where another process has it, and the second one is to be refused; or on an
        object store, which knows no locks, unless it is shared.
        """
        if not self.is_local:
            if second_run != "share":
                raise InputError(
                    f"{self.uri}: second_run is {second_run!r}, but object stores know no locks; leave it at 'share' (each"
                    " partition counts once), or limit the deployment's concurrency in Prefect"
                )
            yield
            return
        with self.lock_file("run") as file:
            kind = fcntl.LOCK_SH if second_run == "share" else fcntl.LOCK_EX
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if second_run == "refuse":
                    raise InputError(
                        f"{self.uri}: another process searches this run; try later, or let both go on with second_run ="
                        " 'share'"
                    ) from None
                warn("run waits for another process that searches it", run=self.run)
                fcntl.flock(file, kind)
            yield

    def attempt_name(self, number: int) -> str:
        """Name for the data file of an attempt at a partition.

        Another one than those that may be there.
        """
        if self.is_local and not self.has(data_name(number)):  # the claim keeps others off
            return data_name(number)
        return data_name(number, uuid.uuid4().hex[:8])

    def commit_partition(self, commit: Commit, replaces: Commit | None = None) -> Commit:
        """Make a partition's data file visible.

        From now on it is never searched again, if it is complete.

        `commit`: what was found. `replaces`: the commit in whose place it comes: one that a limit
        had cut off, or is to be cut. Returns the commit that stands. On an object store that may be
        another process's, which came first; then this data file is removed.

        What other attempts left, finished or not, is removed: nothing of it can be committed any
        more.
        """
        folder = f"bicliques/partition={commit.partition:05d}"
        stands = self.commit(Commit.name(commit.partition), commit, folder, replaces)
        if stands.file == commit.file:
            self.remove(Failure.name(commit.partition))
        return stands

    def remove_attempts(self, commits: Collection[Commit]) -> None:
        """Remove the data files that no commit names, of partitions searched to their end."""
        kept = {commit.partition: commit.file for commit in commits if commit.complete}
        attempts = map(Commit.file_pattern.fullmatch, self.files("bicliques"))
        self.remove(*(at[0] for at in attempts if at and kept.get(int(at[1]), at[0]) != at[0]))

    def uncommit_partition(self, number: int) -> None:
        """Make a partition's data file invisible again, so that it can be replaced."""
        self.unpublish()
        self.remove(Commit.name(number))

    def read_commit(self, number: int) -> Commit | None:
        """Commit record of one partition, or None."""
        return self.find(Commit, Commit.name(number))

    def committed(self) -> dict[int, Commit]:
        """Commits of all committed partitions by number, ascending.

        Raises DamageError where a commit record is damaged, is not of the run's plan, or its data
        file is missing or of another size.
        """
        sound, damaged = self.examine_commits()
        if damaged:
            number, reason = next(iter(damaged.items()))
            more = f" ({len(damaged)} partitions are damaged)" if len(damaged) > 1 else ""
            raise DamageError(f"partition {number}{more}: {reason}")
        return sound

    def examine_commits(
        self, check: bool = False, only: Collection[int] | None = None
    ) -> tuple[dict[int, Commit], dict[int, str]]:
        """Compare all commit records with the plan and with the data files, as `examine`."""
        return self.examine(Commit, "commits", "bicliques", check, only)

    def examine(
        self, kind: type[P], under: str, data: str, check: bool = False, only: Collection[int] | None = None
    ) -> tuple[dict[int, P], dict[int, str]]:
        """Compare what was found in partitions with the plan and with the data files.

        `kind`, `under`, `data`: the kind of its records, and the folders of these and of their
        files. `check`: whether to read the data files and compare their checksums, too; otherwise
        their sizes only. `only`: partitions whose files are read; None: those of all. Returns the
        sound records by partition, ascending, and why others cannot be used.
        """
        numbers = self.numbers_of(kind, under)
        if not numbers:
            return {}, {}
        records = self.read_each(kind, numbers.values())
        plan = self.read(PlanRecord)
        sizes = self.files(data)  # after the records: a data file is there before its commit
        sound: dict[int, P] = {}
        damaged: dict[int, str] = {}
        checked = [check and (only is None or number in only) for number in numbers]
        with ThreadPoolExecutor(READERS, "check") as pool:
            reasons = list(
                pool.map(lambda n, c: self.why_unusable(n, records[n], plan, sizes, c), numbers.values(), checked)
            )
        for (number, name), reason, compare in zip(numbers.items(), reasons, checked, strict=True):
            record = records[name]
            if reason is not None:  # another process may have replaced it meanwhile, or taken it away
                if not self.has(name):
                    continue
                record = self.read_each(kind, [name])[name]
                reason = self.why_unusable(name, record, plan, self.files(data), compare)
            if reason is None and not isinstance(record, DamageError):
                sound[number] = record
            else:
                damaged[number] = str(reason)
        return sound, damaged

    def numbers_of(self, kind: type[Record], under: str) -> dict[int, str]:
        """Partitions that have a record of a kind in a folder, ascending, with its name."""
        found = {name: kind.pattern.fullmatch(name) for name in self.files(under)}
        return dict(sorted((int(match[match.lastindex or 0]), name) for name, match in found.items() if match))

    def why_unusable(
        self,
        name: str,
        record: Commit | PartitionCounts | Subgraph | DamageError,
        plan: PlanRecord,
        sizes: dict[str, int],
        check: bool,
    ) -> str | None:
        """Say why what was found in a partition cannot be used, by the plan and the files."""
        if isinstance(record, DamageError):
            return str(record)
        if record.plan != plan.digest or record.partition >= plan.partitions:
            return f"{self.path_of(name)}: it was committed for another plan; {MEND}"
        for file in record.stored:
            where = self.path_of(file.name)
            if file.name not in sizes:
                return f"{where}: the file is missing; {MEND}"
            if sizes[file.name] != file.bytes:
                return f"{where}: {sizes[file.name]} bytes, its {record.kind} record says {file.bytes}; {MEND}"
            if check:
                try:
                    self.check(file)
                except DamageError as error:
                    return str(error)
        return None

    def record_failure(self, number: int, error: str) -> None:
        """Record why the last attempt at a partition failed."""
        self.write(Failure.name(number), Failure(partition=number, error=error))

    def failures(self) -> dict[int, str]:
        """Partitions whose last attempt failed, with the reason."""
        records = self.read_each(Failure, self.numbers_of(Failure, "failures").values())
        return {found.partition: found.error for found in records.values() if not isinstance(found, DamageError)}


@dataclass(frozen=True)
class Store:
    """Graphs and runs behind one fsspec URL.

    Parameters
    ----------
    fs
        The fsspec file system.
    path
        Root of the store in it.

    Examples
    --------
    >>> store = Store.open("memory://example-store")
    >>> store.runs()
    []
    """

    fs: Any
    path: str

    @property
    def uri(self) -> str:
        """URL of the store, which another process can open."""
        return str(self.fs.unstrip_protocol(self.path))

    @property
    def root(self) -> Folder:
        """The folder of the store itself."""
        return Folder(self.fs, self.path)

    @classmethod
    def at(cls, uri: str) -> Store:
        """Return the store at a URL, whether there is one or not."""
        fs, path = file_system(uri)
        return cls(fs, path.rstrip("/"))

    @classmethod
    def to_verify(cls, uri: str) -> Store:
        """Open a store whose own record may be damaged or missing.

        Raises StorageError where there is no store, or one of another format.
        """
        store = cls.at(uri)
        if store.root.has(STORE_FILE):
            with contextlib.suppress(DamageError):
                store.check_format()
        elif not {"graphs", "runs", "cliques"} & set(store.root.folders()):
            raise StorageError(f"{uri}: no store is here ({STORE_FILE} is missing); name the store of a run")
        return store

    @classmethod
    def open(cls, uri: str | os.PathLike[str], create: bool = True) -> Store:
        """Open a store, and create it where there is nothing yet.

        `uri`: a local path or any fsspec URL. `create`: whether to create the store; otherwise it
        must exist. Raises StorageError where the URL cannot be read or written, or holds a store of
        another format.
        """
        store = cls.at(os.fspath(uri))
        root = store.root
        if root.has(STORE_FILE):  # asked first: s3fs tries a read of a silent store five times as often
            store.check_format()
        else:
            if store.graphs() or store.runs():
                raise DamageError(f"{root.path_of(STORE_FILE)}: this record is missing, its store is there; {MEND}")
            if not create:
                raise StorageError(
                    f"{uri}: no store is here ({STORE_FILE} is missing); name the store of a run (with a scheduler, one"
                    " that all machines of the cluster reach by this name: a shared folder, or an object store)"
                )
            root.write(STORE_FILE, StoreRecord(format=FORMAT))
        return store

    def check_format(self) -> None:
        """Refuse a store that another version of bicliq wrote, and one whose record is damaged.

        Raises StorageError with both formats, and what to do.
        """
        try:
            found: object = self.root.read(StoreRecord).format
        except DamageError:
            found = earlier_format(self.root.read_bytes(STORE_FILE))
            if found is None:
                raise
        if found != FORMAT:
            raise StorageError(
                f"{self.root.path_of(STORE_FILE)}: the store has format {found}, this version of bicliq reads and writes format {FORMAT};"
                " name another store and run again, or read this one with the version of bicliq that wrote it"
            )

    def graph(self, graph: str) -> GraphFolder:
        """Return the folder of a graph, which need not exist yet."""
        return GraphFolder(self.fs, self.path, f"graphs/{graph}")

    def run(self, run: str) -> RunFolder:
        """Return the folder of a run, which need not exist yet."""
        return RunFolder(self.fs, self.path, f"runs/{run}")

    def clique(self, name: str) -> Folder:
        """Return the folder of a maximum clique, which need not exist yet."""
        return Folder(self.fs, self.path, f"cliques/{name}")

    def graphs(self) -> list[str]:
        """Return the graphs of the store, sorted."""
        names = Folder(self.fs, self.path, "graphs").folders()
        return [name for name in names if self.graph(name).exists()]

    def runs(self) -> list[str]:
        """Return the runs of the store, sorted.

        `pipeline.store.states` says when they were made.
        """
        names = Folder(self.fs, self.path, "runs").folders()
        return [name for name in names if self.run(name).exists()]

    def find_graph(self, start: str) -> str:
        """Return the one graph whose name begins so.

        Raises InputError where none or several do.
        """
        return start if start and self.graph(start).exists() else self._one_of("graph", self.graphs(), start)

    def find_run(self, start: str) -> str:
        """Return the one run whose name begins so.

        Raises InputError where none or several do.
        """
        return start if start and self.run(start).exists() else self._one_of("run", self.runs(), start)

    def _one_of(self, what: str, names: list[str], start: str) -> str:
        found = [name for name in names if name.startswith(str(start))]
        if len(found) != 1:
            how_many = f"is the beginning of {len(found)} {what}s" if found else f"is no {what} of this store"
            listed = ", ".join((found or names)[:10]) or "none"
            raise InputError(f"{self.uri}: {start!r} {how_many}; name one of: {listed}")
        return found[0]
