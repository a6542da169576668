"""Where work runs: a Dask cluster on this machine, or the address of an existing one."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from typing import Any

from kernels import available_threads
from pipeline.errors import InputError
from pipeline.settings import ClusterSettings

ALLOWED_FAILURES = 2
"""Workers that a partition may take down with it before it counts as failed."""

CONNECT_SECONDS = 30
"""How long to wait for the scheduler of an existing cluster."""


@contextlib.contextmanager
def open_cluster(settings: ClusterSettings) -> Iterator[Any]:
    """Open a cluster and yield its client; a cluster that was started here is closed with the block.

    Parameters
    ----------
    settings
        Without a scheduler's address: one process a core, or as many as asked for, with equal shares of the
        memory.

    Yields
    ------
    distributed.Client
        Its `dashboard_link` is the address of the dashboard, where there is one.

    Raises
    ------
    InputError
        Where no scheduler answers at the given address.

    Notes
    -----
    Threads of the kernel are none of Dask's: `search_run` shares a machine's cores among its workers.
    """
    import dask
    from distributed import Client, LocalCluster

    quiet = {
        "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
        "distributed.logging.distributed": "error",
    }
    with dask.config.set(quiet):
        if settings.scheduler is not None:
            with _connect(settings.scheduler) as client:
                yield client
            return
        cluster = LocalCluster(
            n_workers=settings.workers or available_threads(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=_dashboard(settings.dashboard),
            silence_logs=logging.CRITICAL,
        )
        with cluster, Client(cluster) as client:
            client.register_worker_callbacks(_leave_interrupts_to_the_client)
            yield client


def _leave_interrupts_to_the_client() -> None:
    """Ignore Ctrl-C in a worker process that starts: a terminal sends it to all, and the client closes the workers."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _connect(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"scheduler {address!r}: no Dask scheduler answers there ({error}); check the address, as in tcp://host:8786"
        ) from error


def _dashboard(asked: bool | str) -> str | None:
    """Address of the dashboard: any free port of this machine unless one is named."""
    if isinstance(asked, str):
        return asked
    return "127.0.0.1:0" if asked else None
