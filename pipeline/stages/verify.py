"""Verify: every file of a store read again, and compared with its record.

Bicliques compared with their graph.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import kernels
from pipeline.errors import BicliqError, DamageError, InputError, StorageError
from pipeline.graphs.bipartite import BipartiteGraph
from pipeline.stages.plan import read_run_graph
from pipeline.stages.publish import named, total_digest
from pipeline.store.biclique_reader import LargerSides, open_bicliques
from pipeline.store.bicliques import MASK, SCHEMA, SMALLER_SCHEMA, batches_of, publish_of
from pipeline.store.counts import COUNT, COUNTS_FILE, COUNTS_RECORD, sizes_of_key, sums_of
from pipeline.store.inventory import FOLDERS, Inventory, take_inventory
from pipeline.store.labels import Hashes, read_hashes
from pipeline.store.layout import (
    CHECKS_RECORD,
    COMMIT,
    Commit,
    RunFolder,
    Store,
    commit_name,
    commit_of,
    partition_record_name,
)
from pipeline.store.sizes import Sizes
from pipeline.store.states import RunState, compare, state_of

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
    problems: list[str]
    leftovers: list[str]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


@dataclass(frozen=True)
class StoreVerification:
    """What `verify_store` found.

    Parameters
    ----------
    store
        URL of the store.
    graphs, cliques
        Graphs and cliques in it.
    runs
        What was found of each run.
    bytes
        Bytes read of files and records.
    problems, leftovers
        As of a run: those of all runs, graphs and cliques.
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


def verify(store: Store, run: str, sample: int = SAMPLE, seed: int = 0) -> Verification:
    """Read every file of a run and of its graph again, and check it.

    Checked are the seal of each record and the checksum of each file that one names; that nothing
    is missing, foreign or of another place; the schema, the rows, the lengths of lists, their
    thresholds, sizes and digest of each data file; that no partition is missing or unaccounted for;
    the manifest's totals, or those of counts; and, for a seeded sample, that each biclique is one
    of the graph and cannot be extended on either side.

    Parameters
    ----------
    store, run
        A run, published or not.
    sample
        Bicliques to check against the graph.
    seed
        Seed of the sample.

    Returns
    -------
    Verification
        With one sentence a problem. That a run is not searched to its end is none: `state` says so.

    Notes
    -----
    Each byte is read once more than the bicliques are. Of a run that is being searched, what
    changes meanwhile may be reported.
    """
    found = verify_store(store, run, sample, seed)
    if not found.runs:
        raise InputError(f"{store.run(run).uri}: there is no such run")
    of_run = found.runs[0]
    return replace(of_run, problems=found.problems, leftovers=found.leftovers)


def verify_store(store: Store, run: str | None = None, sample: int = SAMPLE, seed: int = 0) -> StoreVerification:
    """Verify a store, or one of its runs with the graph of that run."""
    found = take_inventory(store, FOLDERS if run is None else places_of(store, run))
    runs = examine(store, found, sample, seed)
    problems = [*found.sentences(), *(problem for run in runs for problem in run.problems)]
    there = _places(found)
    for kind, name in there:
        if kind == "graphs" and f"graphs/{name}/graph.json" not in {**found.records, **found.problems}:
            problems.append(f"graphs/{name}/graph.json: it is missing; ingest the edge table again")
        if kind == "cliques":
            problems += _clique_problems(store, f"cliques/{name}", found)
    many = {kind: sum(place[0] == kind for place in there) for kind in FOLDERS}
    return StoreVerification(
        store.uri, many["graphs"], many["cliques"], runs, found.bytes, problems, sorted(found.leftovers)
    )


def examine(store: Store, found: Inventory, sample: int = SAMPLE, seed: int = 0) -> list[Verification]:
    """Check what the runs of an inventory say, of whose files that knows already what is wrong."""
    return [_verified(store, name, found, sample, seed) for kind, name in _places(found) if kind == "runs"]


def _places(found: Inventory) -> list[list[str]]:
    """Kind and name of the graphs, runs and cliques that there is something of."""
    paths = {**found.records, **found.files, **found.problems}
    places = sorted({"/".join(path.split("/")[:2]) for path in paths if "/" in path})
    return [place.split("/") for place in places]


def places_of(store: Store, run: str) -> list[str]:
    """Return the folders of a run and of its graph, as far as its record tells."""
    places = [f"runs/{run}"]
    with contextlib.suppress(DamageError):  # it is reported with the folder
        places.append(f"graphs/{store.run(run).read_record('run.json')['graph']}")
    return places


