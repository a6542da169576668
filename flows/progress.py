"""A progress artifact that a thread of its own keeps up to date.

So neither a search nor Dask's event loop waits for Prefect's server.
"""

from __future__ import annotations

import contextvars
from threading import Event, Thread
from typing import Any

from prefect import get_run_logger
from prefect.artifacts import create_progress_artifact, update_progress_artifact

SECONDS_APART = 1.0
"""Time between two updates."""


class ProgressArtifact:
    """A bar in Prefect's pages, which may be told from any thread how far the work is.

    Parameters
    ----------
    key, description
        Of the artifact.

    Notes
    -----
    When the block ends without an error, the bar is full. A server that does not answer costs a
    warning in the log, and the work goes on.
    """

    def __init__(self, key: str, description: str) -> None:
        self._id: Any = create_progress_artifact(0.0, key=key, description=description)
        self._logger = get_run_logger()
        self._share = 0.0
        self._ended = Event()
        within_run = contextvars.copy_context().run  # the thread asks the server that the run belongs to
        self._thread = Thread(target=within_run, args=(self._send_now_and_then,), name="progress", daemon=True)

    def __enter__(self) -> ProgressArtifact:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._share = 100.0
        self._ended.set()
        self._thread.join()

    def tell(self, state: Any) -> None:
        """Note how far a search is (`pipeline.stages.search_run.SearchProgress`)."""
        self._share = round(min(100.0 * state.cost_done / max(state.cost, 1), 100.0), 1)

    def _send_now_and_then(self) -> None:
        sent, ended = 0.0, False
        while not ended:
            ended = self._ended.wait(SECONDS_APART)
            share = self._share
            if share != sent:
                self._send(share)
                sent = share

    def _send(self, share: float) -> None:
        try:
            update_progress_artifact(self._id, progress=share)
        except Exception as error:
            self._logger.warning("the Prefect server could not be told the progress: %s", error)
