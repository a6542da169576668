"""What an update did, as a record."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

How = Literal["changes", "full run", "nothing", "taken"]


@dataclass(frozen=True)
class UpdateRecord:
    """What an update did.

    Parameters
    ----------
    version, parent, store
        The new run, the run that it is a version of, and the store's URL. Where nothing was
        committed, `version` is the run that holds all of the table.
    graph
        The graph of the version.
    how, reason
        "changes": searched around the changed edges. "full run": the new graph was searched whole.
        "nothing": the table changes nothing, and no version was made. "taken": an earlier update
        took these files. And why, in words.
    deleted
        Whether edges were taken away.
    sources
        URLs of the files.
    rows_read, edges, unchanged, gone
        Rows of the table; different edges that were joined or taken away; those that were there
        already, or were not there; and edges that went as others were joined: those that left a
        window of time, or that a file held which was taken anew. Of groups in step an edge counts
        for each of its times.
    dropped_by_window
        Rows of the table that lie before the window of time, and are in no version.
    left_window
        Rows that the version before held and that left the window of time.
    appeared, vanished
        Maximal bicliques that are new, and that are no longer; None: a full run does not tell,
        unless it is of groups in step.
    bicliques, digest
        Those of the version, and their set digest, 16 hex digits.
    n_left, n_right, n_edges
        Size of its graph.
    bytes
        Size of the files that the version added.
    backend, threads, workers
        What the version was searched on, as in its manifest, and how many workers of a cluster took
        part in the search of what changed; 0: this process did it.
    placement
        Where that was decided to be searched, and why, in words; empty where it was not.
    checks
        Of the table, before it was joined (`pipeline.versions.batches`).
    compacted
        The run that the version was written as, whole, since its layers had grown heavy (`reason`
        says so); None: it was not.
    in_step
        How long a window is, where `bicliques` are groups in step.
    seconds
        Duration of each stage, and ``total``.
    account
        What became of the rows of the table (`pipeline.store.account`), whose edges are
        those that changed something and those that did not.
    """

    version: str
    parent: str
    store: str
    graph: str
    how: How
    reason: str
    deleted: bool
    sources: list[str]
    rows_read: int
    edges: int
    unchanged: int
    gone: int
    dropped_by_window: int
    left_window: int
    appeared: int | None
    vanished: int | None
    bicliques: int
    digest: str
    n_left: int
    n_right: int
    n_edges: int
    bytes: int
    backend: str
    threads: int
    workers: int
    placement: dict[str, str]
    checks: list[dict[str, Any]]
    seconds: dict[str, float]
    compacted: str | None = None
    in_step: str | None = None
    account: dict[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Plain record for JSON."""
        fields = asdict(self)
        return {**fields.pop("account"), **fields}
