"""What a flow run shows of itself in Prefect's pages, kept up to date by a thread of its own.

So neither a search nor Dask's event loop waits for Prefect's server.
"""

from __future__ import annotations

import contextvars
import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Thread
from typing import Any

from prefect import get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.runtime import flow_run

from bicliq.flows.words import how_far
from bicliq.pipeline.questions.find import Reached
from bicliq.pipeline.stages.search_run import SearchProgress

SECONDS_APART = 1.0
"""Time between two messages to the server."""

Rows = list[dict[str, Any]]


class Artifacts:
    """The artifacts of a flow run, each by its key; any thread may change them at any time.

    Notes
    -----
    The server is told of one artifact a second at most: of the one that has waited longest, as it
    is by then; at the end of what is left at once. A server that does not answer costs a warning
    in the log, and the work goes on.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, ArtifactCreate] = {}  # the newest of each key, the first to be sent first
        self._data: dict[str, Any] = {}  # what each key was last given
        self._sent: dict[str, Any] = {}  # id of each key that the server has
        self._flow_run = flow_run.id
        self._changed, self._ended = Condition(), False
        self._logger = get_run_logger()
        within_run = contextvars.copy_context().run  # the thread asks the server that the run belongs to
        self._thread = Thread(target=within_run, args=(self._send_in_turn,), name="artifacts", daemon=True)
        self._thread.start()

    def bar(self, key: str, percent: float, description: str) -> None:
        """Show how far the work is: 0 to 100."""
        self._show(key, "progress", percent, description)

    def table(self, key: str, rows: Rows, description: str) -> None:
        """Show a table of plain values."""
        self._show(key, "table", json.dumps(rows), description)

    def text(self, key: str, markdown: str, description: str) -> None:
        """Show a text in Markdown."""
        self._show(key, "markdown", markdown, description)

    def page(self, place: str, description: str) -> None:
        """Say where a report lies that people would send on."""
        key = "report-" + place.rsplit("/", 1)[-1].removesuffix(".html")
        self.text(key, f"As a page to send on: `{place}`", description)

    def close(self) -> None:
        """Wait until the server was told of all that changed."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _show(self, key: str, kind: str, data: Any, description: str) -> None:
        with self._changed:
            if self._data.get(key) != data:
                self._data[key] = data
                about = {"type": kind, "description": description, "flow_run_id": self._flow_run}
                self._waiting[key] = ArtifactCreate(key=key, data=data, **about)
                self._changed.notify()

    def _send_in_turn(self) -> None:
        while (artifact := self._next()) is not None:
            try:
                self._send(artifact)
            except Exception as error:
                self._logger.warning("the Prefect server could not be told of %s: %s", artifact.key, error)
            with self._changed:
                self._changed.wait_for(lambda: self._ended, SECONDS_APART)

    def _next(self) -> ArtifactCreate | None:
        """The artifact that has waited longest; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            return self._waiting.pop(next(iter(self._waiting))) if self._waiting else None

    def _send(self, artifact: ArtifactCreate) -> None:
        key = str(artifact.key)
        with get_client(sync_client=True) as client:
            if key in self._sent:
                client.update_artifact(self._sent[key], ArtifactUpdate(data=artifact.data))
            else:
                self._sent[key] = client.create_artifact(artifact).id


_OF_THIS_RUN: contextvars.ContextVar[Artifacts] = contextvars.ContextVar("artifacts of this flow run")


@contextmanager
def artifacts() -> Iterator[Artifacts]:
    """The artifacts of the flow run whose function this is; at the end all of them are sent."""
    shown = Artifacts()
    token = _OF_THIS_RUN.set(shown)
    try:
        yield shown
    finally:
        _OF_THIS_RUN.reset(token)
        shown.close()


def show_search(run: str, asks: str, state: SearchProgress) -> None:
    """Show how far a search is, or a count, and how many of its partitions are in which state.

    In a flow that keeps no artifacts nothing is shown.
    """
    shown = _OF_THIS_RUN.get(None)
    if shown is None:
        return
    partitions, cost = state.standing["partitions"], state.standing["cost"]
    total = sum(cost.values())
    share = state.standing["cost_done"] / total if total else 1.0
    shown.bar(f"{asks}-{run}", round(100 * min(share, 1.0), 1), f"estimated work of run {run} that is done")
    rows = [
        {"state": name, "partitions": f"{partitions[name]:,}", "estimated work": f"{cost[name] / (total or 1):.1%}"}
        for name in partitions
    ]
    shown.table(f"partitions-{run}", rows, f"partitions of run {run}")


def show_find(state: Reached) -> None:
    """Show how far a search for the best groups is; see `how_far`."""
    shown = _OF_THIS_RUN.get(None)
    if shown is not None:
        share, words = how_far(state)
        shown.bar("find", round(100 * share, 1), "how far the search is")
        shown.text("find-so-far", words, "how far the search is, in words")
