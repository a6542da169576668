"""What a report says: figures of a run and of its graph, its groups, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bicliq.pipeline.errors import BicliqError
from bicliq.pipeline.events import warn
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.report.groups import Matter, groups_that_matter
from bicliq.pipeline.report.history import Step, steps_of
from bicliq.pipeline.report.in_step import groups_in_step
from bicliq.pipeline.report.times import Times, read_times
from bicliq.pipeline.results.changes import Changes, changes_between
from bicliq.pipeline.stages.profile import histogram, profile, sampled_two_hop
from bicliq.pipeline.store.entries import Expected
from bicliq.pipeline.store.records import Checks, Manifest, Profile, RunRecord
from bicliq.pipeline.store.results import Run, open_run

MOST_PATHS = 1 << 26
"""Paths of two edges that are followed from each side for its two-step distribution: a second."""

CHANGED = 10
"""Groups that appeared, and that vanished, which are shown."""

MOST_COMPARED = 2_000_000
"""Bicliques of two runs that are compared one by one; versions of one base are always."""


@dataclass(frozen=True)
class TwoStep:
    """How many others the vertices of a side share something with.

    `looked_at`, `vertices`: vertices that were looked at, and all of the side. `histogram`: pairs
    (others, vertices looked at with so many), ascending.
    """

    looked_at: int
    vertices: int
    histogram: list[tuple[int, int]]


@dataclass(frozen=True)
class Facts:
    """All that a report shows.

    Parameters
    ----------
    manifest, asked, profile
        Records of the run and of its graph.
    steps
        The tables that it was made of, the first one first (`pipeline.report.history.steps_of`).
    expected
        What the plan expected the search to find; None where nothing was expected.
    two_step
        The two-step neighbourhoods of the left and of the right side.
    sizes
        Bicliques by (number of left vertices, number of right vertices).
    groups
        The groups that matter, and others to look through.
    times
        When the edges of these groups were first seen, of groups in step when the members of each
        acted; or why that is not known.
    in_step
        How long a window is, of groups in step.
    changes
        What appeared and vanished since the run before, as `Changes.record`; or why that is not
        known.
    """

    manifest: Manifest
    asked: RunRecord
    profile: Profile
    steps: list[Step]
    expected: Expected | None
    two_step: dict[str, TwoStep]
    sizes: dict[tuple[int, int], int]
    groups: Matter
    times: Times | list[Times] | str
    changes: dict[str, Any] | str
    in_step: str | None = None


def gather(run: Run) -> Facts:
    """Read what a report says of a published run.

    Raises StorageError where the run is not published, or something is damaged.

    Reads the graph, the sizes of all bicliques and the largest of them, and the edge table again
    where it has times: O(rows + bicliques) time, O(edges) memory. The search for surprising groups
    ends after `pipeline.report.groups.SECONDS`.
    """
    manifest = run.manifest
    graph = read_graph(run.store.graph(manifest.graph))
    steps = steps_of(run)
    asked = run.folder.asked
    times: Times | list[Times] | str
    if run.acted is None:
        groups = groups_that_matter(run, graph, asked.search)
        times = read_times(run, steps, groups.pictures)
    else:
        groups, times = groups_in_step(run, graph)
    return Facts(
        manifest=manifest,
        asked=asked,
        profile=profile(run.store, manifest.graph),
        steps=steps,
        expected=run.folder.planned.expected if asked.layered is None else None,
        two_step={"left": _two_step(graph), "right": _two_step(graph.transpose())},
        sizes=run.sizes(),
        groups=groups,
        times=times,
        changes=_changes(run, asked),
        in_step=asked.in_step,
    )


def _two_step(graph: BipartiteGraph) -> TwoStep:
    sizes = sampled_two_hop(graph, MOST_PATHS)
    return TwoStep(sizes.size, graph.n_left, histogram(np.sort(sizes)))


def _changes(run: Run, asked: RunRecord) -> dict[str, Any] | str:
    """What changed since the parent of a version, or the run of the same source before."""
    before = asked.parent or _run_before(run)
    if before is None:
        return "There is no earlier run of this table in the store."
    try:
        earlier = open_run(run.store, before)
        of_one_base = asked.base == earlier.folder.asked.base
        both = earlier.manifest.bicliques + run.manifest.bicliques
        if not of_one_base and both > MOST_COMPARED:
            return (
                f"{both:,} groups would be compared with those of run {before}; bicliq diff {before} {run.run} does it."
            )
        return Changes.record(changes_between(run, before), CHANGED)
    except BicliqError as error:  # of the earlier run: this one has its report all the same
        warn("report shows no changes", run=run.run, reason=error)
        return f"The run before, {before}, cannot be compared: {error}"


def _run_before(run: Run) -> str | None:
    """The run of the same source, sizes and windows that was published before this one."""
    checks = run.folder.find(Checks)
    before = None if checks is None else checks.last
    if before is None or before == run.run or before not in run.store.runs():
        return None
    now, then = run.folder.asked, run.store.run(before).asked
    return before if (now.search, now.in_step) == (then.search, then.in_step) else None