def _verified(store: Store, run: str, found: Inventory, sample: int, seed: int) -> Verification:
    """Check what a run's sound records and files say."""
    read = _Read()
    check = _RunCheck(store.run(run), found)
    state = check.state()
    problems = check.records()
    if state is not None and state.name == "count":
        problems += check.counts()
    elif state is not None:
        problems += check.bicliques(read, sample, seed)
    words, complete = ("damaged", False) if state is None else (str(state), state.complete)
    digest = f"{read.digest & MASK:016x}"
    return Verification(run, words, complete, read.rows, digest, read.files, read.sampled, problems, [])


@dataclass
class _Read:
    """What was read of the data files of a run."""

    rows: int = 0
    digest: int = 0
    files: int = 0
    sampled: int = 0


class _Rows:
    """What was found of some row groups of a data file."""

    def __init__(self) -> None:
        self.rows = self.digest = self.sampled = 0
        self.sizes = Sizes()
        self.problems: list[str] = []

    def add(self, table: pa.Table, name: str, sampled: int, hashes: tuple[Hashes, Hashes] | None) -> None:
        """Count a row group in, of which so many rows were compared with the graph."""
        unordered = 0
        for batch in batches_of(table):
            try:
                digest, falling = kernels.check_bicliques(batch, *(hashes or ()))
            except ValueError as error:
                self.problems.append(f"{name}: {error}")
                break
            self.digest += digest
            unordered += falling
        if unordered:
            self.problems.append(f"{name}: {unordered} bicliques have a side that is not ascending")
        self.rows += table.num_rows
        self.sampled += sampled
        self.sizes.add(table["n_left"].to_numpy(), table["n_right"].to_numpy())

    def merge(self, other: _Rows) -> None:
        """Count in what another has found."""
        self.rows += other.rows
        self.digest += other.digest
        self.sampled += other.sampled
        self.sizes.merge(other.sizes.record())
        self.problems += other.problems


