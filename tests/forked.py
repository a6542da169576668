"""Processes that begin at once: a server forks them, which has loaded what commands need.

It takes a second or two of the processor to load that in each. What a variable changes as
libraries are loaded (``DASK_…``, ``FSSPEC_…``, ``LD_PRELOAD``), and a command with workers, is a
process that begins anew. Workers of clusters that tests open themselves are forked, too.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing as mp
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

import dask

ROOT = Path(__file__).parents[1]
SERVER = mp.get_context("forkserver")


class Process(SERVER.Process):  # type: ignore[name-defined, misc]
    """One that has the variables of who starts it, as it is elsewhere."""

    def start(self) -> None:
        self._variables = dict(os.environ)
        with contextlib.chdir(ROOT):  # where the server finds what it loads
            ensure_running()
        super().start()

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._variables)
        super().run()


def fork_processes() -> None:
    """Fork processes of `SERVER`, and the workers of Dask's clusters, which it starts anew."""
    SERVER.set_forkserver_preload([__name__, "tests.forked_loaded"])
    vars(SERVER).update(Process=Process, set_forkserver_preload=lambda names: None)  # Dask's are among ours
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})


class Forked:
    """A process that does some work, in a group of its own; asked as `subprocess.Popen` is.

    Parameters
    ----------
    work, given
        A function of a module, and its arguments.
    variables
        Of its environment, beside those that are set here.
    wait
        Seconds until it begins.
    """

    def __init__(
        self, work: Callable[..., Any], *given: Any, variables: Mapping[str, str] | None = None, wait: float = 0.0
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._said = (f"{self._folder.name}/out", f"{self._folder.name}/err")
        told = (self._said, dict(variables or {}), os.getcwd(), wait, work, *given)
        self._process = SERVER.Process(target=_begin, args=told)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self._process), timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it said on its standard output, and on the other, in the end."""
        self.wait(timeout)
        out, err = (Path(name).read_text() if Path(name).exists() else "" for name in self._said)
        return out, err

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def command(*words: str, variables: Mapping[str, str] | None = None, wait: float = 0.0) -> Forked:
    """Give a command of Bicliq, and do not wait."""
    return Forked(be_a_command, *words, variables=variables, wait=wait)


def _begin(
    said: tuple[str, str], variables: dict[str, str], cwd: str, wait: float, work: Callable[..., Any], *given: Any
) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.update(variables)
    tempfile.tempdir = None  # it is looked for again, since TMPDIR may be another
    os.chdir(cwd)
    time.sleep(wait)
    for number, name in enumerate(said, 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = (io.TextIOWrapper(os.fdopen(number, "wb"), errors="backslashreplace") for number in (1, 2))
    work(*given)


def be_a_command(*words: str) -> None:
    """Its exit code is the process's."""
    from bicliq.flows.cli.app import main

    sys.argv = ["bicliq", *words]
    main()
