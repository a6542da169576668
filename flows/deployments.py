"""A file of deployments: which flow, when, and with which parameters."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import load_settings

FLOWS = {
    "etl": "etl.etl",
    "ingest": "ingest.ingest",
    "enumerate": "enumerate.enumerate_graph",
    "count": "count.count_flow",
    "find": "find.find",
    "rules": "rules.rules_flow",
    "clique": "clique.clique",
    "update": "update.update_flow",
    "watch": "update.watch_flow",
}
"""The flows that a file may name, each with its place in this package."""

LONGEST_INTERVAL = 366 * 86_400
"""Seconds: a schedule that is rarer than once a year is a mistake."""


@dataclass(frozen=True)
class Deployment:
    """A flow with its parameters and its schedule.

    `flow`: the Prefect flow. `parameters`: of every run. `cron`, `interval`: the schedule: a cron
    expression (UTC), or seconds between two runs; neither: runs are started by hand.
    """

    name: str
    flow: Any
    parameters: dict[str, Any]
    cron: str | None
    interval: float | None

    def check(self) -> None:
        """Refuse a name or a schedule that makes no sense."""
        if not self.name.strip() or re.search("[/%&<>]", self.name):
            raise InputError(f"--name {self.name!r}: a deployment's name needs a letter, and none of / % & < >")
        check_schedule(self.cron, self.interval)


def read_deployments(path: str | os.PathLike[str]) -> list[Deployment]:
    """Read a TOML file with a table a deployment, which is named like its table.

    `path`: the file. `flow` names one of `FLOWS`; `cron` or `interval` is the schedule; all else
    are parameters of the flow: ``source``, ``settings``, ``asked`` …. Raises InputError where the
    file cannot be read, or names what is not there: with the table and the key.
    """
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the file of deployments cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: this is no TOML: {error}") from error
    if not tables:
        raise InputError(f'{path}: there is no deployment in it; a table for each: [nightly], flow = "etl", …')
    return [_deployment(str(path), name, table) for name, table in tables.items()]


def anywhere(uri: str) -> str:
    """Return a path or URL that means the same in any folder."""
    return uri if "://" in uri or "::" in uri else os.path.abspath(uri)


def _deployment(path: str, name: str, table: Any) -> Deployment:
    place = f"{path}: [{name}]"
    if not isinstance(table, dict):
        raise InputError(f"{place}: it must be a table with the flow and its parameters, not {table!r}")
    parameters = {key: value for key, value in table.items() if key not in ("flow", "cron", "interval")}
    if table.get("flow") not in FLOWS:
        raise InputError(f"{place}: flow is {table.get('flow')!r}; it must be one of {', '.join(FLOWS)}")
    module, function = FLOWS[table["flow"]].split(".")
    flow = getattr(importlib.import_module(f"bicliq.flows.{module}"), function)
    _check_parameters(place, flow, parameters)
    if isinstance(parameters.get("source"), str):
        parameters["source"] = anywhere(parameters["source"])
    try:
        settings = parameters.get("settings", {})
        parameters["settings"] = {**settings, "store": anywhere(load_settings(**settings).store)}
        found = Deployment(name, flow, parameters, table.get("cron"), table.get("interval"))
        found.check()
    except (InputError, TypeError) as error:
        raise InputError(f"{place}: {error}") from error
    return found


def _check_parameters(place: str, flow: Any, parameters: dict[str, Any]) -> None:
    known = flow.parameters.properties
    unknown, missing = sorted(set(parameters) - set(known)), sorted(set(flow.parameters.required) - set(parameters))
    if unknown:
        raise InputError(f"{place}: the flow has no {', '.join(unknown)}; it has {', '.join(known)}")
    if missing:
        raise InputError(f"{place}: {', '.join(missing)} is missing")


def check_schedule(cron: Any, interval: Any) -> None:
    """Refuse two schedules at once, and one that makes no sense."""
    if cron is not None and interval is not None:
        raise InputError("--cron and --interval contradict each other; give one of them")
    if interval is not None and not (isinstance(interval, (int, float)) and 1 <= interval <= LONGEST_INTERVAL):
        raise InputError(f"--interval {interval}: between two runs there must be from 1 second to a year")
    if cron is not None:
        _check_cron(str(cron))


def _check_cron(text: str) -> None:
    """Refuse what is no cron expression, and one whose day never comes.

    The scheduler of the server would die of the latter.
    """
    from prefect.server.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    fields = 'write five fields, as in "0 3 * * *"'
    try:
        coming = asyncio.run(CronSchedule(cron=text).get_dates(1))
    except ValidationError as error:
        raise InputError(
            f"--cron {text!r}: {error.errors()[0]['msg'].removeprefix('Value error, ')}; {fields}"
        ) from None
    except ValueError:  # of croniter, which finds no such day
        coming = []
    if not coming:
        raise InputError(f"--cron {text!r}: such a day never comes; {fields}")
