"""Serve a table whose server is killed between its registration and the start of the runner.

For some seconds its port is still taken, and hangs up on whoever calls, as a dying server does.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from urllib.parse import urlsplit

from bicliq.flows.deploy import etl_deployment, serve
from bicliq.pipeline.settings import load_settings

HANGS_UP_FOR = 15.0


def main() -> None:
    settings = load_settings(store=os.environ["STORE"], cluster={"local": True}, ingest={"nulls": "drop"})
    deployment = etl_deployment(os.environ["SERVED"], settings, name="outage", interval=10)
    serve([deployment], ready=kill_the_server)


def kill_the_server(_: str) -> None:
    os.killpg(int(os.environ["SERVER"]), signal.SIGKILL)
    url = urlsplit(os.environ["PREFECT_API_URL"])
    listener = listen_when_free((str(url.hostname), int(url.port or 0)))
    threading.Thread(target=hang_up, args=(listener,), daemon=True).start()


def listen_when_free(address: tuple[str, int]) -> socket.socket:
    while True:
        try:
            return socket.create_server(address)
        except OSError:  # the server is not yet gone
            time.sleep(0.05)


def hang_up(listener: socket.socket) -> None:
    deadline = time.monotonic() + HANGS_UP_FOR
    with listener:
        listener.settimeout(1)
        while time.monotonic() < deadline:
            try:
                listener.accept()[0].close()
            except TimeoutError:
                continue


if __name__ == "__main__":
    main()
