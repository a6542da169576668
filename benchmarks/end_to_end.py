"""One edge table taken all the way on the CPU and on the GPU: the seconds of each stage."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.timing import repeated
from bicliq import kernels
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.run import RunSummary, run
from bicliq.pipeline.settings import Settings

WAYS = (("cpu", "cpu"), ("cpu", "cuda"), ("cuda", "cuda"))
"""Where the data stages and the search run."""


@dataclass(frozen=True)
class EndToEnd:
    """One way from an edge table to published bicliques.

    Parameters
    ----------
    data_backend, backend
        Where ingest, profile and plan, and where the search ran.
    seconds
        Duration of each stage, and ``total``, of the fastest run.
    bicliques, digest
        What was found; the digest in 16 hex digits.
    reason
        Why this way cannot be gone here; None where it was.
    """

    data_backend: str
    backend: str
    seconds: dict[str, float]
    bicliques: int
    digest: str
    reason: str | None = None


def measure_end_to_end(source: str, settings: Settings, runs: int = 2) -> Iterator[EndToEnd]:
    """Take an edge table all the way in each of `WAYS`, and keep the fastest of some runs.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    settings
        Everything but the store and the backends.
    runs
        Runs of each way; the first one in a process loads libraries and kernels.

    Yields
    ------
    EndToEnd
    """
    for data_backend, backend in WAYS:
        reason = (why_no_data_on_device() if data_backend == "cuda" else None) or kernels.why_not(backend)
        if reason is not None:
            yield EndToEnd(data_backend, backend, {}, 0, "", reason)
            continue
        timed = repeated(partial(_run, source, settings, data_backend, backend), runs)
        found = min((run.result for run in timed), key=lambda summary: summary.seconds["total"])
        yield EndToEnd(data_backend, backend, found.seconds, found.bicliques, found.digest)


def _run(source: str, settings: Settings, data_backend: str, backend: str) -> RunSummary:
    """Take the table all the way into a store that is removed after it."""
    with tempfile.TemporaryDirectory() as folder:
        search = settings.search.model_copy(update={"backend": backend})
        chosen = {"store": folder, "data_backend": data_backend, "search": search}
        return run(source, settings.model_copy(update=chosen))
