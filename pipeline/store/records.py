"""Records of a store as entries with types, one class a kind.

A record is a file that names other files, with their sizes and checksums, and says what they are
(`pipeline.store.record`). Each kind has its name in the folder of its graph, run or clique.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.settings import PlanSettings, PublishSettings, SearchSettings
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.entries import Check, Expected, Histogram, LargestOfRun, SizeCounts
from bicliq.pipeline.store.record import Count, Digest, Entry, Name, Record, StoredFile, Vertices

FORMAT = 5
"""Version of the records and of the layout; a store of another version is refused."""

Side = Literal["left", "right"]
Asks = Literal["bicliques", "counts"]
"""What the partitions of a run are for."""


@dataclass(frozen=True, kw_only=True)
class StoreRecord(Record, kind="store", at="bicliq-store.json"):
    """That here is a store, and of which format."""

    format: int


# ---- graphs --------------------------------------------------------------------------------------

GRAPH_FILES = r"(edges|changed|left_ids|right_ids|rows)(?P<attempt>-\w+)?\.parquet"


@dataclass(frozen=True, kw_only=True)
class StoredGraph(Record, kind="graph", at="graph.json", files=GRAPH_FILES):
    """A graph: whole, or told by what differs from another one (`pipeline.store.edges`).

    `n_left`, `n_right`, `n_edges`: its size; isolated vertices count. `summary`: the table that was
    read. `seconds`: duration of each stage. `base`: the graph that this one differs from; None:
    this one is whole.
    """

    n_left: Vertices
    n_right: Vertices
    n_edges: Count
    summary: Summary
    seconds: dict[str, float]
    base: Name | None = None

    @property
    def made_of(self) -> tuple[str | None, ...]:
        """The graph that this one differs from."""
        return (self.base,)

    @property
    def sizes(self) -> tuple[int, int]:
        """Vertices of the left and of the right side."""
        return self.n_left, self.n_right


@dataclass(frozen=True, kw_only=True)
class Profile(Record, kind="profile", at="profile.json", files=r"profile\.parquet"):
    """Figures of a graph; the same for every order of its edges.

    `n_left`, `n_right`, `n_edges`, `max_left_degree`, `max_right_degree`: sizes, in which isolated
    vertices count, and largest degrees. `left_degree_histogram`, `right_degree_histogram`: pairs
    (degree, number of vertices), ascending. `left_wedges`, `right_wedges`: paths of two edges that
    start on that side, ends that return to their start included: the work of building the
    neighbourhoods of all roots, were that side the enumerated one. `components`,
    `largest_component`: connected components with at least one edge, and edges in the largest one.
    """

    n_left: Vertices
    n_right: Vertices
    n_edges: Count
    max_left_degree: int
    max_right_degree: int
    left_degree_histogram: list[tuple[int, int]]
    right_degree_histogram: list[tuple[int, int]]
    left_wedges: int
    right_wedges: int
    components: int
    largest_component: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TwoHop(Record, kind="two hop", at="two_hop.json", files=r"two_hop\.parquet"):
    """How many others of its side a vertex shares a neighbour with."""

    left: dict[str, float]
    right: dict[str, float]


# ---- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PublishedFile(Entry):
    """A data file of a published run, and what its partition's `Commit` says of it."""

    path: str
    bytes: Count
    checksum: str
    subgraph: str
    partition: Count
    rows: Count
    digest: Digest
    seconds: float
    complete: bool
    plan: str
    backend: str
    threads: int


