"""The search of an update: by this process, or in portions by the workers of a cluster.

A worker reads the graph and the changed edges from the store, searches the changes of one portion,
and leaves what it found in a file beside the version that is being made. Whoever makes the version
unites these files and removes them. No record names them, so a process that is killed leaves the
version before, and files that `prune` removes.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Any

from bicliq import kernels
from bicliq.pipeline.errors import BicliqError, sentence
from bicliq.pipeline.events import tell
from bicliq.pipeline.graphs.bipartite import read_graph
from bicliq.pipeline.placement.tasks import Ended, Here, Task, hand_out
from bicliq.pipeline.placement.where import Place, Placement
from bicliq.pipeline.placement.work import WORK
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.manifest import ran_on
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.versions.difference import AnyChanges, Difference, Step
from bicliq.pipeline.versions.way import Way

FOUND_A_PORTION = 25_000
"""Bicliques that are expected in a portion: 0.1 s of one thread, so that all workers end at about
the same time, and a hundred times what a task costs."""


AsRows = Callable[[Step, kernels.ChangeSearch, int, Way], AnyChanges]


@dataclass(frozen=True)
class Found:
    """What an update changes, and what searched it.

    `changes`: what appeared and vanished, as lists or as rows. `backend`, `threads`: what it ran
    on, as in a manifest; the threads of one worker, at most. `workers`: workers of the cluster that
    took part; 0: this process alone.
    """

    changes: AnyChanges
    backend: str
    threads: int
    workers: int


@dataclass(frozen=True)
class _Portion:
    """Some of the changes: what a worker is told."""

    store: str
    run: str
    graph: str
    edges: StoredFile
    least: tuple[tuple[str, int], ...]
    range: tuple[int, int]
    most: int | None


@dataclass(frozen=True)
class _Searched:
    """What a worker tells of a portion."""

    file: StoredFile
    appeared: int
    vanished: int
    backend: str
    threads: int
    seconds: float


def find_changes(
    difference: Difference,
    folder: RunFolder,
    placement: Placement,
    way: Way,
    as_rows: AsRows,
    dashboard: Callable[[str], None] = lambda address: None,
) -> Found:
    """Search what an update changes, where that is placed.

    Parameters
    ----------
    difference
        The edges that come and go.
    folder
        The version that is being made; workers leave files in it, which are gone at the end.
    placement
        Where, and on how many threads.
    way
        About how many bicliques are expected, and after how many the search is given up.
    as_rows
        Searches the changes of a step on so many threads of the CPU, and makes rows of what it
        finds, where that pays. A cluster and a GPU make lists in any case, and so do edges that
        both come and go.
    dashboard
        Called with the address of the cluster's dashboard.

    Raises
    ------
    BicliqError
        Where a portion could not be searched, or the cluster was lost.
    TooManyError
        Where more is found than `way` allows.
    """
    with placement.opened() as client:
        if client is None:
            return _found_here(difference, placement, as_rows, way)
        dashboard(client.dashboard_link)
        shared = SharedSearch(client, folder, placement, way)
        changes = difference.find(shared.find)
    return Found(changes, ran_on(shared.backends), shared.threads, len(shared.workers))


def _found_here(difference: Difference, placement: Placement, as_rows: AsRows, way: Way) -> Found:
    threads = kernels.number_of_threads(placement.threads)

    def find(step: Step, search: kernels.ChangeSearch) -> kernels.Changes:
        return _placed(placement.search, search, threads, way.most)

    def find_rows(step: Step, search: kernels.ChangeSearch) -> AnyChanges:
        def on(backend: str) -> AnyChanges:
            on_cpu = backend == kernels.Backend.CPU
            if on_cpu:
                return as_rows(step, search, threads, way)
            return search.find(threads=threads, backend=backend, most=way.most)

        return placement.search.run(on)

    changes = difference.find_rows(find_rows) or difference.find(find)
    return Found(changes, changes.backend or "none", threads, 0)


def _placed(
    place: Place, search: kernels.ChangeSearch, threads: int, most: int | None, portion: tuple[int, int] | None = None
) -> kernels.Changes:
    """Search all changes, or a portion; where a GPU fails that "auto" chose, on the CPU."""
    return place.run(lambda backend: search.find(threads=threads, backend=backend, portion=portion, most=most))


class SharedSearch:
    """A search that the workers of a cluster share, and what they tell of it."""

    def __init__(self, client: Any, folder: RunFolder, placement: Placement, way: Way) -> None:
        self._client, self._folder, self._placement, self._way = client, folder, placement, way
        self.workers: set[str] = set()
        self.backends: list[str] = []
        self.threads, self._appeared = 0, 0
        self._too_many: kernels.TooManyError | None = None

    def find(self, step: Step, search: kernels.ChangeSearch) -> kernels.Changes:
        """Hand out the portions of a step, and unite what is found in them."""
        folder = self._folder
        left, right = step.edges
        edges = folder.write_arrays(f"changes/edges-{_attempt()}.arrow", {"left": left, "right": right})
        told = folder.store.uri, folder.run, step.stored, edges, tuple(sorted(step.least.items()))
        wanted = max(self._way.found // FOUND_A_PORTION, 1)
        portions = [_Portion(*told, range, self._way.most) for range in search.portions(wanted)]
        waiting = enumerate(portions)

        def next_task() -> tuple[int, Task] | None:
            number, portion = next(waiting, (0, None))
            if portion is None or self._too_many is not None:
                return None
            return number, partial(_search, portion, number, self._placement)

        try:
            return kernels.unite_changes(self._found(hand_out(self._client, next_task)))
        finally:
            # the edges, and what workers left that died before they could tell of it
            folder.remove(*(name for name in folder.files("changes") if name.endswith(".arrow")))

    def _found(self, portions: Iterator[Ended]) -> Iterator[kernels.Changes]:
        """What portions found, until it is too many; those that still run are waited for."""
        for ended in portions:
            if isinstance(ended.error, kernels.TooManyError):
                self._too_many = ended.error
            elif self._too_many is None:
                found = self._read(ended)
                self._count(len(found.appeared))
                yield found
        if self._too_many is not None:
            raise self._too_many

    def _count(self, appeared: int) -> None:
        """Count what appeared in all portions; no fewer were met."""
        self._appeared, most = self._appeared + appeared, self._way.most
        if most is not None and self._appeared > most:
            self._too_many = kernels.TooManyError(f"more than {most:,} bicliques are found around what changed")

    def _read(self, ended: Ended) -> kernels.Changes:
        """What was found in a portion; its file is removed."""
        if ended.error is not None:
            raise BicliqError(
                f"{self._folder.uri}: a portion of the changes could not be searched ({sentence(ended.error)}); the"
                " version before stays the latest: give the same command again"
            ) from ended.error
        done: _Searched = ended.value
        facts: dict[str, Any] = {"appeared": done.appeared, "vanished": done.vanished, "seconds": done.seconds}
        tell("portion searched", run=self._folder.run, portion=ended.number, worker=ended.worker, **facts)
        self.workers.add(str(ended.worker))
        self.backends.append(done.backend)
        self.threads = max(self.threads, done.threads)
        arrays, _ = self._folder.read_arrays(done.file)
        self._folder.remove(done.file.name)
        appeared, vanished = (
            kernels.BicliqueLists(*(arrays[f"{kind}_{field.name}"] for field in _FIELDS)) for kind in _KINDS
        )
        return kernels.Changes(appeared, vanished, done.backend)


_KINDS = ("appeared", "vanished")
_FIELDS = fields(kernels.BicliqueLists)


def _attempt() -> str:
    return uuid.uuid4().hex[:8]


def _search(portion: _Portion, number: int, placement: Placement, here: Here) -> _Searched:
    """Search a portion, and leave what is found in a file."""
    started, threads = time.perf_counter(), here.threads(placement.threads)
    with WORK.on(number) as count:
        with _OPENING:
            search = _opened(portion.store, portion.run, portion.graph, portion.edges, portion.least)
        found = _placed(placement.search, search, threads, portion.most, portion.range)
        count(len(found.appeared))
    arrays = {f"{kind}_{field.name}": getattr(getattr(found, kind), field.name) for kind in _KINDS for field in _FIELDS}
    folder = Store.open(portion.store, create=False).run(portion.run)
    file = folder.write_arrays(f"changes/portion-{number:05d}-{_attempt()}.arrow", arrays)
    seconds = round(time.perf_counter() - started, 6)
    return _Searched(file, len(found.appeared), len(found.vanished), found.backend, threads, seconds)


_OPENING = threading.Lock()
"""Held by the thread of a worker that reads a graph, which the others of its process then use."""


@lru_cache(maxsize=1)
def _opened(
    store_uri: str, run: str, graph: str, edges: StoredFile, least: tuple[tuple[str, int], ...]
) -> kernels.ChangeSearch:
    """The search of a step, made of what the store holds; kept for the next portion."""
    store = Store.open(store_uri, create=False)
    ends, _ = store.run(run).read_arrays(edges)
    return Step(read_graph(store.graph(graph)), graph, (ends["left"], ends["right"]), False, dict(least)).search()