class _RunCheck:
    """Checks of a run that look at several records, or into its data files."""

    def __init__(self, folder: RunFolder, found: Inventory) -> None:
        self._folder = folder
        self._found = found
        self._asked, self._plan, self._manifest = (self._record(f"{name}.json") for name in ("run", "plan", "manifest"))
        self._commits = dict(sorted((c.partition, c) for c in map(commit_of, self._records(COMMIT))))

    def state(self) -> RunState | None:
        """How far the run is, or None where its records do not tell."""
        damaged = [
            f"{self._folder.place}/{name}.json" in self._found.problems
            for name in ("run", "plan", "manifest", "counts")
        ]
        if self._asked is None or any(damaged):
            return None
        return state_of(self._asked, self._plan, self._commits, self._manifest, self._record(COUNTS_RECORD))

    def records(self) -> list[str]:
        """Say which records are missing that others ask for."""
        missing = [name for name in ("run.json", "plan.json") if not self._is_there(name)]
        answered = self._commits or self._manifest or self._record(COUNTS_RECORD) or self._records(COUNT)
        if missing == ["plan.json"] and not answered:
            missing = []  # planned in part: nothing was searched or counted
        problems = [f"{self._folder.place}/{name}: it is missing" for name in missing]
        if self._asked is not None:
            graph = f"graphs/{self._asked['graph']}/graph.json"
            if graph not in {**self._found.records, **self._found.problems}:
                problems.append(f"{graph}: it is missing, and this run is of that graph; ingest its edge table again")
        if self._manifest and self._manifest.get("checks") and not self._is_there(CHECKS_RECORD):
            problems.append(f"{self._folder.place}/{CHECKS_RECORD}: it is missing")
        if self._plan is None:
            return problems
        for number in range(self._plan["partitions"] if answered else 0):
            if not self._is_there(partition_record_name(number)):
                problems.append(f"{self._folder.place}/{partition_record_name(number)}: it is missing")
        return problems

    def bicliques(self, read: _Read, sample: int, seed: int) -> list[str]:
        """Check the data files against their commit records, the manifest and the graph."""
        problems = self._totals()
        if self._asked is None or self._plan is None:
            return problems
        try:
            graph = read_run_graph(self._folder.store, self._folder.run)
        except BicliqError as error:
            graph = None
            problems.append(f"{self._folder.place}: its bicliques are not checked against the graph: {error}")
        try:
            hashes = read_hashes(self._folder.store.graph(str(self._asked["graph"])))
        except BicliqError:  # the inventory names what is damaged of the graph
            hashes = None
        checker = _Checker(graph, str(self._plan["side"]), self._asked, hashes, self._folder.store)
        total = sum(commit.rows for commit in self._commits.values())
        generator = np.random.default_rng(seed)
        for commit in self._commits.values():
            share = min(commit.rows, -(-sample * commit.rows // max(total, 1)))
            picked = np.sort(generator.choice(commit.rows, share, replace=False))
            if f"{self._folder.place}/{commit.file}" in self._found.files:
                problems += self._data(commit, checker, read, picked)
        return problems

    def _data(self, commit: Commit, checker: _Checker, read: _Read, picked: Any) -> list[str]:
        """Check a data file, whose bytes are those of its record, by all threads."""
        name = f"{self._folder.place}/{commit.file}"
        threads = kernels.available_threads()
        found = _Rows()
        try:
            with ThreadPoolExecutor(threads, "verify") as pool:
                share = partial(self._share, commit, checker, name, picked, of=threads)
                for part in pool.map(share, range(threads)):
                    found.merge(part)
        except (StorageError, KeyError) as error:
            return [f"{name}: cannot be read: {error}"]
        read.rows, read.digest, read.files = read.rows + found.rows, read.digest + found.digest, read.files + 1
        read.sampled += found.sampled
        told = list(dict.fromkeys(found.problems))  # once, whatever threads met it
        return told + checker.compare(name, commit, found.rows, f"{found.digest & MASK:016x}", found.sizes)

    def _share(self, commit: Commit, checker: _Checker, name: str, picked: Any, first: int, of: int) -> _Rows:
        """Check every so many row groups of a data file, from the first on."""
        found = _Rows()
        # its bytes were checked when the inventory was taken
        with open_bicliques(self._folder, commit.stored, checker.sides, check=False) as file:
            if _columns(file.schema) != _columns(checker.schema):
                found.problems.append(f"{name}: its columns are not those of its run: {file.schema.names}")
                return found
            starts = np.cumsum([0, *file.rows])
            for group in range(first, len(file.rows), of):
                table = file.table(group)
                here = picked[(picked >= starts[group]) & (picked < starts[group + 1])] - starts[group]
                found.problems += checker.check_rows(name, table, here)
                found.add(table, name, here.size, checker.hashes)
        return found

    def _totals(self) -> list[str]:
        """Compare commit records, plan and manifest."""
        if self._plan is None:
            return []
        place, problems = self._folder.place, []
        strange = [
            n for n, c in self._commits.items() if c.plan != self._plan["digest"] or n >= self._plan["partitions"]
        ]
        if strange:
            problems.append(f"{place}: {named(strange)} committed for another plan")
        if self._manifest is None:
            if len(self._commits) == self._plan["partitions"] and all(c.complete for c in self._commits.values()):
                problems.append(f"{place}/manifest.json: it is missing, though all is searched; resume the run")
            return problems
        listed = {entry["partition"] for entry in self._manifest["files"]}
        missing = [commit_name(n) for n in sorted(listed - set(self._commits)) if not self._is_there(commit_name(n))]
        problems += [f"{place}/{name}: it is missing, the manifest lists its partition" for name in missing]
        try:
            compare(self._folder, self._manifest, self._commits)
        except DamageError as error:
            problems.append(str(error).replace(self._folder.path, place))
        for entry, value in (
            ("bicliques", sum(commit.rows for commit in self._commits.values())),
            ("digest", total_digest(self._commits)),
            ("partitions", len(self._commits)),
        ):
            if self._manifest[entry] != value:
                problems.append(
                    f"{place}/manifest.json: {entry} {self._manifest[entry]}, the commit records say {value}"
                )
        return problems

    def counts(self) -> list[str]:
        """Compare the tables of counts with the partitions."""
        record, place = self._record(COUNTS_RECORD), self._folder.place
        problems = []
        by_key: dict[str, list[dict[str, Any]]] = {}
        for path in self._found.records:
            if path.startswith(f"{place}/") and (match := COUNT.fullmatch(path.removeprefix(f"{place}/"))):
                by_key.setdefault(match["key"], []).append(self._found.records[path])
        if record is None or self._plan is None:
            whole = [key for key, records in by_key.items() if self._plan and len(records) == self._plan["partitions"]]
            return [f"{place}/{COUNTS_RECORD}: it is missing, though {key} is counted; count again" for key in whole]
        expected: dict[tuple[int, int], int] = {}
        whole_keys = True
        for key in record["keys"]:
            counted = {int(entry["partition"]) for entry in by_key.get(key, [])}
            missing = sorted(set(range(self._plan["partitions"])) - counted)
            whole_keys &= not missing
            for number in missing:
                name = f"{place}/counts/{key}/partition-{number:05d}.json"
                if name not in self._found.problems:
                    problems.append(f"{name}: it is missing")
            expected |= {**dict.fromkeys(sizes_of_key(key), 0), **sums_of(by_key.get(key, []))}
        table = self._found.files.get(f"{place}/{COUNTS_FILE}")
        if table is not None and whole_keys:
            rows = self._folder.store.root.read_table(table, check=False).to_pylist()
            if {(row["p"], row["q"]): int(row["count"]) for row in rows} != expected:
                problems.append(f"{place}/{COUNTS_FILE}: its counts are not the sums of the partitions")
        return problems

    def _record(self, name: str) -> dict[str, Any] | None:
        return self._found.records.get(f"{self._folder.place}/{name}")

    def _records(self, pattern: Any) -> list[dict[str, Any]]:
        start = f"{self._folder.place}/"
        paths = (path for path in self._found.records if path.startswith(start))
        return [self._found.records[path] for path in paths if pattern.fullmatch(path.removeprefix(start))]

    def _is_there(self, name: str) -> bool:
        """Whether a record is there, sound or not."""
        return f"{self._folder.place}/{name}" in {**self._found.records, **self._found.problems}


def _columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types.

    cuDF's writer calls the items of a list otherwise, and lets columns be null.
    """
    return [(f.name, f"list of {f.type.value_type}" if pa.types.is_list(f.type) else str(f.type)) for f in schema]


class _Checker:
    """Checks rows of a data file: their lists, their thresholds, and some against the graph."""

    def __init__(
        self,
        graph: BipartiteGraph | None,
        side: str,
        asked: dict[str, Any],
        hashes: tuple[Hashes, Hashes] | None,
        store: Store,
    ) -> None:
        self.graphs = None if graph is None else (graph, graph.transpose())
        self.side = side
        self.settings = asked["search"]
        self.hashes = hashes
        self.schema = SCHEMA if publish_of(asked).columns == "both" else SMALLER_SCHEMA
        self.sides = LargerSides(store.graph(str(asked["graph"])))

    def compare(self, name: str, commit: Commit, rows: int, digest: str, sizes: Sizes) -> list[str]:
        """Say where a data file differs from its commit record."""
        problems = []
        if rows != commit.rows:
            problems.append(f"{name}: {rows} rows, its commit record says {commit.rows}")
        if self.hashes is not None and digest != commit.digest:
            problems.append(f"{name}: digest {digest}, its commit record says {commit.digest}")
        recorded = Sizes()
        recorded.merge(commit.sizes)
        if sizes.record() != recorded.record():
            problems.append(f"{name}: its bicliques have other sizes than its commit record says")
        return problems

    def check_rows(self, name: str, table: pa.Table, picked: Any) -> list[str]:
        """Check a row group of a data file, and the picked rows of it against the graph."""
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
        if self.graphs is None:
            return problems
        for row in table.take(picked).to_pylist():
            reason = self.why_not(*self.graphs, row["left"], row["right"], row["root"])
            if reason is not None:
                problems.append(f"{name}: left {row['left'][:5]}…, right {row['right'][:5]}…: {reason}")
        return problems

    def why_not(
        self, by_left: BipartiteGraph, by_right: BipartiteGraph, left: list[int], right: list[int], root: int
    ) -> str | None:
        """Say why two lists are no maximal biclique of the graph, or None."""
        if not left or not right or min(left + right) < 0:
            return "a side is empty or holds a negative id"
        if max(left) >= by_left.n_left or max(right) >= by_left.n_right:
            return "an id is not in the graph"
        if sorted(set(left)) != left or sorted(set(right)) != right:
            return "a list is not ascending"
        if root not in (left if self.side == "left" else right):
            return f"the root {root} is not a member of the {self.side} side"
        if _common(by_left, left) != right:
            return "the right side is not the set of all common neighbours of the left side"
        if _common(by_right, right) != left:
            return "the left side is not the set of all common neighbours of the right side"
        return None


def _common(graph: BipartiteGraph, rows: list[int]) -> list[int]:
    """Vertices adjacent to all of some rows, ascending."""
    found, counts = np.unique(graph.rows_of(np.array(rows))[1], return_counts=True)
    common: list[int] = found[counts == len(rows)].tolist()
    return common


def _clique_problems(store: Store, place: str, found: Inventory) -> list[str]:
    """Compare a clique's record with its table."""
    if f"{place}/clique.json" in found.problems:
        return []
    record = found.records.get(f"{place}/clique.json")
    if record is None:
        return [f"{place}/clique.json: it is missing; ask again"]
    files = [found.files[f"{place}/{name}"] for name in record["stored"] if f"{place}/{name}" in found.files]
    lengths = [len(row) for file in files for row in store.root.read_table(file, check=False)["members"].to_pylist()]
    if files and lengths != [record["size"]] * record["n_cliques"]:
        return [
            f"{place}: its table has not the {record['n_cliques']} cliques of {record['size']} that its record says"
        ]
    return []
