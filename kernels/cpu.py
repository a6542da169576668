"""The CPU driver: threads over the extension with the widest lanes that this machine has."""

from __future__ import annotations

import _thread
import importlib
import importlib.util
import math
import os
import time
from collections.abc import Callable, Sized
from dataclasses import replace
from functools import cache
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from bicliq.kernels.contracts import (
    BicliqueBatch,
    EnumerationRequest,
    EnumerationResult,
    Progress,
    ProgressCallback,
    StreamingSearch,
)
from bicliq.kernels.errors import BackendError, memory_is_capacity

Found = TypeVar("Found", bound=Sized)

INSTRUCTION_SETS = ("avx512", "avx2", "portable")
NO_LIMIT = 2**64 - 1
POLL_SECONDS = 0.05  # an interrupt is heard so soon
TELL_SECONDS = 0.2  # between two calls of a progress callback
LOADING = _thread.allocate_lock()
REBUILD = "build them for all: pip install . -C cmake.define.BICLIQ_LANES=all"


@cache
def load_extension(name: str | None = None) -> Any:
    """Load the extension for the best instruction set here, or the one named (or ``BICLIQ_LANES``).

    Raises
    ------
    BackendError
        If the named instruction set is unknown, was not built, or is not supported by this
        processor.
    """
    return _undisturbed(lambda: _chosen(name))


def _undisturbed(load: Callable[[], Any]) -> Any:
    """Load in a thread of its own, which no interrupt reaches: it is heard when that has ended.

    Python raises interrupts in the main thread. One that falls into an enumeration that nanobind
    makes would end the process, one within an import leaves half a module, and one that falls into
    a `threading.Thread` or `Future` leaves it locked.
    """
    loaded: list[Any] = []
    failed: list[BaseException] = []
    heard: list[BaseException] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def work() -> None:
        try:
            with LOADING:
                loaded.append(load())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.release()

    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:  # no thread can be had
        work()
    while not loaded and not failed:
        try:
            ended.acquire()
        except BaseException as interrupt:
            heard.append(interrupt)
    for error in (*heard, *failed):
        raise error
    return loaded[0]


def _chosen(name: str | None) -> Any:
    here = _instruction_sets()
    usable = [isa for isa in here if _built(isa)]
    wanted = name or os.environ.get("BICLIQ_LANES") or (usable[0] if usable else None)
    if wanted in usable:
        return importlib.import_module(f"bicliq.kernels._cpu_{wanted}")
    if not usable:
        built = ", ".join(filter(_built, INSTRUCTION_SETS))
        raise BackendError(
            f"the kernels here are built for {built}, and this processor has {', '.join(here)}; {REBUILD}"
        )
    choice = f"choose one of {', '.join(usable)} (BICLIQ_LANES)"
    if wanted in here:
        raise BackendError(f"lanes {wanted!r} are not built; {choice}, or {REBUILD}")
    raise BackendError(f"lanes {wanted!r} cannot run on this processor; {choice}")


def _instruction_sets() -> tuple[str, ...]:
    """Those of this processor, the best first."""
    if not _installed("_cpu_features"):
        raise BackendError("the kernels are not compiled: install bicliq (make setup), not only its sources")
    return importlib.import_module("bicliq.kernels._cpu_features").instruction_sets()  # type: ignore[no-any-return]


def _built(isa: str) -> bool:
    return _installed(f"_cpu_{isa}")


def _installed(module: str) -> bool:
    return importlib.util.find_spec(f"bicliq.kernels.{module}") is not None


def wait_for(
    run: Any,
    tell: Callable[[], Any] | None = None,
    *,
    time_limit: float | None = None,
    look: Callable[[bool], Any] | None = None,
    look_seconds: float = POLL_SECONDS,
) -> None:
    """Wait until a run of the extension has ended.

    Whatever ends the waiting, an interrupt too, ends the run.

    Parameters
    ----------
    run
        With `wait` and `stop`.
    tell : callable, optional
        Called about five times a second.
    time_limit : float, optional
        Seconds after which the run is ended.
    look : callable, optional
        Called every `look_seconds` with whether the run has ended, and once after it has.
    """
    now = time.monotonic()
    deadline, next_tell = math.inf if time_limit is None else now + time_limit, now + TELL_SECONDS
    try:
        while not run.wait(max(min(look_seconds, deadline - now), 0.0)):
            now = time.monotonic()
            if now >= deadline:
                run.stop()
                return
            if look is not None:
                look(False)
            if tell is not None and now >= next_tell:
                tell()
                next_tell = now + TELL_SECONDS
        if look is not None:
            look(True)
    except BaseException:
        run.stop()
        raise


