"""Verify: every file of a store read again, and compared with its record.

Bicliques compared with their graph.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import BicliqError, DamageError, InputError, StorageError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.graphs.in_step import Windows
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.stages.in_step import expand, stored_table
from bicliq.pipeline.stages.partition import read_partition
from bicliq.pipeline.stages.planned import Plan, read_plan, read_run_graph
from bicliq.pipeline.stages.publish import named, total_digest
from bicliq.pipeline.stages.verify_roots import RootCheck, graph_to_search
from bicliq.pipeline.stages.verify_rows import RowChecker, RowsRead, columns_of, wrong_values
from bicliq.pipeline.stages.verify_version import VersionCheck
from bicliq.pipeline.store.biclique_reader import LargerSides, open_bicliques
from bicliq.pipeline.store.bicliques import MASK, schema_of
from bicliq.pipeline.store.commits import partition_name
from bicliq.pipeline.store.counts import COUNTS_FILE, sizes_of_key, sums_of
from bicliq.pipeline.store.folder import is_at_work
from bicliq.pipeline.store.inventory import FOLDERS, Inventory, is_gone, places_of, take_inventory
from bicliq.pipeline.store.labels import read_hashes
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.log import unnumbered, untold, was_published
from bicliq.pipeline.store.record import Record
from bicliq.pipeline.store.records import (
    CliqueRecord,
    Commit,
    Counts,
    Manifest,
    PartitionCounts,
    PlanRecord,
    RunRecord,
)
from bicliq.pipeline.store.states import RunState, compare, state_of, version_state
from bicliq.pipeline.store.versions import parts_of
from bicliq.pipeline.store.worth import Surprise

SAMPLE = 1_000
"""Bicliques of a run whose maximality `verify` checks, unless told otherwise."""


@dataclass(frozen=True)
class Verification:
    """What `verify` found of a run.

    Parameters
    ----------
    run
        The run.
    state
        How far it is, in words; "damaged" where that cannot be told.
    complete
        Whether all that was asked for is there, and published.
    bicliques
        Bicliques read.
    digest
        Set digest of what was read, 16 hex digits.
    partitions
        Data files read.
    sampled
        Bicliques checked against the graph: complete, and maximal.
    roots
        Roots that were searched again, and compared with what is stored of them.
    wrong
        Partitions of which these showed that something else is stored than a search finds.
    problems
        One sentence a problem; empty where all is well. From `verify_store`, those that are no
        single file's.
    leftovers
        Files of processes that were killed, which nobody reads: no damage. Empty from
        `verify_store`, which lists them all.
    """

    run: str
    state: str
    complete: bool
    bicliques: int
    digest: str
    partitions: int
    sampled: int
    roots: int
    wrong: list[int]
    problems: list[str]
    leftovers: list[str]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


@dataclass(frozen=True)
class StoreVerification:
    """What `verify_store` found.

    `store`: URL of the store. `bytes`: bytes read of files and records. `problems`, `leftovers`: as
    of a run: those of all runs, graphs and cliques.
    """

    store: str
    graphs: int
    cliques: int
    runs: list[Verification]
    bytes: int
    problems: list[str]
    leftovers: list[str]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def record(self) -> dict[str, Any]:
        """Plain record for JSON.

        Of a single run its entries stand beside those of the store, too.
        """
        whole = {**asdict(self), "ok": self.ok}
        return {**asdict(self.runs[0]), **whole} if len(self.runs) == 1 else whole


def verify(store: Store, run: str, sample: int = SAMPLE, seed: int = 0, roots: int = 0) -> Verification:
    """Read every file of a run and of its graph again, and check it.

    Checked are the seal of each record and the checksum of each file that one names; that nothing
    is missing, foreign or of another place; the schema, the rows, the lengths of lists, their
    thresholds, sizes and digest of each data file; that no partition is missing or unaccounted for;
    the manifest's totals, or those of counts; for a seeded sample, that each biclique is one of the
    graph and cannot be extended on either side; and, of a sample of roots, that what a new search
    of them finds is stored, and nothing else.

    `store`, `run`: a run, published or not. `sample`: bicliques to check against the graph. `seed`:
    seed of both samples. `roots`: roots to search again (`pipeline.stages.verify_roots.EVERY_ROOT`:
    all), of partitions that are searched to their end. What is found has one sentence a problem.
    That a run is not searched to its end is none: `state` says so.

    Each byte is read once more than the bicliques are. Of a run that is being searched, what
    changes meanwhile may be reported.
    """
    found = verify_store(store, run, sample, seed, roots)
    if not found.runs:
        raise InputError(f"{store.run(run).uri}: there is no such run")
    of_run = found.runs[0]
    return replace(of_run, problems=found.problems, leftovers=found.leftovers)


def verify_store(
    store: Store, run: str | None = None, sample: int = SAMPLE, seed: int = 0, roots: int = 0
) -> StoreVerification:
    """Verify a store, or one of its runs with the graph of that run.

    The other parameters are those of `verify`, and hold for each run.
    """
    found = take_inventory(store, FOLDERS if run is None else places_of(store, run))
    runs = [one for one in examine(store, found, sample, seed, roots) if run in (None, one.run)]
    problems = [*found.sentences(), *(problem for run in runs for problem in run.problems)]
    if run is None:
        problems += unnumbered(found.records, found.problems)
        beside = [path for path in untold(found.records) if path not in found.problems and not store.root.has(path)]
        problems += [
            f"{path}: it is missing; let bicliq verify --repair write it, or give its command again" for path in beside
        ]
    for place in found.places:
        problems += _clique_problems(store, place, found) if place.startswith("cliques/") else []
    if problems and any(is_gone(store, place, found) for place in found.places):
        return verify_store(store, run, sample, seed, roots)  # what a prune took away meanwhile is no damage
    many = {kind: sum(place.startswith(f"{kind}/") for place in found.places) for kind in FOLDERS}
    return StoreVerification(
        store.uri, many["graphs"], many["cliques"], runs, found.bytes, problems, sorted(found.leftovers)
    )


def examine(store: Store, found: Inventory, sample: int = SAMPLE, seed: int = 0, roots: int = 0) -> list[Verification]:
    """Check what the runs of an inventory say, of whose files that knows already what is wrong."""
    names = [place.split("/")[1] for place in found.places if place.startswith("runs/")]
    asked = {name: found.record(RunRecord, f"runs/{name}") for name in names}
    parents = {record.parent for record in asked.values() if record is not None}
    verified = []
    for name, record in asked.items():
        if record is not None and record.layered is not None:  # rows of others are read for the last version only
            check = VersionCheck(store, record, found)
            problems = check.problems(sample, seed, roots, whole=name not in parents)
            state = version_state(record.layered.manifest)
            about = (str(state), state.complete, check.rows, check.digest, check.files)
            verified.append(Verification(name, *about, check.sampled, check.roots, [], problems, []))
        else:
            verified.append(_verified(store, name, found, sample, seed, roots))
    return verified


def _verified(store: Store, run: str, found: Inventory, sample: int, seed: int, roots: int) -> Verification:
    """Check what a run's sound records and files say."""
    read = _Read()
    check = _RunCheck(store.run(run), found)
    state = check.state()
    problems = list[str]()
    if state is not None and state.name == "count":
        problems += check.counts()
    elif state is not None:
        problems += check.bicliques(read, sample, seed) + check.roots(read, roots, seed)
    words, complete = ("damaged", False) if state is None else (str(state), state.complete)
    digest = f"{read.digest & MASK:016x}"
    return Verification(
        run, words, complete, read.rows, digest, read.files, read.sampled, read.roots, read.wrong, problems, []
    )