@dataclass(frozen=True, kw_only=True)
class Manifest(Record, kind="manifest", at="manifest.json"):
    """What a published run holds; written last. That of a version is in its run.json.

    Parameters
    ----------
    n_left, n_right, n_edges, side
        Size of the ingested graph, and the side that was enumerated.
    bicliques, digest
        Bicliques in the data files, and their set digest.
    complete, limit
        False where a limit ended the search before its end, or partitions failed; and the number of
        bicliques at which that was, or None.
    partitions, bytes
        Data files and their size together.
    backend, threads
        What the partitions ran on: one backend ("cpu-avx2", "cuda"), or several with numbers of
        partitions (`ran_on`); and the most threads (on a GPU warps) that searched one.
    largest
        The biclique with most edges; None where there is none.
    left_histogram, right_histogram
        Pairs (number of left, right vertices, number of bicliques), ascending.
    seconds
        Duration of each stage; ``search`` is summed over partitions.
    created
        When it was published (ISO, UTC).
    files
        One a partition.
    checks
        Of the input; none where the run was made of a graph of the store.
    machine
        The machine that published it (`pipeline.placement.machine.machine_facts`).
    limited_by, failed
        The limit that cut it off ("max_bicliques", "max_bytes", "time_limit" or "memory_limit"), or
        None; and why partitions failed, by number.
    """

    run: Name
    graph: Name
    side: Side
    n_left: Vertices
    n_right: Vertices
    n_edges: Count
    bicliques: Count
    digest: Digest
    complete: bool
    limit: int | None
    partitions: Count
    bytes: Count
    backend: str
    threads: int
    largest: LargestOfRun | None
    left_histogram: Histogram
    right_histogram: Histogram
    seconds: dict[str, float]
    created: str
    files: list[PublishedFile] = field(repr=False)
    checks: list[Check] = field(default_factory=list, repr=False)
    machine: dict[str, str] = field(default_factory=dict, repr=False)
    limited_by: str | None = None
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SourceFile(Entry):
    """A file that an update takes, or a table in memory.

    `uri`, `bytes`, `checksum`: its name, its size, and the xxh3-128 of its bytes, in hex; of a
    table what it is, and those of its columns. `modified`: what its file system says of its last
    change (a time or a tag), before it was read: a file of which this and the size are the same is
    not read again. `in_memory`: whether it is a table in memory, which has no name of its own:
    given again, it is looked at again.
    """

    uri: str
    bytes: int
    checksum: str
    modified: str = ""
    in_memory: bool = False

    @property
    def name(self) -> str:
        """Its name without secrets, by which records know it."""
        return without_secrets(self.uri)

    @property
    def key(self) -> str:
        """What tells it from others: checksum, size and name."""
        return f"{self.checksum} {self.bytes} {self.name}"


@dataclass(frozen=True, kw_only=True)
class TakenFile(Entry):
    """Which version took a file, and when; and whether it was taken away, or changed nothing."""

    version: Name
    deleted: bool
    at: str
    modified: str
    changed: bool = True


@dataclass(frozen=True, kw_only=True)
class Updated(Entry):
    """How a version was made of its parent (`pipeline.versions.update_record.UpdateRecord`).

    What appeared and vanished is None where the graph was searched whole.
    """

    how: str
    reason: str
    deleted: bool
    files: list[SourceFile]
    rows_read: int
    edges: int
    unchanged: int
    checks: list[Check]
    gone: int
    dropped_by_window: int
    left_window: int
    appeared: int | None = None
    vanished: int | None = None
    seconds: dict[str, float] | None = None
    workers: int = 0
    placement: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sources(Record, kind="sources", at="sources/{}.json"):
    """Some of the files that versions took; and the name of such a record of those before."""

    taken: dict[str, TakenFile]
    before: Name | None


@dataclass(frozen=True, kw_only=True)
class Took(Record, kind="took", at="took/{:05d}.json"):
    """Files that a run took after its run.json was written; `alone`: all its edges are theirs."""

    taken: dict[str, TakenFile]
    alone: bool = False


@dataclass(frozen=True, kw_only=True)
class Compared(Record, kind="compared", at="compared.json"):
    """What appeared and vanished with a version that was searched whole, of groups in step."""

    appeared: Count
    vanished: Count


@dataclass(frozen=True, kw_only=True)
class LayerRows(Entry):
    """What a version says of one of its files of bicliques: those that appeared, or vanished.

    `rows`, `digest`: their number, and their set digest. `sizes`: how many there are of each size,
    and the largest (`pipeline.store.sizes`). `partitions`: partition of the base, ascending, and
    rows of each row group; empty where the rows are not sorted by it. `columns`: whether the file
    holds both sides, or the smaller ones alone.
    """

    rows: Count
    digest: Digest
    sizes: SizeCounts
    partitions: list[tuple[int, int]]
    columns: Literal["both", "smaller"]


@dataclass(frozen=True, kw_only=True)
class Version(Entry):
    """What makes a run a version that stands on others (`pipeline.store.versions`).

    `base`, `layers`: the run whose data files it has, and the versions whose changes since then
    make it, its own as the last. `appeared`, `vanished`, `manifest`: what its own two files hold;
    and what it holds altogether.
    """

    base: Name
    layers: Annotated[list[Name], Field(min_length=1)]
    appeared: LayerRows
    vanished: LayerRows
    manifest: Manifest


