"""A Prefect server for the tests of flows and schedules: a process of its own with its scheduler,
started once."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest

os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of the API; flows of this process and commands that are started by `os.environ` use
    it."""
    home = tmp_path_factory.mktemp("prefect")
    if "PYTEST_XDIST_WORKER" in os.environ:
        (home.parents[1] / "prefect_server").mkdir()  # fails for a second one: its tests are not kept together
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/api"
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    with open(home / "server.log", "w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)],
            env={**environment, "PREFECT_HOME": str(home)},
            stdout=log,
            stderr=log,
        )
    changed = pytest.MonkeyPatch()
    changed.setenv("PREFECT_API_URL", url)
    changed.setenv("PREFECT_HOME", str(home))
    try:
        _wait_for(url, server, home / "server.log")
        from prefect.settings import PREFECT_API_URL, temporary_settings

        with temporary_settings({PREFECT_API_URL: url}):
            yield url
    finally:
        from prefect.logging.handlers import APILogWorker

        APILogWorker.drain_all(timeout=60)  # of what is sent later, the test of that moment would say that it fails
        changed.undo()
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:  # its database stalls at times; the tests are over
            server.kill()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: os.PathLike[str]) -> None:
    deadline = time.monotonic() + 300
    with httpx.Client(verify=False, timeout=5) as client:
        while time.monotonic() < deadline and server.poll() is None:
            try:
                if client.get(f"{url}/health").is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
    with open(log) as said:
        raise AssertionError(f"the Prefect server did not start:\n{said.read()}")
