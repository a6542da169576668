"""Clusters of Dask: started on this machine, or reached by the address of a scheduler."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import multiprocessing
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from bicliq.kernels import available_threads
from bicliq.pipeline.errors import BackendError, InputError
from bicliq.pipeline.events import warn
from bicliq.pipeline.extras import install, missing, needs
from bicliq.pipeline.placement.device import INSTALL, LOADING, POOL_KEEPS
from bicliq.pipeline.settings import ClusterSettings

ALLOWED_FAILURES = 2
"""Workers that a partition may take down with it before it counts as failed."""

UNGUARDED = (
    'workers of a cluster run a script from its top: put what starts a run under `if __name__ == "__main__":`, or keep'
    " it in this process (local = true)"
)

NEVER = "1000 days"
"""When to give up a worker of our own cluster: Dask closes the nanny of one that happens to be down
15 s after it was down before, for good, though nannies start their workers again."""

NAMED = 5
"""Machines that a message names before it stops."""

CONNECT_SECONDS = 30
"""How long to wait for the scheduler of an existing cluster."""

CLOSING_SECONDS = 60.0
"""How long to wait for a cluster of our own to close: some seconds are usual."""


class StartedAhead:
    """A cluster of this machine that starts in a thread, while a table is read.

    `settings`, `backend`, `data_backend`: as for `open_cluster`, which takes it if they are the
    same. Raises InputError where a script starts it whose workers would run the script again.
    """

    def __init__(self, settings: ClusterSettings, backend: str, data_backend: str) -> None:
        _refuse_in_a_worker()
        self._asked = settings, backend, data_backend
        self._started: Future[Any] | None = Future()
        # nobody waits for it where the table is refused meanwhile
        threading.Thread(target=self._start, args=(self._started,), name="start of a cluster", daemon=True).start()

    def _start(self, started: Future[Any]) -> None:
        try:
            started.set_result(_start_cluster(*self._asked))
        except BaseException as error:
            started.set_exception(error)

    def taken(self, *asked: Any) -> Any | None:
        """Return the cluster as soon as it has started; None where another one is asked for."""
        if self._started is None or asked != self._asked:
            return None
        cluster = self._started.result()  # whoever is interrupted here leaves it
        self._started = None
        return cluster

    def leave(self) -> None:
        """Close the cluster, as soon as it has started, unless it was taken; return at once."""
        if self._started is not None:
            self._started.add_done_callback(_close_if_started)
            self._started = None


def _close_if_started(started: Future[Any]) -> None:
    with contextlib.suppress(Exception):  # whatever ends it: this process may be ending, and nobody waits
        started.result().close(timeout=CLOSING_SECONDS)


@contextlib.contextmanager
def open_cluster(
    settings: ClusterSettings,
    backend: str = "cpu",
    data_backend: str = "cuda",
    ahead: StartedAhead | None = None,
) -> Iterator[Any]:
    """Open a cluster and yield its client; one that was started here is closed with the block.

    `settings`: without a scheduler's address: one process a core, or as many as asked for, with
    equal shares of the memory. `backend`: with "cuda", one process a GPU instead: all GPUs that
    `CUDA_VISIBLE_DEVICES` shows, or as many as asked for. `data_backend`: where tables are: with
    "cpu" the processes of GPUs do not load cuDF. `ahead`: a cluster that is starting already, which
    is taken if it is the one that is asked for. Its `dashboard_link` is the address of the
    dashboard, where there is one. Raises InputError where no scheduler answers at the given
    address, or it or a worker of it has no Bicliq; where a script starts a cluster whose workers
    would run the script again. Raises BackendError where Dask-CUDA is missing, or workers do not
    start.

    A cluster on many hosts is started by its own tools (`dask scheduler`, and on each host `dask
    cuda worker` or `dask worker --nthreads 1`) and reached by its scheduler's address. Threads of
    the kernels are none of Dask's: each task takes its share of the machine's cores
    (`pipeline.placement.tasks.Here`).

    Examples
    --------
    >>> with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
    ...     client.submit(sum, [1, 2, 3]).result()
    6
    """
    with needs("cluster", "a cluster"):
        from distributed import Client

        from bicliq.pipeline.placement.batches import send_when_the_clock_is_put_back

    send_when_the_clock_is_put_back()  # workers do so with their first task
    asked = settings, backend, data_backend
    started = ahead and ahead.taken(*asked)
    with _configured():
        if settings.scheduler is not None:
            with _without_dasks_log(), _connect(settings.scheduler) as client:
                _refuse_hosts_without_bicliq(client)
                with contextlib.suppress(ImportError):  # an older Bicliq there
                    client.run_on_scheduler(send_when_the_clock_is_put_back)
                yield client
            return
        _refuse_in_a_worker()
        cluster = started or _start_cluster(*asked)
        with _closed_in_time(cluster), Client(cluster) as client:
            if settings.dashboard:
                cluster.sync(_show_searches, cluster.scheduler)
            client.register_worker_callbacks(_leave_interrupts_to_the_client)
            yield client


def _configured() -> Any:
    """What Dask is told while a cluster of ours starts, and works."""
    import dask
    import distributed  # noqa: F401  its defaults come with it, and would be taken back with ours

    return dask.config.set(
        {
            "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
            "distributed.deploy.lost-worker-timeout": NEVER,
            "distributed.logging.distributed": "error",
        }
    )


def _start_cluster(settings: ClusterSettings, backend: str, data_backend: str) -> Any:
    with _configured():
        return _gpu_cluster(settings, data_backend) if backend == "cuda" else _core_cluster(settings)


@contextlib.contextmanager
def _closed_in_time(cluster: Any) -> Iterator[None]:
    """Close a cluster at the end; one that does not close is left, and ends with this process.

    Dask may wait for ever for a worker that was being started again.
    """
    try:
        yield
    finally:
        try:
            cluster.close(timeout=CLOSING_SECONDS)
        except TimeoutError:
            warn("cluster is left open", reason=f"it did not close in {CLOSING_SECONDS:g} seconds")


async def _show_searches(scheduler: Any) -> None:
    """Add our page to the dashboard of a scheduler of this process, in its event loop."""
    from bicliq.pipeline.placement.dashboard import dask_setup

    dask_setup(scheduler)


def why_no_cluster() -> str | None:
    """Say why no cluster can be started or reached from here, or None when one can."""
    without = [name for name in missing("cluster") if name != "bokeh"]  # its dashboard
    return f"{' and '.join(without)} not installed: {install('cluster')}" if without else None


def why_no_gpu_cluster() -> str | None:
    """Say why no cluster of GPUs can be started here, or None when one can."""
    if importlib.util.find_spec("dask_cuda") is None:
        return f"a cluster of GPUs needs Dask-CUDA: {INSTALL}; or search in this process, on one GPU (local = true)"
    return None


def _refuse_in_a_worker() -> None:
    """Refuse to start a cluster while a worker of one is starting.

    A worker is a new Python process, which runs the script that started it up to its ``if __name__
    == "__main__":``. Where the run stands above that, each worker would begin the run again.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise InputError(UNGUARDED)


