"""OpenLineage: what a run read and wrote, told to the server of a data catalogue.

A run is told as it starts, and as it ends: completed, failed or aborted. Whatever goes wrong on the
way is a warning in the log, and the run goes on.
"""

from __future__ import annotations

import datetime as dt
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

from bicliq.pipeline.errors import sentence
from bicliq.pipeline.events import warn
from bicliq.pipeline.extras import needs
from bicliq.pipeline.settings import Settings

PRODUCER = "urn:bicliq"
"""What the events name as their origin: a URI, as the standard wants it."""

NAMESPACE = "bicliq"
"""Of the jobs: a job is a table and the store that it goes to."""

COLUMNS = (("left", "list"), ("right", "list"), ("n_left", "int32"), ("n_right", "int32"), ("root", "int32"))
"""Of the Parquet files that a run writes."""

SECONDS = 5.0
"""How long the server may take to answer, twice."""


class Lineage:
    """A run that is told of; `finished` says what it found.

    `settings`: `settings.notify.lineage` is the URL of the server; without one nothing is told.
    `source`: the edge table or graph, as a path or URL. `run_id`: a UUID that all events of the run
    bear; None: a new one.
    """

    def __init__(self, settings: Settings, source: str, run_id: str | None = None) -> None:
        self._url, self._store, self._source = settings.notify.lineage, settings.store, source
        self._run_id = run_id or str(uuid.uuid4())
        self._record: dict[str, Any] | None = None
        if self._url is not None:
            with needs("openlineage", "--lineage"):
                import openlineage.client  # noqa: F401 - before the work of which it tells

    def finished(self, record: dict[str, Any]) -> None:
        """Keep the record of the run (of `pipeline.run.RunSummary`), for the last event."""
        self._record = record

    def tell(self, state: str, error: BaseException | None = None) -> None:
        """Send an event: "START", "COMPLETE", "FAIL" or "ABORT"."""
        if self._url is None:
            return
        try:
            self._send(state, error)
        except Exception as problem:  # of the client, its server, or the network
            warn("lineage failed", host=urlsplit(self._url).hostname, told=state.lower(), reason=sentence(problem))

    def _send(self, state: str, error: BaseException | None) -> None:
        from openlineage.client import OpenLineageClient
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.facet_v2 import error_message_run, job_type_job, processing_engine_run

        facets: dict[str, Any] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(_own_version(), "Bicliq")
        }
        if error is not None:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(sentence(error), "python")
        kind = job_type_job.JobTypeJobFacet("BATCH", "BICLIQ", "JOB")
        event = RunEvent(
            eventType=RunState[state],
            eventTime=dt.datetime.now(dt.UTC).isoformat(),
            run=Run(self._run_id, facets),
            job=Job(NAMESPACE, f"{self._source} to {self._store}", {"jobType": kind}),
            producer=PRODUCER,
            inputs=[self._input()],
            outputs=[self._output()],
        )
        transport = {"type": "http", "url": self._url, "timeout": SECONDS, "retry": {"total": 1}}
        OpenLineageClient(config={"transport": transport}).emit(event)

    def _input(self) -> Any:
        from openlineage.client.event_v2 import InputDataset
        from openlineage.client.facet_v2 import data_quality_assertions_dataset as quality
        from openlineage.client.facet_v2 import input_statistics_input_dataset as statistics

        found: dict[str, Any] = {}
        read = (self._record or {}).get("ingest")
        if read is not None:
            size, files = (read["source"].get(name) for name in ("bytes", "files"))
            found["inputStatistics"] = statistics.InputStatisticsInputDatasetFacet(read["rows_read"], size, files)
        checks = (self._record or {}).get("checks")
        if checks:
            made = [
                quality.Assertion(check["name"], check["state"] != "fail", severity=_SEVERITY[check["state"]])
                for check in checks
            ]
            found["dataQualityAssertions"] = quality.DataQualityAssertionsDatasetFacet(made)
        return InputDataset(*dataset_of(self._source), inputFacets=found)

    def _output(self) -> Any:
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.facet_v2 import dataset_version_dataset as versions
        from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics
        from openlineage.client.facet_v2 import schema_dataset as schemas

        columns = [schemas.SchemaDatasetFacetFields(name, kind) for name, kind in COLUMNS]
        facets: dict[str, Any] = {"schema": schemas.SchemaDatasetFacet(columns)}
        written: dict[str, Any] = {}
        if self._record is not None:
            figures = (self._record[name] for name in ("bicliques", "bytes", "partitions"))
            written["outputStatistics"] = statistics.OutputStatisticsOutputDatasetFacet(*figures)
            facets["version"] = versions.DatasetVersionDatasetFacet(self._record["digest"])
        return OutputDataset(*dataset_of(self._store), outputFacets=written, facets=facets)


_SEVERITY = {"pass": None, "warn": "warn", "fail": "error"}


@contextmanager
def lineage_told(settings: Settings, source: str, run_id: str | None = None) -> Iterator[Lineage]:
    """Tell of a run as the block is entered, and of its end as the block is left.

    Raises InputError where lineage is asked for, and the client library is missing.
    """
    told = Lineage(settings, source, run_id)
    told.tell("START")
    try:
        yield told
    except Exception as error:
        told.tell("FAIL", error)
        raise
    except BaseException:
        told.tell("ABORT")
        raise
    told.tell("COMPLETE")


def dataset_of(uri: str) -> tuple[str, str]:
    """Namespace and name of a dataset, as OpenLineage names files.

    Examples
    --------
    >>> dataset_of("s3://lake/edges.parquet"), dataset_of("/data/edges.csv")
    (('s3://lake', 'edges.parquet'), ('file', '/data/edges.csv'))
    """
    if "://" not in uri:
        return "file", os.path.abspath(uri)
    parts = urlsplit(uri)
    return (
        ("file", parts.path) if parts.scheme == "file" else (f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/"))
    )


def _own_version() -> str:
    try:
        return version("bicliq")
    except PackageNotFoundError:  # a source tree that is not installed
        return "unknown"
