"""What tests of all rooms share: the kernels with each instruction set that this machine has."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from bicliq.kernels import BackendError
from bicliq.kernels.cpu import INSTRUCTION_SETS, load_extension
from bicliq.pipeline.events import LOGGER
from bicliq.pipeline.placement import fallback
from tests.dask_cluster import cluster, spawned
from tests.forked import fork_processes
from tests.nightly import NIGHTLY
from tests.prefect_server import prefect_server

__all__ = ["cluster", "prefect_server", "spawned"]

# What passes here passes in CI: the same cases are drawn in every run. Campaigns draw others, by
# `--hypothesis-profile=drawn` (`make fuzz`).
settings.register_profile("same", derandomize=True, deadline=None, max_examples=100 if NIGHTLY else 15)
settings.register_profile("drawn", derandomize=False, deadline=None)
settings.load_profile("same")


gc.disable()
fork_processes()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """What was collected stays to the end: to look through it for garbage, again and again, takes
    a third of the time of collecting, and most of a second each time later on."""
    gc.enable()
    gc.freeze()


SHARED = ("prefect_server", "cluster")
"""Servers whose tests one process runs, so that there is one of each."""


@pytest.hookimpl(tryfirst=True)  # before xdist takes the groups from the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for a server comes first, then what starts processes: nothing long begins last."""
    rooms = [*SHARED, "faults", "load", "integration", "notebooks", "property", "unit", "house", "gpu"]

    def turn(item: pytest.Item) -> int:
        needed = next((name for name in SHARED if name in getattr(item, "fixturenames", ())), None)
        if needed is not None:
            item.add_marker(pytest.mark.xdist_group(needed))
        return next((at for at, room in enumerate(rooms) if room in (needed, *item.nodeid.split("/"))), len(rooms))

    items.sort(key=turn)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What is shared ends with the last test that needs it: at rest it takes a tenth of a core."""
    now, later = (not set(SHARED).isdisjoint(getattr(one, "fixturenames", ())) for one in (item, nextitem))
    for name in SHARED if now and not later else ():
        for definition in item.session._fixturemanager._arg2fixturedefs[name]:
            if definition.scope == "session":
                definition.finish(item._request)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file stay together, but for those that share a server with other files."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByFileOrGroup(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            group: str = super()._split_scope(nodeid)
            return nodeid.split("::")[0] if group == nodeid else group

    return ByFileOrGroup(config, log)


class SaidAtOnce:
    """Names a test when it fails, for those who end the suite before its summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # behind a shell's "&", for all that is started from here
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(SaidAtOnce(terminal))


@pytest.fixture(autouse=True)
def who_logs_what(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that a test calls sets up the log for itself, and not for the tests after it."""
    monkeypatch.setattr(LOGGER, "handlers", list(LOGGER.handlers))
    monkeypatch.setattr(LOGGER, "level", LOGGER.level)
    monkeypatch.setattr(LOGGER, "propagate", True)  # `serve` ends it
    LOGGER.setLevel(LOGGER.level)  # and nothing is remembered of a level that it had


@pytest.fixture(autouse=True)
def a_gpu_that_was_given_up_is_asked_again() -> None:
    fallback.reasons.clear()


@pytest.fixture(params=INSTRUCTION_SETS)
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each instruction set in turn, for all kernels of the test; skipped where the processor has it
    not."""
    load_extension.cache_clear()
    monkeypatch.setenv("BICLIQ_LANES", request.param)
    try:
        load_extension()
        yield request.param
    except BackendError as error:
        pytest.skip(str(error))
    finally:
        load_extension.cache_clear()