@dataclass(frozen=True, kw_only=True)
class Held(Entry):
    """Bicliques, digest and moment of the version that a run holds, which was written whole."""

    bicliques: Count
    digest: Digest
    created: str


@dataclass(frozen=True)
class Reading(Entry):
    """How the table of a run was read: as `Summary` has it."""

    format: str = ""
    columns: dict[str, Any] = field(default_factory=dict)
    policies: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunRecord(
    Record,
    kind="run",
    at="run.json",
    files=r"changes/(appeared|vanished|edges|portion-\d{5,})(?P<attempt>-\w+)?\.(parquet|arrow)",
):
    """What is asked of a run; of a version also what it holds.

    Parameters
    ----------
    search, plan, publish
        Settings that change the result or its layout; those of a call have their defaults.
    created
        When it was planned (ISO, UTC).
    parent, update, beside
        The run that an update made it of, and how; and whether another one was the latest then.
    table, reading
        The table of the first run, which all versions of it are of, and how it was read.
    taken, taken_before, holds_taken_alone
        Files that it and the last ones before it took, by their keys (None: that is not known); the
        `Sources` of those before; and whether all of its edges are from these files.
    compacts, holds, search_seconds
        The version that it was written whole from; what that held; and the seconds of one thread
        that a search took.
    in_step
        How long a window is, of groups in step.
    layered
        What it holds, where it is a version that stands on others.
    """

    run: Name
    graph: Name
    asks: Asks
    search: SearchSettings
    plan: PlanSettings
    publish: PublishSettings
    created: str
    parent: Name | None = None
    beside: bool = False
    table: str | None = None
    reading: Reading = Reading()
    taken: dict[str, TakenFile] | None = None
    taken_before: Name | None = None
    holds_taken_alone: bool = False
    update: Updated | None = None
    compacts: Name | None = None
    holds: Held | None = None
    search_seconds: float | None = None
    in_step: str | None = None
    layered: Version | None = None

    @property
    def made_of(self) -> tuple[str | None, ...]:
        """Runs that it was made of."""
        return self.parent, self.compacts, None if self.layered is None else self.layered.base

    @property
    def version(self) -> Version:
        """What it holds as a version; raises DamageError where it is none."""
        if self.layered is None:
            raise DamageError(f"runs/{self.run}: it is no version of another run, and one stands on it as if it were")
        return self.layered

    @property
    def base(self) -> str:
        """The run whose data files it has: its own, or its base."""
        return self.run if self.layered is None else self.layered.base

    @property
    def layers(self) -> list[str]:
        """The versions whose changes since the base make it; none of a run of its own."""
        return [] if self.layered is None else self.layered.layers


@dataclass(frozen=True, kw_only=True)
class PlanRecord(Record, kind="plan", at="plan.json", files=r"(plan|reduced|windows)(?P<attempt>-\w+)?\.parquet"):
    """What was planned.

    `side`, `n_roots`, `partitions`: the enumerated side, and the numbers of its vertices, the
    roots, and of partitions. `n_left`, `n_right`, `n_edges`: size of the searched graph, after
    reduction; without isolated vertices. `est_bytes`, `est_cost`: estimated memory of the largest
    partition while it is searched; and estimated work: paths of two edges from all roots. `digest`:
    xxh3-64 of side, roots and their partitions, 16 hex digits: what belongs to this plan names it.
    `seconds`: duration: ``reduce`` and ``plan``. `expected`: what the search will find and cost;
    None of a count. `max_degree`: most edges of a vertex of the whole graph; None where
    the plan did not read it.
    """

    run: Name
    graph: Name
    side: Side
    n_left: Vertices
    n_right: Vertices
    n_edges: Count
    n_roots: Count
    partitions: Count
    est_bytes: int
    est_cost: int
    digest: str
    seconds: dict[str, float]
    expected: Expected | None = None
    max_degree: Count | None = None


@dataclass(frozen=True, kw_only=True)
class Checks(Record, kind="checks", at="checks.json"):
    """How the input of a run compares with earlier ones (`pipeline.stages.checks`).

    `last`: the run of the same table that it was compared with, or None.
    """

    run: Name
    source: str
    rows: Count
    graph: Name
    created: str
    last: Name | None
    checks: list[Check]


