"""Publish: the manifest of a run, written last, which says what it holds."""

from __future__ import annotations

import contextlib
from typing import Any

from bicliq.pipeline.errors import DamageError, StorageError
from bicliq.pipeline.events import tell
from bicliq.pipeline.placement.machine import machine_facts
from bicliq.pipeline.stages.checks import read_checks
from bicliq.pipeline.store.bicliques import MASK
from bicliq.pipeline.store.commits import partition_name
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.log import Overtaken, make_next, numbered_latest
from bicliq.pipeline.store.manifest import moment_after, ran_on
from bicliq.pipeline.store.records import Commit, Held, Manifest, PlanRecord, PublishedFile, RunRecord
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.store.states import compare

NAMED = 10
"""Missing partitions that a message names before it stops."""


def publish(
    store: Store,
    run: str,
    max_bicliques: int | None = None,
    created: str | None = None,
    limited_by: str | None = None,
) -> Manifest:
    """Write the manifest of a run: whole, or with what ended its search before its end.

    Published again, it is the latest run.

    `store`, `run`: a run that was searched. `max_bicliques`: the limit that it was searched with: a
    run that reached it needs no more than it has. `created`: when it was published before, where it
    is only mended: it is no later run for it. `limited_by`: the limit that ended its search
    (`pipeline.stages.limits.LimitName`), if one did. The manifest is written last. Raises
    StorageError where partitions are missing, or were cut off, and neither a limit nor a failure
    was the reason; where they are damaged, naming them. Of a version all must be there.
    """
    folder = store.run(run)
    asked, plan = folder.record(), folder.read(PlanRecord)
    commits = folder.committed()
    bicliques = sum(commit.rows for commit in commits.values())
    missing = [n for n in range(plan.partitions) if n not in commits or not commits[n].complete]
    if limited_by is None and max_bicliques is not None and bicliques >= max_bicliques:
        limited_by = "max_bicliques"
    failed = _explained(folder, asked, plan, missing, limited_by) if missing else {}
    sizes = Sizes()
    for commit in commits.values():
        sizes.merge(commit.sizes)
    largest = [commit.sizes.largest.of(number) for number, commit in commits.items() if commit.sizes.largest]
    graph = store.graph(plan.graph)
    record = graph.record()
    manifest = Manifest(
        run=run,
        graph=plan.graph,
        side=plan.side,
        n_left=record.n_left,
        n_right=record.n_right,
        n_edges=record.n_edges,
        bicliques=bicliques,
        digest=total_digest(commits),
        complete=not missing,
        limit=bicliques if missing and limited_by is not None else None,
        limited_by=limited_by if missing else None,
        failed={str(n): reason for n, reason in failed.items()},
        partitions=len(commits),
        bytes=sum(commit.bytes for commit in commits.values()),
        backend=ran_on(commit.backend for commit in commits.values()),
        threads=max((commit.threads for commit in commits.values()), default=0),
        largest=max(largest, key=lambda each: each.rank, default=None),
        left_histogram=sizes.left,
        right_histogram=sizes.right,
        seconds={**plan.seconds, "search": round(sum(c.seconds for c in commits.values()), 6)},
        created=created or _created(folder, asked),
        files=[_file(commit) for commit in commits.values()],
        checks=read_checks(folder),
        machine=machine_facts(),
    )
    _refuse_others(folder, asked, commits)
    folder.write(manifest.at, manifest)
    if created is None:
        _make_latest(folder, asked, manifest.created)
    found: dict[str, Any] = {"bicliques": bicliques, "digest": manifest.digest, "complete": manifest.complete}
    folder.remove_attempts(commits.values())
    folder.sweep()
    graph.sweep()
    tell("run published", run=run, **found, bytes=manifest.bytes)
    return manifest


def _explained(
    folder: RunFolder, asked: RunRecord, plan: PlanRecord, missing: list[int], limited_by: str | None
) -> dict[int, str]:
    """Why missing partitions failed; refuse a run where no limit or failure explains all."""
    failed = {n: reason for n, reason in folder.failures().items() if n in missing}
    if asked.parent is not None or (limited_by is None and set(missing) != set(failed)):
        raise StorageError(
            f"{folder.uri}: {named(missing)} of {plan.partitions} not committed, or cut off by a limit; resume the run, then"
            " publish it"
        )
    return failed


def standing(folder: RunFolder) -> Manifest | None:
    """Return the manifest of a run that is the latest, and whole as its commit records say."""
    found = folder.manifest()
    if found is None or not found.complete or numbered_latest(folder.store) != folder.run:
        return None
    try:
        compare(folder, found, folder.committed())
    except DamageError:  # the partitions are searched again, or the manifest is written anew
        return None
    return found


def publish_in_part(store: Store, run: str, limited_by: str | None) -> Manifest | None:
    """Publish a run of which partitions failed; its manifest names them, and is not complete.

    A version is there whole or not at all: nothing is published of it, and None is returned.
    """
    is_version = store.run(run).record().parent is not None
    return None if is_version else publish(store, run, limited_by=limited_by)


def held_version(folder: RunFolder, asked: RunRecord) -> Held | Manifest | None:
    """Return number, digest and moment of the version that a run is to hold whole, if it is one.

    Of what the run's record says the moment may have changed since.
    """
    return None if asked.compacts is None else folder.store.run(asked.compacts).manifest() or asked.holds


def _refuse_others(folder: RunFolder, asked: RunRecord, commits: dict[int, Commit]) -> None:
    """Take back the partitions of a version that was written whole, where they do not hold it."""
    held, rows = held_version(folder, asked), sum(commit.rows for commit in commits.values())
    if held is None or (held.bicliques, held.digest) == (rows, total_digest(commits)):
        return
    for number in commits:
        folder.uncommit_partition(number)
    version = asked.compacts
    raise DamageError(
        f"{folder.uri}: its partitions have {rows} bicliques, digest {total_digest(commits)}, and the version {version}"
        f" {held.bicliques}, digest {held.digest}; they were taken back: bicliq compact {version} writes them"
        f" again, and {MEND}"
    )


def _make_latest(folder: RunFolder, asked: RunRecord, created: str) -> None:
    """Make a run the latest one; a version only where nothing came between."""
    if asked.compacts is not None:
        with contextlib.suppress(Overtaken):  # it holds what is no longer the latest
            make_next(folder, created, asked.compacts, asked)
    else:
        make_next(folder, created, None if asked.beside else asked.parent, asked)


def _created(folder: RunFolder, asked: RunRecord) -> str:
    """When a run is published: as the version that it holds, or later than its parent."""
    held = held_version(folder, asked)
    if held is not None:
        return held.created
    before = None if asked.parent is None else folder.store.run(asked.parent).manifest()
    return moment_after(None if before is None else before.created)


def total_digest(commits: dict[int, Commit]) -> str:
    """Return the set digest of all commits together, 16 hex digits."""
    return f"{sum(int(commit.digest, 16) for commit in commits.values()) & MASK:016x}"


def _file(commit: Commit) -> PublishedFile:
    told = ("bytes", "partition", "rows", "digest", "seconds", "complete", "plan", "backend", "threads")
    about: dict[str, Any] = {name: getattr(commit, name) for name in told}
    subgraph = partition_name(commit.partition)
    return PublishedFile(path=commit.file, checksum=commit.data.checksum, subgraph=subgraph, **about)


def named(numbers: list[int]) -> str:
    """Return some partitions and their number in words, as ``partitions 3, 5 (2)``."""
    listed = ", ".join(map(str, numbers[:NAMED])) + (", …" if len(numbers) > NAMED else "")
    return f"partitions {listed} ({len(numbers)})"
