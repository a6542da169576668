"""Where work runs: on the CPU or a GPU, here or on a cluster. Every command asks here.

What is asked for is obeyed, or refused with the reason. "auto" takes a GPU where one can do the
work and where the work is worth its start. Each decision carries a sentence that says why, for
`bicliq doctor`, summaries and errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from bicliq import kernels
from bicliq.pipeline.errors import AskedBackendError, BackendError, InputError
from bicliq.pipeline.placement import device, fallback
from bicliq.pipeline.placement.cluster import StartedAhead, open_cluster, why_no_cluster, why_no_gpu_cluster
from bicliq.pipeline.settings import ClusterSettings, SearchSettings, Settings

Backend = Literal["cpu", "cuda"]
Stage = Literal["data", "search"]

AUTO_BYTES = 64 << 20
"""Size of an edge table from which on a GPU is worth starting for it (docs/results.md)."""

BYTES_PER_EDGE = 16
"""Bytes of an edge in a table of text, about; what a graph of the store is measured by."""

AUTO_PATHS = 1 << 20
"""Paths of two edges from which on a GPU is worth starting for a search: all measured graphs with
fewer take half a second on one core."""

AUTO_SECONDS = 1.0
"""Seconds that a search of a run should take this machine's threads, from which on a GPU is worth
its start, which costs a second or two: with an H200 beside 16 threads, six graphs that should have
taken them up to 0.2 s ended 0.6 to 2.1 s later (2026-11-28)."""

AUTO_TIES = 3 << 25
"""Expected edges of a projection from which on a GPU is worth starting for it and for the cliques
that follow (docs/methods.md)."""

LITTLE_TO_SEARCH = 1 << 28
"""Paths of two edges up to which a cluster is not started unless it is asked for: some ten seconds
of work on two cores, to which the start of a cluster and many small partitions would add as much
(gowalla, a third of that: 5 s here, 9 on a cluster of this machine)."""

AUTO_FOUND = 1 << 24
"""Bicliques that an update expects to find from which on a GPU is worth starting for its search,
which takes a second or more. Of gowalla's 1.3 million, the search takes 16 threads 0.31 s, and
0.19 s with an H200."""

FOUND_A_THREAD = 2_000_000
"""Bicliques that an update expects to find, for each thread that this process could take, from
which on the workers of a scheduler share its search: six seconds when it was set, some two
since. They take some two to read the graph, to write what they find, and to have it united."""

FOUND_TO_START = 5
"""Times as many are needed where the cluster must be started first, which takes ten seconds on a
busy machine, and whose cores this process could take as well."""

SETTING = {"data": "data backend", "search": "backend"}


@dataclass(frozen=True)
class Place:
    """The machine that a stage runs on.

    `stage`: "data" (tables and graphs, which take cuDF and CuPy on a GPU) or "search" (the
    kernels). `asked`: what the settings say: "auto", "cpu" or "cuda". `backend`: what that comes
    to: "cpu" or "cuda". `why`: the reason, in words.
    """

    stage: Stage
    asked: str
    backend: Backend
    why: str

    def here(self) -> Backend:
        """Return the backend in this process: of what "auto" chose elsewhere, what can run here."""
        if self.asked != "auto" or self.backend == "cpu":
            return self.backend
        return "cpu" if fallback.given_up() or _cannot(self.stage) else "cuda"

    def run(self, work: Callable[[Backend], fallback.Result]) -> fallback.Result:
        """Do some work on this machine; where "auto" chose a GPU and that fails, on the CPU.

        `work`: is given the backend. What it had written when it failed must not be visible to
        anybody. Raises AskedBackendError if the backend that was asked for fails.
        """
        return fallback.run(self.asked, self.here(), work)

    def __str__(self) -> str:
        return f"{self.backend}: {self.why}"


CPU_DATA = Place("data", "cpu", "cpu", "it is asked for")
CPU_SEARCH = Place("search", "cpu", "cpu", "it is asked for")


@dataclass(frozen=True)
class Placement:
    """Where the partitions of a run are cut and searched, or counted.

    Parameters
    ----------
    data
        Where partitions are cut out of the graph.
    search
        Where the kernels run, and bicliques are encoded.
    cluster
        The cluster that shares the partitions; None: this process takes one after the other.
    threads
        Threads of a kernel; 0: those of the machine, shared by the tasks that run on it at the same
        time.
    why
        Why on a cluster, or why not, in words.
    """

    data: Place
    search: Place
    cluster: ClusterSettings | None
    threads: int
    why: str

    @contextmanager
    def opened(self, ahead: StartedAhead | None = None) -> Iterator[Any | None]:
        """Open the cluster and yield its client; None where this process does the work.

        `ahead`: a cluster that is starting already.
        """
        cluster = self.cluster
        with ExitStack() as stack:
            if cluster is None:
                yield None
            elif cluster.scheduler is not None:
                yield stack.enter_context(open_cluster(cluster))
            else:
                yield self.search.run(
                    lambda backend: stack.enter_context(open_cluster(cluster, backend, self.data.backend, ahead))
                )

    def record(self, parts: str = "partitions") -> dict[str, str]:
        """Return the decisions in words; `parts` names what a cluster would share."""
        cluster = "this process" if self.cluster is None else "a cluster"
        return {"data": str(self.data), "search": str(self.search), parts: f"{cluster}: {self.why}"}


def place_data(asked: str, n_bytes: int | None = None) -> Place:
    """Decide where a table is read, and a graph profiled, planned and cut.

    `asked`: the setting `data_backend`. `n_bytes`: size of the edge table, or of what it would be
    as text; None: not known yet. Raises BackendError if a GPU is asked for and cannot be used here.

    Examples
    --------
    >>> print(place_data("auto", 3 << 20))
    cpu: the table has 3.0 MiB, and a GPU is worth its start from 64 MiB on
    """
    not_worth = None
    if n_bytes is not None and n_bytes < AUTO_BYTES:
        size = f"{n_bytes / 2**20:.1f} MiB"
        not_worth = f"the table has {size}, and a GPU is worth its start from {AUTO_BYTES >> 20} MiB on"
    return _chosen("data", asked, not_worth)


def place_graph(asked: str, n_edges: int) -> Place:
    """Decide where a graph of so many edges is profiled, planned and cut; see `place_data`."""
    return place_data(asked, BYTES_PER_EDGE * n_edges)


def place_projection(asked: str, ties: int) -> Place:
    """Decide where a graph is projected of which so many edges are expected; see `place_data`."""
    few = f"about {ties:,} edges are expected, and a GPU is worth its start from {AUTO_TIES:,} on"
    return _chosen("data", asked, few if ties < AUTO_TIES else None)


def place_search(
    asked: str,
    paths: int | None = None,
    *,
    cannot: str | None = None,
    not_worth: str | None = None,
    remote: bool = False,
) -> Place:
    """Decide where kernels run.

    Parameters
    ----------
    asked
        The setting `backend`.
    paths
        The estimated work: paths of two edges from the roots; None: not known yet.
    cannot
        Why no GPU can do what is asked, in words; None: one can.
    not_worth
        Why "auto" takes no GPU, in words; None: where there is enough work it does.
    remote
        Whether the workers of another machine do it: they then see for themselves what they have.

    Raises
    ------
    BackendError
        If a GPU is asked for and cannot be used here, or not for this.

    Examples
    --------
    >>> print(place_search("auto", 1000))
    cpu: there are 1,000 paths of two edges, and a GPU is worth its start from 1,048,576 on
    """
    if paths is not None and paths < AUTO_PATHS:
        few = f"there are {paths:,} paths of two edges, and a GPU is worth its start from {AUTO_PATHS:,} on"
        not_worth = not_worth or few
    return _chosen("search", asked, not_worth, cannot, remote)


def place_run(
    data_backend: str,
    search: SearchSettings,
    cluster: ClusterSettings,
    *,
    n_edges: int,
    paths: int,
    seconds: float | None = None,
    whole: bool = False,
    cannot: str | None = None,
    not_worth: str | None = None,
) -> Placement:
    """Decide where the partitions of a run are cut and searched, or counted.

    `n_edges`, `paths`: what is known of the work: edges of the graph, and paths of two edges from
    all roots. `seconds`: what the search should take one thread of the CPU; None: there is no
    estimate. `whole`: whether one search of all roots takes less than several
    (`kernels.searches_roots_together`). `cannot`, `not_worth`: as for `place_search`. Raises
    BackendError if a GPU is asked for and cannot be used here, or not for this.
    """
    shared, why = _shared(cluster, paths, whole)
    remote = shared and cluster.scheduler is not None
    if shared and not remote and cannot is None:
        cannot = why_no_gpu_cluster()
    threads = kernels.number_of_threads(search.threads)
    if seconds is not None and seconds < AUTO_SECONDS * threads and paths >= AUTO_PATHS and not remote:
        soon = f"the search should take {threads} thread{'s' * (threads > 1)} {seconds / threads:.2f} s"
        not_worth = not_worth or f"{soon}, and a GPU is worth its start from {AUTO_SECONDS:g} s on"
    place = place_search(search.backend, paths, cannot=cannot, not_worth=not_worth, remote=remote)
    return Placement(place_graph(data_backend, n_edges), place, cluster if shared else None, search.threads, why)


def place_changes(search: SearchSettings, cluster: ClusterSettings, *, paths: int, found: int) -> Placement:
    """Decide where an update searches what changes.

    `paths`, `found`: what is known of the work: paths of two edges over the changes, and about how
    many bicliques are found around them. Raises BackendError if a GPU is asked for and cannot be
    used here.

    A cluster shares the search where one is named (a scheduler, workers, a dashboard's address) and
    at least `FOUND_A_THREAD` bicliques are expected for each thread that this process could take;
    `FOUND_TO_START` times as many where it must be started.

    Examples
    --------
    >>> few = place_changes(SearchSettings(threads=1), ClusterSettings(workers=2), paths=99, found=9)
    >>> print(few.record("changes")["changes"])
    this process: about 9 bicliques are expected, and a cluster is worth its start from 10,000,000 on
    """
    named, worth = _named(cluster), FOUND_A_THREAD * (search.threads or kernels.available_threads())
    worth *= 1 if cluster.scheduler is not None else FOUND_TO_START
    shared = bool(named) and not cluster.local and found >= worth
    if cluster.local or not named:
        why = "it is asked for" if cluster.local else "no cluster is named"
    else:
        compared = "which is worth a cluster" if shared else f"and a cluster is worth its start from {worth:,} on"
        why = f"{f'about {found:,}' if found else 'few'} bicliques are expected, {compared}"
    cannot = why_no_gpu_cluster() if shared and cluster.scheduler is None else None
    remote = shared and cluster.scheduler is not None
    few = f"about {found:,} bicliques are expected, and a GPU is worth its start from {AUTO_FOUND:,} on"
    not_worth = few if found < AUTO_FOUND else None
    place = place_search(search.backend, paths, cannot=cannot, not_worth=not_worth, remote=remote)
    data = Place("data", "cpu", "cpu", "what changes is read and written there")
    return Placement(data, place, cluster if shared else None, search.threads, why)


def check_backends(
    data_backend: str,
    backend: str,
    threads: int = 0,
    *,
    cannot: str | None = None,
    cluster: ClusterSettings | None = None,
    starts: bool = False,
) -> None:
    """Refuse what is asked for and cannot be had, before anything is read.

    `cannot`: as for `place_search`. `starts`: whether a GPU of this machine that is asked for to
    search starts now, beside what is read; not where tables lie on it, since reading starts it, and
    takes its memory. Raises BackendError with the reason. Raises CapacityError if there are more
    threads than are started here; a remote worker decides for itself.
    """
    remote = cluster is not None and cluster.scheduler is not None
    wanted = [] if cluster is None or cluster.local else _named(cluster) or ["local = false"] * (cluster.local is False)
    if wanted and (reason := why_no_cluster()) is not None:
        raise BackendError(
            f"{wanted[0]} is given, and no cluster can be had: {reason}; or search in this process (local = true)"
        )
    if not remote:
        kernels.number_of_threads(threads)
    if data_backend != "auto":
        place_data(data_backend)
    if backend != "auto":
        place_search(backend, cannot=cannot, remote=remote)
    here = backend == "cuda" and not remote and not wanted
    if starts and here and (data_backend == "cpu" or _cannot("data") is not None):
        device.start_search()


@contextmanager
def cluster_ahead(settings: Settings) -> Iterator[StartedAhead | None]:
    """Start the cluster of a run in a thread, while the block reads the table.

    None where that has to be seen first: whether one is worth its start, or a GPU. One that nobody
    took is closed, and not waited for.
    """
    cluster = settings.cluster
    sure = cluster.local is False or (cluster.local is None and cluster.workers is not None)
    data, search = _settled("data", settings.data_backend), _settled("search", settings.search.backend)
    if not sure or cluster.scheduler is not None or data is None or search is None or why_no_cluster() is not None:
        yield None
        return
    ahead = StartedAhead(cluster, search, data)
    try:
        yield ahead
    finally:
        ahead.leave()


def _settled(stage: Stage, asked: str) -> str | None:
    """Which backend a stage takes whatever the table is; None: it depends."""
    return asked if asked != "auto" else "cpu" if _cannot(stage) else None


def _shared(cluster: ClusterSettings, paths: int, whole: bool) -> tuple[bool, str]:
    """Whether a cluster shares the work, and why."""
    if cluster.local is not None:
        return not cluster.local, "it is asked for"
    named = _named(cluster)
    if named:
        return True, f"{named[0]} is given"
    if (reason := why_no_cluster()) is not None:
        return False, f"no cluster can be had: {reason}"
    if whole:
        return False, "many left and few right vertices are asked for, or the reverse: all roots are searched together"
    compared = "more than" if paths > LITTLE_TO_SEARCH else "not more than"
    return paths > LITTLE_TO_SEARCH, f"there are {paths:,} paths of two edges, {compared} {LITTLE_TO_SEARCH:,}"


def _named(cluster: ClusterSettings) -> list[str]:
    """What of the settings asks for a cluster, in words."""
    named = {"a scheduler": cluster.scheduler, "a number of workers": cluster.workers}
    asked = [name for name, value in named.items() if value is not None]
    return [*asked, "the address of a dashboard"] if isinstance(cluster.dashboard, str) else asked


def _chosen(stage: Stage, asked: str, not_worth: str | None, cannot: str | None = None, remote: bool = False) -> Place:
    """Obey or refuse what is asked; "auto" takes a GPU unless there is a reason against it."""
    if asked not in ("auto", "cpu", "cuda"):
        raise InputError(f"{SETTING[stage]} {asked!r}: it must be auto, cpu or cuda")
    if asked == "cpu":
        return Place(stage, asked, "cpu", "it is asked for")
    if asked == "cuda":
        reason = cannot or (None if remote else _cannot(stage))
        if reason is not None:
            raise AskedBackendError(f"{SETTING[stage]} 'cuda' cannot {'do this' if cannot else 'run here'}: {reason}")
        return Place(stage, asked, "cuda", "it is asked for")
    reason = not_worth or cannot
    if reason is None and not remote:
        reason = fallback.given_up() or _cannot(stage)
    if reason is not None:
        return Place(stage, asked, "cpu", reason)
    return Place(
        stage, asked, "cuda", "the workers have GPUs, or take the CPU" if remote else "there is enough work for a GPU"
    )


def _cannot(stage: Stage) -> str | None:
    """Why the GPU of this machine cannot run a stage, or None when it can."""
    return device.why_no_data_on_device() if stage == "data" else kernels.why_not("cuda")