def _core_cluster(settings: ClusterSettings) -> Any:
    from distributed import LocalCluster

    try:
        return LocalCluster(
            n_workers=settings.workers or available_threads(),
            threads_per_worker=1,
            processes=True,
            dashboard_address=_dashboard(settings.dashboard),
            silence_logs=logging.CRITICAL,
        )
    except RuntimeError as error:
        raise BackendError(f"no cluster starts here ({error}); {UNGUARDED}") from error


def _gpu_cluster(settings: ClusterSettings, data_backend: str) -> Any:
    """One worker a GPU.

    Where tables lie there, too, cuDF may spill, and shares its memory with CuPy. It takes seconds
    to load. Dask-CUDA would load it in this process before it starts workers, and in workers also
    where tables are on the host.
    """
    reason = why_no_gpu_cluster()
    if reason is not None:
        raise BackendError(reason)
    with LOADING:
        from dask_cuda import LocalCUDACluster
        from dask_cuda.plugins import CUDFSetup

    pool: dict[str, Any] = {}
    cudf_setup: set[Any] = set()
    if data_backend == "cuda" and importlib.util.find_spec("cudf") is not None:
        pool = {"rmm_async": True, "rmm_release_threshold": POOL_KEEPS, "rmm_allocator_external_lib_list": "cupy"}
        cudf_setup = {CUDFSetup(spill=True, spill_stats=0)}

    class Workers(LocalCUDACluster):  # type: ignore[misc]
        def new_worker_spec(self) -> dict[Any, Any]:
            spec: dict[Any, Any] = super().new_worker_spec()
            for worker in spec.values():
                others = {plugin for plugin in worker["options"]["plugins"] if not isinstance(plugin, CUDFSetup)}
                worker["options"]["plugins"] = others | cudf_setup
            return spec

    return Workers(
        n_workers=settings.workers,
        threads_per_worker=1,
        dashboard_address=_dashboard(settings.dashboard),
        silence_logs=logging.CRITICAL,
        **pool,
    )


def _leave_interrupts_to_the_client() -> None:
    """Ignore Ctrl-C in a worker process: a terminal sends it to all, and the client ends them."""
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


def _refuse_hosts_without_bicliq(client: Any) -> None:
    """Refuse a cluster some of whose machines cannot import what tasks are made of.

    A worker that cannot ends when it gets one, without a word, and so takes the task for deadly.
    """

    def lacks_bicliq() -> bool:  # pickled as it is, and not by its name in this module
        from importlib.util import find_spec

        return any(find_spec(f"bicliq.{room}") is None for room in ("kernels", "pipeline"))

    without = ["the scheduler"] if client.run_on_scheduler(lacks_bicliq) else []
    with contextlib.suppress(TimeoutError):  # a worker that hangs is none of ours to find
        found = client.sync(client._run, lacks_bicliq, on_error="ignore", callback_timeout=CONNECT_SECONDS)
        without += [f"worker {address}" for address, lacks in found.items() if lacks]
    if without:
        named = ", ".join(without[:NAMED]) + (" …" if len(without) > NAMED else "")
        raise InputError(
            f"scheduler {client.scheduler.address}: Bicliq cannot be imported by {named}; install this version of Bicliq"
            " on all machines of the cluster"
        )


@contextlib.contextmanager
def _without_dasks_log() -> Iterator[None]:
    """Keep to ourselves what Dask logs here of connections that broke: an error of ours says it."""
    handlers = logging.getLogger("distributed").handlers
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)


def _dashboard(asked: bool | str) -> str | None:
    """Address of the dashboard: any free port of this machine unless one is named."""
    if isinstance(asked, str):
        return asked
    return "127.0.0.1:0" if asked else None