@dataclass(frozen=True, kw_only=True)
class Subgraph(Record, kind="subgraph", at="partitions/part-{:05d}.json", files=r"partitions/part-(\d{5,})\.arrow"):
    """A partition, whose subgraph was cut for the plan of this digest."""

    partition: Count
    plan: str


@dataclass(frozen=True, kw_only=True)
class Commit(
    Record,
    kind="commit",
    at="commits/partition-{:05d}.json",
    files=r"bicliques/partition=(\d{5,})/part(?P<attempt>-\w+)\.parquet",
):
    """That a partition is searched; its data file is what it names.

    `partition`: number of the partition. `rows`, `digest`, `seconds`: bicliques in the data file,
    their set digest, and the duration of search and writing. `complete`: false where a limit ended
    the search before its end. `sizes`: how many bicliques there are of each size, and the largest
    (`pipeline.store.sizes`), so that nobody reads the file for it. `plan`: digest of the plan that
    the partition is of. `backend`, `threads`: what it ran on: "cpu" with the instruction set of its
    lanes, as "cpu-avx2", or "cuda"; and threads, or warps.
    """

    stored: Annotated[tuple[StoredFile, ...], Field(min_length=1, max_length=1)]
    partition: Count
    rows: Count
    digest: Digest
    seconds: float
    complete: bool
    sizes: SizeCounts
    plan: str
    backend: str
    threads: int

    @property
    def data(self) -> StoredFile:
        """The data file."""
        return self.stored[0]

    @property
    def file(self) -> str:
        """Name of the data file in the folder of the run."""
        return self.data.name

    @property
    def bytes(self) -> int:
        """Size of the data file."""
        return self.data.bytes


@dataclass(frozen=True, kw_only=True)
class Failure(Record, kind="failure", at="failures/partition-{:05d}.json"):
    """Why the last attempt at a partition failed."""

    partition: Count
    error: str


@dataclass(frozen=True, kw_only=True)
class PartitionCounts(
    Record,
    kind="partition counts",
    at="counts/{}/partition-{:05d}.json",
    files=r"counts/([^/]+)/(?:left|right)-(\d{5,})(?P<attempt>-\w+)\.parquet",
):
    """What was counted in a partition for one question; it names files of counts of vertices.

    `counts`: those that are not 0: p, q, and the count as text.
    """

    partition: Count
    plan: str
    counts: list[tuple[int, int, str]]
    method: str
    backend: str
    threads: int
    seconds: float
    kernel_seconds: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Counts(Record, kind="counts", at="counts.json", files=r"(vertex_)?counts\.parquet"):
    """The tables of all questions that are counted to their end.

    `keys`: the questions, and by which method each was counted. `checked`: whether the input of the
    run was checked: then its checks.json must be there. `created`: when the tables were published
    (ISO, UTC).
    """

    keys: dict[str, str]
    checked: bool
    created: str


@dataclass(frozen=True, kw_only=True)
class Pruned(Record, kind="pruned", at="pruned.json"):
    """That a run or a graph is being removed; once its own record is gone, nobody reads it."""

    pruned: str


# ---- the rest of a store -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Numbered(Record, kind="number", at="publications/number-{}.json"):
    """An entry of the numbered log (`pipeline.store.log`).

    `run`, `counted`: the run that is the latest since, and that whose counts were published; None:
    there is none. `created`: when that was (ISO, UTC); None: nothing was published.
    """

    run: Name | None = None
    counted: Name | None = None
    created: str | None = None


@dataclass(frozen=True, kw_only=True)
class LastOfSource(Record, kind="last of a source", at="publications/source-{}.json"):
    """Which run of a table took a number of the log, and when; the highest number is the last."""

    run: Name
    created: str
    asks: Asks


@dataclass(frozen=True, kw_only=True)
class CliqueRecord(Record, kind="clique", at="clique.json", files=r"cliques(?P<attempt>-\w+)\.parquet"):
    """The maximum cliques that a search found; the table lists members, `answer` has the rest."""

    source: str
    size: Count
    n_cliques: Count
    proven: bool
    answer: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SetAside(Record, kind="set aside", at="quarantine/{}.json"):
    """A file that a watch does not take, as it was then, and why: in words, and by kind."""

    file: str
    reason: str
    since: str
    why: Literal["could not be taken", "rolled back", "rejected"]
    bytes: Count
    modified: str
