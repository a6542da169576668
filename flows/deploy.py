"""Scheduled runs: the etl flow as a Prefect deployment, served by this process."""

from __future__ import annotations

from typing import Any

from pipeline.errors import InputError
from pipeline.settings import Settings


def serve_etl(
    source: str, settings: Settings, *, name: str = "bicliq-etl", cron: str | None = None, interval: float | None = None
) -> None:
    """Register the etl flow with its schedule and stay to run it, until interrupted.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table that every run reads.
    settings
        Settings of every run.
    name
        Name of the deployment.
    cron, interval
        The schedule: a cron expression, or seconds between two runs; neither: runs are started by hand.

    Raises
    ------
    InputError
        If both schedules are given, or one makes no sense.

    Notes
    -----
    The schedule is not paused when this process ends: another one that serves the same name goes on with it.
    `prefect.yaml` declares the same deployment for work pools.
    """
    from flows.etl import etl

    if cron is not None and interval is not None:
        raise InputError("--cron and --interval contradict each other; give one of them")
    if interval is not None and interval < 1:
        raise InputError(f"--interval {interval:g}: a schedule needs at least one second between two runs")
    if cron is not None:
        _check_cron(cron)
    parameters: dict[str, Any] = {"source": source, "settings": settings.model_dump(mode="json")}
    etl.serve(
        name=name,
        cron=cron,
        interval=interval,
        parameters=parameters,
        pause_on_shutdown=False,
        description="An edge table to its maximal bicliques, resumable.",
        tags=["bicliq"],
    )


def _check_cron(text: str) -> None:
    from prefect.client.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        CronSchedule(cron=text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(f'--cron {text!r}: {reason}; write five fields, as in "0 3 * * *"') from None
