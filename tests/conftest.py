"""What tests of all rooms share: the kernels with each instruction set that this machine has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from bicliq.kernels import BackendError
from bicliq.kernels.cpu import INSTRUCTION_SETS, load_extension
from bicliq.pipeline.events import LOGGER
from tests.prefect_server import prefect_server

__all__ = ["prefect_server"]

# What passes here passes in CI: the same cases are drawn in every run. Campaigns draw others, by
# `--hypothesis-profile=drawn` (`make fuzz`).
settings.register_profile("same", derandomize=True)
settings.register_profile("drawn", derandomize=False)
settings.load_profile("same")


class SaidAtOnce:
    """Names a test when it fails, for those who end the suite before its summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}, {report.duration:.0f} s)")


def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        config.pluginmanager.register(SaidAtOnce(terminal))


@pytest.fixture(autouse=True)
def who_logs_what(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that a test calls sets up the log for itself, and not for the tests after it."""
    monkeypatch.setattr(LOGGER, "handlers", list(LOGGER.handlers))
    monkeypatch.setattr(LOGGER, "level", LOGGER.level)
    monkeypatch.setattr(LOGGER, "propagate", True)  # `serve` ends it
    LOGGER.manager._clear_cache()


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
