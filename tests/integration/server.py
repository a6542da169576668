"""Questions to the Prefect server of the tests, over its API."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx

from bicliq.pipeline.errors import StorageError
from bicliq.pipeline.store.layout import Store

CLIENT = httpx.Client(verify=False, timeout=60)
"""One for all questions: to make one, with its certificates, takes 20 ms of the processor."""


def ask(url: str, question: dict[str, Any], how: str = "POST") -> Any:
    """The server's answer; a server on SQLite says 503 while its database is locked, and means:
    again."""

    def answer() -> httpx.Response | None:
        with suppress(httpx.TransportError):  # a machine with much to do lets it wait
            response = CLIENT.request(how, url, json=question)
            return None if response.status_code == 503 else response.raise_for_status()
        return None

    answered = wait_for(answer, 120)
    return answered.json() if answered.content else None


def forget(server: str, deployment: str) -> None:
    """Delete a deployment, however busy the server is."""

    def is_gone() -> bool:
        with suppress(httpx.TransportError):
            return CLIENT.delete(f"{server}/deployments/{deployment}").status_code in (204, 404)
        return False

    wait_for(is_gone, 120)


def artifacts(server: str) -> dict[str, dict[str, Any]]:
    """The latest artifact of each key."""
    found = ask(f"{server}/artifacts/latest/filter", {"limit": 200, "sort": "UPDATED_DESC"})
    return {entry["key"]: entry for entry in found}


def deployed(server: str, name: str) -> dict[str, Any] | None:
    """A deployment, where there is one of this name."""
    found = ask(f"{server}/deployments/filter", {})
    return next((entry for entry in found if entry["name"] == name), None)


def runs_of(server: str, deployment: str) -> list[dict[str, Any]]:
    """The runs of a deployment, by its id."""
    return ask(f"{server}/flow_runs/filter", {"flow_runs": {"deployment_id": {"any_": [deployment]}}, "limit": 200})


def logs_of(server: str, run: str) -> str:
    """What a flow run has logged."""
    found = ask(f"{server}/logs/filter", {"logs": {"flow_run_id": {"any_": [run]}}, "limit": 200})
    return "\n".join(entry["message"] for entry in found)


def published(store: str) -> bool:
    """Whether a store has a published run."""
    try:
        opened = Store.open(store, create=False)
    except StorageError:
        return False
    return any(opened.run(run).manifest() for run in opened.runs())


def wait_for(condition: Callable[[], Any], seconds: float) -> Any:
    """What a condition comes to, soon after it is true: a question to a server costs it 20 ms."""
    deadline, pause = time.monotonic() + seconds, 0.05
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(pause)
        pause = min(1.3 * pause, 0.5)
    raise AssertionError(f"nothing after {seconds} s")
