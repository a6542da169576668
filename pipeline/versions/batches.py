"""Checks of a batch, the table of an update, before it is joined: beside the batch before it."""

from __future__ import annotations

import numpy as np

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.settings import CheckSettings
from bicliq.pipeline.stages.checks import failures, judge
from bicliq.pipeline.stages.extend import Extended
from bicliq.pipeline.store.entries import Check
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import RunRecord, StoredGraph
from bicliq.pipeline.store.taken import all_taken, holds_taken_alone


def check_batch(
    store: Store, before: RunRecord, extended: Extended, files: int, cost: int | None, asked: CheckSettings
) -> list[Check]:
    """Check the table of an update.

    Parameters
    ----------
    store
        Where it is joined.
    before
        The run.json of the version that it is joined to.
    extended
        Its table, and the graph with it.
    files
        How many files it has.
    cost
        Estimated work of the search for what changes, as paths of two edges; None: all is searched.
    asked
        The thresholds.

    Returns
    -------
    list of Check
        The checks.

    Raises
    ------
    InputError
        Where a check failed and the settings say that this stops the update.

    Notes
    -----
    Rows are compared a file, since a look takes any number of files, with those of the version
    before where it was made of files by an update or a watch. Labels are new that the graph before
    has not. The degree is that of the graph with the batch.
    """
    summary, known = extended.record.summary, store.graph(before.graph).record()
    rows = summary.rows_read
    last = _rows_a_file(store, before, known)
    labels = max(summary.n_left + summary.n_right, 1)
    new = extended.record.n_left + extended.record.n_right - sum(known.sizes)
    measured: dict[str, float | None] = {
        "rows": None if last is None else abs(rows / max(files, 1) - last) / max(last, 1),
        "dropped": summary.dropped / max(rows, 1),
        "labels": new / labels,
        "degree": _largest_degree(extended.larger),
        "paths": cost,
    }
    checks = judge(before.run, measured, asked)
    failed = failures(checks, asked)
    if failed:
        raise InputError(
            f"{summary.source.uri}: the batch fails its checks: {failed}; nothing was joined: mend the table or the"
            " threshold, or join it all the same with on_fail = 'flag'"
        )
    return checks


def _rows_a_file(store: Store, before: RunRecord, graph: StoredGraph) -> float | None:
    """Rows a file of the last batch; None where the version is a run that no watch began."""
    if before.update is not None:
        return before.update.rows_read / max(len(before.update.files), 1)
    known = holds_taken_alone(store, before)
    return graph.summary.rows_read / max(len(all_taken(store, before)), 1) if known else None


def _largest_degree(graph: BipartiteGraph) -> int:
    degrees = np.diff(graph.indptr), np.bincount(graph.indices, minlength=1)
    return max(int(some.max(initial=0)) for some in degrees)
