"""A benchmark called as a command, in this process."""

from __future__ import annotations

from benchmarks.application import application
from bicliq.flows.cli.app import invoke


def bench(*words: str) -> int:
    """Run `python -m benchmarks` with these words; returns its exit code."""
    return invoke([*words], application)
