"""The tables that a run was made of: its own, or that of its first run and those of the updates."""

from __future__ import annotations

from dataclasses import dataclass

from bicliq.pipeline.store.records import StoredGraph, Updated
from bicliq.pipeline.store.results import Run


@dataclass(frozen=True)
class Step:
    """A run in the line from the first one to a version.

    `run`: its name. `graph`: record of its graph: the table that was read for it, and the account
    of its rows. `update`: what it joined or took away, and from which files; None of the first run.
    """

    run: str
    graph: StoredGraph
    update: Updated | None


def steps_of(run: Run) -> list[Step]:
    """Return the steps to a run, the first run first.

    It is the first that is still in the store: earlier ones may have been removed.
    """
    steps: list[Step] = []
    there = set(run.store.runs())
    name: str | None = run.run
    while name is not None and (not steps or name in there):
        asked = run.store.run(name).record()
        steps.append(Step(name, run.store.graph(asked.graph).record(), asked.update))
        name = asked.parent
    return steps[::-1]