class CpuSearch:
    """One running search: a thin owner of the extension's task.

    Parameters
    ----------
    request
        What is searched.
    mode
        One of the extension's `Mode`.
    taker
        The extension's, where threads themselves take what they find.
    made
        What to make of what is delivered.
    """

    def __init__(
        self,
        request: EnumerationRequest,
        mode: str,
        taker: Any = None,
        made: Callable[[Any], Any] = lambda arrays: BicliqueBatch(*arrays),
    ) -> None:
        extension = load_extension()
        self._request = request
        self._mode = mode
        self._made = made
        self._isa = str(extension.isa)
        asked = {**vars(request), "max_bicliques": NO_LIMIT if request.max_bicliques is None else request.max_bicliques}
        is_left = asked.pop("side") == "left"
        self._task = extension.Enumeration(columns_are_left=is_left, mode=extension.Mode[mode], taker=taker, **asked)

    def wait(self, progress: ProgressCallback | None) -> None:
        """Block until the search has ended, reporting progress; an interrupt stops the search."""
        wait_for(self._task, None if progress is None else lambda: progress(self.progress()))

    def next_batch(self, until: Callable[[], bool] | None = None) -> Any:
        """The next batch or row group.

        None when the search has ended, or `until` has said that it has to.
        """
        while not self._task.ended:
            arrays = self._task.next(POLL_SECONDS)
            if arrays is not None:
                return self._made(arrays)
            if until is not None and not self._task.ended and until():
                return None
        return None

    def stop(self) -> None:
        """End the search; returns when all workers have ended."""
        self._task.stop()

    def progress(self) -> Progress:
        """How far the search has come."""
        return Progress(self._task.roots_done, self._task.n_roots, self._task.found)

    def result(self, *, interrupted: bool = False) -> EnumerationResult:
        """The outcome, once the search has ended: waits for that."""
        told, limit = self._task.result(), self._request.max_bicliques
        found, busy = told["found"], tuple(told["busy_seconds"])
        complete = not interrupted and (limit is None or found <= limit)
        return EnumerationResult(
            bicliques=found if limit is None else min(found, limit),
            digest=told["digest"] if complete and self._mode != "count" else None,
            complete=complete,
            side=self._request.side,
            nodes=told["nodes"],
            not_canonical=told["dropped"],
            seconds={"prepare": told["prepare_seconds"], "search": told["search_seconds"]},
            threads=self._request.threads,
            backend=f"cpu-{self._isa}",
            workspace_bytes=told["workspace_bytes"],
            busy_seconds=busy,
            busy_ratio=sum(busy) / (len(busy) * max(busy)) if busy and max(busy) > 0 else 1.0,
        )


class Stream(Generic[Found]):
    """What a search finds, while it is found: an iterator and a context manager.

    Memory stays bounded: workers wait while two of its items a thread are unread. Leaving the
    ``with`` block, or `close`, ends the search.
    """

    def __init__(self, search: StreamingSearch, until: Callable[[], bool] | None = None) -> None:
        self._search = search
        self._until = until
        self._is_cut = False
        self._delivered = 0
        self._result: EnumerationResult | None = None

    def __iter__(self) -> Self:
        return self

    @memory_is_capacity
    def __next__(self) -> Found:
        if self._result is not None:
            raise StopIteration
        try:
            found: Found | None = None if self._has_to_end() else self._search.next_batch(self._has_to_end)
        except BaseException:
            self.close()
            raise
        if found is None and self._is_cut:
            self.close()
            self._result = replace(self.result, bicliques=self._delivered)
            raise StopIteration
        if found is None:
            self._result = self._search.result()
            raise StopIteration
        kept = self._kept(found)
        self._delivered += len(kept)
        return kept

    def _kept(self, found: Found) -> Found:
        """What is handed on of what was found; raises StopIteration where that is nothing."""
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the search now; `result` then says that it is not complete, unless it had ended."""
        if self._result is None:
            self._search.stop()
            self._result = self._search.result(interrupted=True)

    def _has_to_end(self) -> bool:
        self._is_cut = self._is_cut or (self._until is not None and self._until())
        return self._is_cut

    def progress(self) -> Progress:
        """How far the search has come."""
        return self._search.progress()

    @property
    def result(self) -> EnumerationResult:
        """The outcome, once the stream is exhausted or closed."""
        if self._result is None:
            raise RuntimeError("the stream has not ended: read all batches, or close it")
        return self._result


class BicliqueStream(Stream[BicliqueBatch]):
    """Batches of maximal bicliques, while they are found: an iterator and a context manager.

    Memory stays bounded: workers wait while two batches a thread are unread. Leaving the ``with``
    block, or `close`, ends the search.
    """

    def __init__(self, search: StreamingSearch, limit: int | None, until: Callable[[], bool] | None = None) -> None:
        super().__init__(search, until)
        self._limit = limit

    def _kept(self, found: BicliqueBatch) -> BicliqueBatch:
        if self._limit is None or self._delivered + len(found) <= self._limit:
            return found
        if self._delivered == self._limit:
            self._search.stop()
            self._result = self._search.result()
            raise StopIteration
        return found.head(self._limit - self._delivered)
