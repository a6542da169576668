"""How far a run is, in words.

Planned, searched in part, published, cut off by a limit, or a count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.log import last_moments, latest_published
from bicliq.pipeline.store.records import Commit, Compared, Counts, Manifest, PlanRecord, RunRecord, Version
from bicliq.pipeline.store.versions import Part, layers_of, parts_of

StateName = Literal["planned", "searching", "searched", "published", "limited", "failed", "count"]


@dataclass(frozen=True)
class RunState:
    """How far a run is.

    Parameters
    ----------
    name
        "planned": nothing was searched. "searching": some partitions were, or are being searched.
        "searched": all were, but nothing is published. "published": all of it. "limited":
        published, but cut off by its limit. "failed": published, but partitions failed. "count":
        the run is a count of (p,q)-bicliques, and has none to read.
    committed, partitions
        Partitions that were searched, and all of them.
    limit
        The limit that cut the run off.
    published
        When it, or its counts, were last published (ISO, UTC).
    limited_by
        Which limit it was, by its name.
    failed
        Why partitions failed, by number.

    Examples
    --------
    >>> print(RunState("searching", 3, 32))
    3 of 32 partitions searched
    """

    name: StateName
    committed: int
    partitions: int
    limit: int | None = None
    published: str | None = None
    limited_by: str | None = None
    failed: dict[int, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all that was asked for is there, and published."""
        return self.name in ("published", "count") and self.published is not None

    def __str__(self) -> str:
        if self.name == "planned":
            return f"planned, none of {self.partitions} partitions searched"
        if self.name == "searching":
            return f"{self.committed} of {self.partitions} partitions searched"
        if self.name == "searched":
            return "searched, but not published"
        if self.name == "failed":
            number, reason = next(iter(self.failed.items()))
            more = f", and {len(self.failed) - 1} others" if len(self.failed) > 1 else ""
            return f"not complete: of {self.partitions} partitions {number} failed ({reason}){more}"
        if self.name == "limited":
            if self.limited_by in (None, "max_bicliques"):
                return f"cut off by its limit of {self.limit:,} bicliques"
            return f"cut off by its {self.limited_by} at {self.limit:,} bicliques"
        return "a count, not an enumeration" if self.name == "count" else "published"

    def record(self) -> dict[str, Any]:
        """Entries for a JSON record."""
        return {
            "state": self.name,
            "complete": self.complete,
            "partitions_searched": self.committed,
            "partitions": self.partitions,
            "failed": {str(number): reason for number, reason in self.failed.items()},
        }


@dataclass(frozen=True)
class OpenedRun:
    """A run as its records describe it, all of which were read and agree.

    Parameters
    ----------
    asked
        What is asked (run.json).
    plan
        What was planned (plan.json), or None.
    parts
        Data files of the committed partitions by number, ascending.
    manifest
        The manifest, or None.
    state
        How far it is.
    """

    asked: RunRecord
    plan: PlanRecord | None
    parts: dict[int, Part]
    manifest: Manifest | None
    state: RunState

    @property
    def commits(self) -> dict[int, Commit]:
        """Commits of the data files; those of a version count what vanished, too."""
        return {number: part.commit for number, part in self.parts.items()}


def read_run(folder: RunFolder) -> OpenedRun:
    """Read the records of a run, and the sizes of its data files.

    Raises InputError where there is no such run. Raises DamageError where a record or a data file
    is damaged or missing, or the manifest says otherwise than the commit records.
    """
    if not folder.exists():
        raise InputError(f"{folder.uri}: there is no such run")
    asked = folder.record()
    if asked.layered is not None:
        return _read_version(folder, asked, asked.layered)
    plan, manifest = folder.find(PlanRecord), folder.find(Manifest)
    commits = folder.committed()
    if manifest is not None:
        compare(folder, manifest, commits)
    parts = parts_of(folder, asked, "" if plan is None else plan.digest, commits, ())
    state = state_of(asked, plan, commits, manifest, folder.find(Counts))
    return OpenedRun(asked, plan, parts, manifest, state)


def _read_version(folder: RunFolder, asked: RunRecord, version: Version) -> OpenedRun:
    """Read the records of a version, of its base and of its layers."""
    base = folder.store.run(version.base)
    if not base.exists():
        raise DamageError(f"{base.uri}: this run is missing, and the version {folder.run} stands on it; {MEND}")
    if base.record().layered is not None:
        raise DamageError(f"{folder.uri}: it stands on {base.run}, which is no run that was searched whole; {MEND}")
    opened = read_run(base)
    if opened.plan is None or opened.state.name != "published":
        raise DamageError(
            f"{base.uri}: it is {opened.state}, and the version {folder.run} stands on it; resume it: bicliq resume {base.run}"
        )
    parts = parts_of(base, opened.asked, opened.plan.digest, opened.commits, layers_of(folder.store, asked))
    return OpenedRun(asked, opened.plan, parts, version.manifest, version_state(version.manifest))


def version_state(manifest: Manifest) -> RunState:
    """Return the state of a version, which is there whole or not at all."""
    return RunState("published", manifest.partitions, manifest.partitions, published=manifest.created)


def latest_run(store: Store) -> str:
    """Return the run that was published last; where none is, the one that was planned last.

    Counts are left out.

    Raises InputError where the store has no run. Raises DamageError where records that would tell
    are damaged: name a run then.
    """
    published = latest_published(store)
    if published is not None:
        return published
    times = {run: (planned, run) for run, (planned, _, _) in _times(store).items()}
    if not times:
        raise InputError(f"{store.uri}: no run is in this store; start one with: bicliq run EDGES --store {store.uri}")
    return max(times, key=lambda run: times[run])