@dataclass
class _Read:
    """What was read of the data files of a run."""

    rows: int = 0
    digest: int = 0
    files: int = 0
    sampled: int = 0
    roots: int = 0
    wrong: list[int] = field(default_factory=list)


class _RunCheck:
    """Checks of a run that look at several records, or into its data files."""

    def __init__(self, folder: RunFolder, found: Inventory) -> None:
        self._folder = folder
        self._found = found
        self._asked, self._plan = found.record(RunRecord, folder.place), found.record(PlanRecord, folder.place)
        self._manifest, self._counts = found.record(Manifest, folder.place), found.record(Counts, folder.place)
        self._commits = {c.partition: c for _, c in sorted(found.records_in(Commit, folder.place).items())}

    def state(self) -> RunState | None:
        """How far the run is, or None where its records do not tell."""
        kinds = (RunRecord, PlanRecord, Manifest, Counts)
        damaged = [self._found.is_damaged(f"{self._folder.place}/{kind.at}") for kind in kinds]
        if self._asked is None or any(damaged):
            return None
        return state_of(self._asked, self._plan, self._commits, self._manifest, self._counts)

    def bicliques(self, read: _Read, sample: int, seed: int) -> list[str]:
        """Check the data files against their commit records, the manifest and the graph."""
        problems = self._totals()
        if self._asked is None or self._plan is None:
            return problems
        plan = None
        with contextlib.suppress(BicliqError):  # the inventory names it
            plan = read_plan(self._folder)
        windows = None
        try:
            windows = self._windows
            graph = read_run_graph(self._folder) if windows is None else windows.graph
        except BicliqError as error:
            graph = None
            problems.append(f"{self._folder.place}: its bicliques are not checked against the graph: {error}")
        try:
            hashes = read_hashes(self._folder.store.graph(self._asked.graph))
        except BicliqError:  # the inventory names what is damaged of the graph
            hashes = None
        if plan is not None and graph is not None:
            problems += self._uncovered(plan, graph)
        other = self._other_version()
        if other is not None:  # whatever partition it is: all are searched again by a repair
            problems.append(other)
            read.wrong = sorted(self._commits)
        checker = RowChecker(graph, self._plan.side, self._asked.search, hashes, plan, windows)
        in_store = self._folder.store.graph(self._asked.graph)
        sides, surprise = LargerSides(in_store), Surprise(in_store)  # the graph is read once for all threads
        look = partial(self._look_at, checker=checker, publish=self._asked.publish, sides=sides, surprise=surprise)
        total = sum(commit.rows for commit in self._commits.values())
        generator = np.random.default_rng(seed)
        for commit in self._commits.values():
            share = min(commit.rows, -(-sample * commit.rows // max(total, 1)))
            picked = np.sort(generator.choice(commit.rows, share, replace=False))
            if f"{self._folder.place}/{commit.file}" in self._found.files:
                problems += self._data(commit, checker, look, read, picked)
        return problems

    def roots(self, read: _Read, roots: int, seed: int) -> list[str]:
        """Search roots again, of partitions that are there and were searched to their end."""
        if not roots or self._asked is None or self._plan is None:
            return []
        place, asked = self._folder.place, self._asked
        whole = {n: c for n, c in self._commits.items() if c.complete and f"{place}/{c.file}" in self._found.files}
        parts = parts_of(self._folder, asked, self._plan.digest, whole, ())
        try:
            plan, search = read_plan(self._folder), asked.search
            in_store, windows = self._folder.store.graph(asked.graph), self._windows
            graph = graph_to_search(read_graph(in_store), search) if windows is None else windows.graph
            checker = RowChecker(graph, plan.side, search, None, windows=windows)
            check = RootCheck(place, graph, plan, search, list(parts.values()), checker)
            problems = check.problems(roots, seed, set(whole))
        except BicliqError as error:
            return [f"{place}: its roots are not searched again: {error}"]
        read.roots, read.wrong = check.searched, sorted({*read.wrong, *check.wrong})
        return problems

    @cached_property
    def _windows(self) -> Windows | None:
        """Expand the rows of the graph anew, of a run of groups in step."""
        assert self._asked is not None
        graph = self._folder.store.graph(self._asked.graph)
        return (
            None if graph.record().summary.in_step is None else expand(stored_table(graph), self._asked.search).searched
        )

    def _data(
        self, commit: Commit, checker: RowChecker, look: Callable[..., RowsRead], read: _Read, picked: Any
    ) -> list[str]:
        """Check a data file, whose bytes are those of its record, by all threads."""
        name = f"{self._folder.place}/{commit.file}"
        threads = kernels.available_threads()
        found = RowsRead()
        try:
            with ThreadPoolExecutor(threads, "verify") as pool:
                for part in pool.map(partial(look, commit, name, picked, of=threads), range(threads)):
                    found.merge(part)
        except (StorageError, KeyError) as error:
            return [f"{name}: cannot be read: {error}"]
        read.rows, read.digest, read.files = read.rows + found.rows, read.digest + found.digest, read.files + 1
        read.sampled += found.sampled
        told = list(dict.fromkeys(found.problems))  # once, whatever threads met it
        return told + checker.compare(name, commit, found.rows, f"{found.digest & MASK:016x}", found.sizes)

    def _look_at(
        self,
        commit: Commit,
        name: str,
        picked: Any,
        first: int,
        of: int,
        *,
        checker: RowChecker,
        publish: PublishSettings,
        sides: LargerSides,
        surprise: Surprise,
    ) -> RowsRead:
        """Check every so many row groups of a data file, from the first on."""
        found = RowsRead()
        # its bytes were checked when the inventory was taken
        with open_bicliques(self._folder, commit.data, sides, check=False, surprise=surprise) as file:
            if columns_of(file.schema) != columns_of(schema_of(publish)):
                found.problems.append(f"{name}: its columns are not those of its run: {file.schema.names}")
                return found
            starts = np.cumsum([0, *file.rows])
            for group in range(first, len(file.rows), of):
                table = file.table(group)
                here = picked[(picked >= starts[group]) & (picked < starts[group + 1])] - starts[group]
                found.problems += checker.check_rows(name, table, here)
                found.problems += checker.check_partition(name, table, commit.partition)
                found.add(table, name, here.size, checker.hashes)
                if checker.graphs is not None:
                    found.problems += wrong_values(name, file, group, table, publish.objectives)
        return found

    def _uncovered(self, plan: Plan, graph: BipartiteGraph) -> list[str]:
        """Say where the roots of the partitions are not the vertices of the graph, each once."""
        place = self._folder.place
        degrees = graph.left_degrees if plan.side == "left" else graph.right_degrees
        if not np.array_equal(np.sort(plan.roots), np.flatnonzero(degrees)):
            return [
                f"{place}: its plan has {plan.roots.size} roots, which are not the vertices of its graph; run again"
            ]
        wrong = []
        for number in range(self._plan.partitions if self._plan else 0):
            if f"{place}/{partition_name(number)}" not in self._found.files:
                continue  # it was not cut yet, or is damaged, which is known
            try:
                part = read_partition(self._folder, number)
            except DamageError as error:
                wrong.append(str(error).replace(self._folder.path, place))
                continue
            ids = part.left_ids if plan.side == "left" else part.right_ids
            if not np.array_equal(np.sort(ids[part.roots]), np.sort(plan.roots[plan.partition == number])):
                wrong.append(f"{place}/{partition_name(number)}: its roots are not those of the plan")
        return wrong

    def _other_version(self) -> str | None:
        """Say where a version that was written whole has not the bicliques of that version."""
        version = self._asked.compacts if self._asked else None
        if self._asked is None or version is None:
            return None
        now = self._found.record(RunRecord, f"runs/{version}")
        held = now.layered.manifest if now and now.layered else self._asked.holds
        whole = self._plan is not None and len(self._commits) == self._plan.partitions
        if held is None or not (self._manifest or whole):
            return None
        found = sum(commit.rows for commit in self._commits.values()), total_digest(self._commits)
        if found == (held.bicliques, held.digest):
            return None
        return (
            f"{self._folder.place}: it has {found[0]} bicliques, digest {found[1]}, and the version {version} that it"
            f" holds has {held.bicliques}, digest {held.digest}"
        )

    def _totals(self) -> list[str]:
        """Compare commit records, plan and manifest."""
        if self._plan is None:
            return []
        place, problems = self._folder.place, []
        strange = [n for n, c in self._commits.items() if c.plan != self._plan.digest or n >= self._plan.partitions]
        if strange:
            problems.append(f"{place}: {named(strange)} committed for another plan")
        if self._manifest is None:
            if self._is_searched() and self._is_lost(Manifest):
                problems.append(f"{place}/manifest.json: it is missing, though all is searched; resume the run")
            return problems
        try:
            compare(self._folder, self._manifest, self._commits)
        except DamageError as error:
            problems.append(str(error).replace(self._folder.path, place))
        for entry, value in (
            ("bicliques", sum(commit.rows for commit in self._commits.values())),
            ("digest", total_digest(self._commits)),
            ("partitions", len(self._commits)),
        ):
            said = getattr(self._manifest, entry)
            if said != value:
                problems.append(f"{place}/manifest.json: {entry} {said}, the commit records say {value}")
        return problems

    def _is_lost(self, kind: type[Record]) -> bool:
        """Whether what publishes a run was there once, is not, and no process is about to write it.

        The log is read after the inventory: a process may have published the run in between.
        """
        return was_published(self._folder) and not is_at_work(self._folder) and not self._folder.has(kind.at)

    def _is_searched(self) -> bool:
        """Whether all partitions were searched to their end."""
        commits = self._commits.values()
        return self._plan is not None and len(commits) == self._plan.partitions and all(c.complete for c in commits)

    def counts(self) -> list[str]:
        """Compare the tables of counts with the partitions."""
        record, place = self._counts, self._folder.place
        problems = []
        by_key: dict[str, list[PartitionCounts]] = {}
        for name, counted_there in self._found.records_in(PartitionCounts, place).items():
            by_key.setdefault(name.split("/")[1], []).append(counted_there)
        if record is None or self._plan is None:
            whole = [key for key, records in by_key.items() if self._plan and len(records) == self._plan.partitions]
            lost = whole if whole and self._is_lost(Counts) else []
            return [f"{place}/{Counts.at}: it is missing, though {key} is counted; count again" for key in lost]
        expected: dict[tuple[int, int], int] = {}
        whole_keys = True
        for key in record.keys:
            counted = {entry.partition for entry in by_key.get(key, [])}
            whole_keys &= counted >= set(range(self._plan.partitions))
            expected |= {**dict.fromkeys(sizes_of_key(key), 0), **sums_of(by_key.get(key, []))}
        table = self._found.files.get(f"{place}/{COUNTS_FILE}")
        if table is not None and whole_keys:
            rows = self._folder.store.root.read_table(table, check=False).to_pylist()
            if {(row["p"], row["q"]): int(row["count"]) for row in rows} != expected:
                problems.append(f"{place}/{COUNTS_FILE}: its counts are not the sums of the partitions")
        return problems


def _clique_problems(store: Store, place: str, found: Inventory) -> list[str]:
    """Compare a clique's record with its table."""
    record = found.record(CliqueRecord, place)
    if record is None:
        return []
    files = [found.files[f"{place}/{name}"] for name in record.named if f"{place}/{name}" in found.files]
    lengths = [len(row) for file in files for row in store.root.read_table(file, check=False)["members"].to_pylist()]
    if files and lengths != [record.size] * record.n_cliques:
        return [f"{place}: its table has not the {record.n_cliques} cliques of {record.size} that its record says"]
    return []