def run_to_resume(store: Store) -> str:
    """Return the last planned run that is not published whole, or else the latest."""
    unfinished = {run: (planned, run) for run, (planned, _, complete) in _times(store).items() if not complete}
    return max(unfinished, key=lambda run: unfinished[run]) if unfinished else latest_run(store)


def _times(store: Store) -> dict[str, tuple[str, str | None, bool]]:
    """When each run was planned and last published, and whether it is complete."""
    times = {}
    for run in store.runs():
        asked = store.run(run).record()
        if asked.asks == "bicliques":
            manifest = store.run(run).manifest() if asked.layered is None else asked.layered.manifest
            published = None if manifest is None else manifest.created
            times[run] = (asked.created, published, manifest is not None and manifest.complete)
    return times


def list_runs(store: Store) -> list[dict[str, Any]]:
    """Return a record of each run, the last used one last.

    One whose records are damaged is "damaged", and says why.
    """
    listed, used = [], last_moments(store)
    for run in store.runs():
        folder = store.run(run)
        try:
            asked = folder.record()
            found = _listed(folder) if asked.layered is None else _listed_version(asked, asked.layered.manifest)
            if found["published"] is not None:  # it may have been rolled back to since
                found["published"] = max(found["published"], used.get(run, ""))
            listed.append({**_listed_of(asked), **found, **_origin(folder, asked)})
        except DamageError as error:
            listed.append({"run": run, "state": "damaged", "complete": False, "reason": str(error)})
    return sorted(
        listed, key=lambda r: (r.get("published") or r.get("created") or "", r.get("created") or "", r["run"])
    )


def _listed_of(asked: RunRecord) -> dict[str, Any]:
    """What is listed of any run by its own record."""
    wanted = ("min_left", "min_right", "min_edges", "side")
    about = {"run": asked.run, "graph": asked.graph, "created": asked.created, "in_step": asked.in_step}
    return {**about, **{name: getattr(asked.search, name) for name in wanted}}


def _listed_version(asked: RunRecord, manifest: Manifest) -> dict[str, Any]:
    """List a version by its own record: its base is not read."""
    return {
        **version_state(manifest).record(),
        **{name: getattr(manifest, name) for name in ("bicliques", "bytes", "limit")},
        "seconds": manifest.seconds["search"],
        "counts": [],
        "published": manifest.created,
    }


def _origin(folder: RunFolder, asked: RunRecord) -> dict[str, Any]:
    """What made a run of another one: its parent, the files, and what they changed.

    Of a version that was written whole: which one that was.
    """
    update = asked.update
    if update is None:
        return {"parent": None, "update": None, "compacts": None}
    names = ("how", "deleted", "edges", "appeared", "vanished", "seconds")
    made = {name: getattr(update, name) for name in names}
    if asked.in_step is not None and (compared := folder.find(Compared)) is not None:
        made |= {"appeared": compared.appeared, "vanished": compared.vanished}
    made["sources"] = [file.uri for file in update.files]
    return {"parent": asked.parent, "update": made, "compacts": asked.compacts}


def _listed(folder: RunFolder) -> dict[str, Any]:
    opened, counts = read_run(folder), folder.find(Counts)
    commits = opened.commits.values()
    return {
        **opened.state.record(),
        "bicliques": sum(commit.rows for commit in commits),
        "bytes": sum(commit.bytes for commit in commits),
        "seconds": round(sum(commit.seconds for commit in commits), 6),
        "limit": opened.state.limit,
        "counts": [] if counts is None else sorted(counts.keys),
        "published": opened.state.published,
    }


def state_of(
    asked: RunRecord,
    plan: PlanRecord | None,
    commits: dict[int, Commit],
    manifest: Manifest | None,
    counts: Counts | None,
) -> RunState:
    """Return the state that the records of a run make."""
    done, partitions = len(commits), 0 if plan is None else plan.partitions
    if asked.asks == "counts":
        if counts is None:
            return RunState("count", 0, partitions)
        return RunState("count", partitions, partitions, published=counts.created)
    if manifest is not None:
        failed = {int(number): reason for number, reason in manifest.failed.items()}
        name: StateName = "published" if manifest.complete else "failed" if failed else "limited"
        limits = manifest.limit, manifest.created, manifest.limited_by
        return RunState(name, done, partitions, *limits, failed)
    if done < partitions or plan is None or not all(commit.complete for commit in commits.values()):
        return RunState("searching" if done else "planned", done, partitions)
    return RunState("searched", done, partitions)


def compare(folder: RunFolder, manifest: Manifest, commits: dict[int, Commit]) -> None:
    """Raise DamageError where a manifest lists other files than the commit records do."""
    listed = {file.path: (file.partition, file.bytes, file.checksum) for file in manifest.files}
    found = {commit.file: (commit.partition, commit.bytes, commit.data.checksum) for commit in commits.values()}
    differ = sorted(
        {number for number, *_ in {*listed.items(), *found.items()} if listed.get(number) != found.get(number)}
    )
    if differ:
        raise DamageError(
            f"{folder.path_of('manifest.json')}: it and the commit records do not agree on {', '.join(differ[:3])}"
            f"{', …' if len(differ) > 3 else ''}: a commit record is missing, or one is of another time; {MEND}"
        )
