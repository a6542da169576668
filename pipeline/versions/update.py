"""Update: new edges of a table joined to a run, or taken out of it, as a new version of the run.

The graph is extended, what appears and vanishes is searched around the changed edges alone, and a
run is committed that names the earlier one's files beside its own two (`pipeline.store.versions`).
Its record is written last. So a process that is killed leaves the version before; run again, it
does the same once more. Where a full search of the new graph is cheaper, that is done, and said.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import tell
from bicliq.pipeline.formats import Edges, Files, name_of
from bicliq.pipeline.graphs.bipartite import read_graph, stored_sizes
from bicliq.pipeline.notify import failures_notified, notify_updated
from bicliq.pipeline.placement.where import check_backends, place_changes
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.run import Job, Observer, between, finish, timed, work_through
from bicliq.pipeline.settings import NotifySettings, Settings
from bicliq.pipeline.stages.extend import Extended, extend
from bicliq.pipeline.stages.limits import GraphNeeds, Limits, MemoryRoom
from bicliq.pipeline.stages.plan import plan_run
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.stages.rejoin import Does, rejoin
from bicliq.pipeline.stages.revise import revise, slide
from bicliq.pipeline.stages.window import left_out
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.entries import Check
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.log import Overtaken, make_next, refuse_many_writers
from bicliq.pipeline.store.records import FORMAT, Compared, Manifest, Reading, RunRecord, SourceFile, Updated
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.states import OpenedRun, latest_run, read_run
from bicliq.pipeline.store.taken import all_taken, holds_taken_alone, own_taken, take, with_taken
from bicliq.pipeline.store.versions import APPEARED, VANISHED, layers_of
from bicliq.pipeline.versions.batches import check_batch
from bicliq.pipeline.versions.compact import compact, why_heavy
from bicliq.pipeline.versions.described import described
from bicliq.pipeline.versions.difference import Difference, Step
from bicliq.pipeline.versions.layer import Roots, fold_changes, publish_of_layer, write_changes
from bicliq.pipeline.versions.portions import find_changes
from bicliq.pipeline.versions.rollback import make_latest
from bicliq.pipeline.versions.sources import (
    as_it_was_taken,
    name_of_key,
    reading_of,
    refuse_changed,
    source_files,
    taken_entries,
    taken_from,
)
from bicliq.pipeline.versions.update_record import How, UpdateRecord
from bicliq.pipeline.versions.way import Way

EXTENDED = GraphNeeds(edge=16, vertex=80)
"""What changing a graph holds: its rows before and after, their ends, and labels."""

OF_THE_MANIFEST = ("graph", "bicliques", "digest", "n_left", "n_right", "n_edges", "backend", "threads")
"""What the record of an update says of the version as its manifest does."""


def update(
    source: Edges,
    settings: Settings,
    run: str | None = None,
    *,
    delete: bool = False,
    observer: Observer | None = None,
    holding: Files | None = None,
) -> UpdateRecord:
    """Join the edges of a table to a run of a store, or take them away, as a new version of it.

    Parameters
    ----------
    source
        Path or fsspec URL of an edge table, in any format that ingest reads, or files that are one;
        or a table in memory. Those of its files that were taken already are left out.
    settings
        `store`; fields of `ingest` that are set describe this table, all others are those of the
        base's table; threads, backend and cluster of the search.
    run
        Name of the run, or how it begins; by default the one that was published last.
    delete
        Take the edges away.
    observer
        Whom to tell how far the work is.
    holding
        All files whose edges the version is to have, and no others: those of `source`, which may
        have been taken before with other content, and those that stay.

    Raises
    ------
    InputError
        At anything wrong in the table, where the run is not complete, or no edge would be left.
    StorageError
        Where the run is damaged.

    Notes
    -----
    One update of a store at a time: on a local disk a second one waits. Thresholds, side and plan
    are those of the run. O(edges) to extend the graph; the rest is in proportion to what changes.
    A version of heavy layers (`compact_share`) is then written whole.
    """
    with failures_notified(settings, name_of(source)):
        check_backends(
            settings.data_backend,
            settings.search.backend,
            settings.search.threads,
            cluster=settings.cluster,
        )
        store = Store.open(settings.store, create=False)
        refuse_many_writers(store, one_writer=settings.versions.one_writer)
        call = settings, delete, observer or Observer(), holding
        while True:
            try:
                return _updated(store, source, run, *call)
            except Overtaken:
                if not settings.versions.rebase or run is not None or holding is not None:
                    raise


def _updated(
    store: Store,
    source: Edges,
    run: str | None,
    settings: Settings,
    delete: bool,
    observer: Observer,
    holding: Files | None,
) -> UpdateRecord:
    with store.root.claim("update"):
        latest = latest_run(store)
        parent = latest if run is None else store.find_run(run)
        if holding is not None and parent != latest:
            raise InputError(f"{store.uri}: another update came between; nothing was changed: give the command again")
        made = _Update(store, parent, source, settings, delete, observer, holding, beside=parent != latest)
        found = made.done()
        if found.how in ("changes", "full run") and found.appeared is not None:  # a full run has told of itself
            observer.told(notify_updated(settings, found.record()))
        return found if made.committed is None else _compacted(store, found, made.committed, settings)


def _compacted(store: Store, found: UpdateRecord, asked: RunRecord, settings: Settings) -> UpdateRecord:
    """Write a version, given with its run.json, whole where its layers have grown heavy."""
    why = why_heavy(store, asked, settings.versions.compact_share)
    if why is None:
        return found
    written = compact(store, found.version, settings.search.threads)
    seconds = {**found.seconds, "compact": written.seconds, "total": round(found.seconds["total"] + written.seconds, 6)}
    reason = f"{found.reason}; {why}: written whole as run {written.run}"
    return replace(found, compacted=written.run, reason=reason, seconds=seconds)


class _Update:
    """One update: its table, its parent, and what is found on the way."""

    def __init__(
        self,
        store: Store,
        parent: str,
        source: Edges,
        settings: Settings,
        delete: bool,
        observer: Observer,
        holding: Files | None,
        *,
        beside: bool,
    ) -> None:
        self._beside = beside
        self._store, self._settings, self._delete = store, settings, delete
        self._observer, self._holding = observer, holding
        self._seconds: dict[str, float] = {}
        self._parent = store.run(parent)
        self._before = read_run(self._parent)
        _refuse_unfit(self._parent, self._before)
        self._checks: list[Check] = []
        self.committed: RunRecord | None = None  # the record of the version, where layers hold it
        self._source = taken_from(source, self._origin[1], settings.ingest, delete=delete)

    def done(self) -> UpdateRecord:
        """Take the table, unless it was taken."""
        with timed("look", self._observer, self._seconds):
            self._files = source_files(self._source)
        taken = self._taken_by()
        if taken is not None:
            if (asked := self._settings.ingest).model_fields_set:
                reading = reading_of(self._source, self._origin[1], asked, delete=self._delete)
                as_it_was_taken(self._source, self._files, asked, reading, self._store.run(taken), delete=self._delete)
            return self._without_change(taken, "taken", f"version {taken} took the same files in the same way")
        with timed("extend", self._observer, self._seconds):
            extended = self._extended()
            refuse_changed(self._files)
        if extended.record.graph == self._graph:
            self._check(extended, 0)
            take(self._parent, taken_entries(self._files, self._parent.run, delete=self._delete, changed=False))
            return self._without_change(self._parent.run, "nothing", self._why_nothing(extended), extended)
        with self._folder.claim("update"):
            return self._commit(extended)

    def _check(self, extended: Extended, cost: int | None) -> None:
        """Check what is joined before it is joined; what is taken away is not checked."""
        if not self._delete:
            asked, files = self._settings.checks, len(self._files)
            self._checks = check_batch(self._store, self._before.asked, extended, files, cost, asked)

    def _extended(self) -> Extended:
        """Read the table, and make the graph of the version."""
        reading = reading_of(self._source, self._origin[1], self._settings.ingest, delete=self._delete)
        graph, limit = self._store.graph(self._graph), self._settings.search.memory_limit
        MemoryRoom.within(limit).require(EXTENDED.of(*stored_sizes(graph)), f"{graph.uri}: to change the graph")
        how: Any = {"backend": self._settings.data_backend, "memory_limit": limit}
        if self._in_step:
            does: Does = "take away" if self._delete else "join" if self._holding is None else "replace"
            return rejoin(self._store, self._graph, self._holding or self._source, reading, does, **how)
        if self._holding is not None:
            return revise(self._store, self._graph, self._holding, reading, **how)
        if reading.window is not None:
            return slide(self._store, self._graph, self._source, reading, **how)
        return extend(self._store, self._graph, self._source, reading, delete=self._delete, **how)

    # ---- what was there --------------------------------------------------------------------------

    @property
    def _graph(self) -> str:
        return self._before.asked.graph

    @property
    def _in_step(self) -> str | None:
        return self._before.asked.in_step

    @property
    def _bicliques(self) -> int:
        """Those of the parent."""
        assert self._before.manifest is not None, "what is not published was refused"
        return self._before.manifest.bicliques

    @property
    def _base(self) -> RunFolder:
        return self._store.run(self._before.asked.base)

    @cached_property
    def _origin(self) -> tuple[str, Reading]:
        """The table of the first run, which all versions of it are of, and how it was read."""
        asked, read = self._before.asked, self._store.graph(self._graph).record().summary
        if asked.table is not None:
            return asked.table, asked.reading
        return read.source.uri, Reading(read.source.format, read.columns, read.policies)

    def _taken_by(self) -> str | None:
        """The version that took these files already, if one did and nothing undid it since.

        Files that were taken are left out where others were not.
        """
        taken = all_taken(self._store, self._before.asked)
        fresh = [file for file in self._files if file.key not in taken or taken[file.key].deleted != self._delete]
        if not fresh:
            version = taken[self._files[-1].key].version
            return version if self._store.run(version).exists() else self._parent.run  # it was pruned
        if len(fresh) < len(self._files):
            self._files, left_out = tuple(fresh), len(self._files) - len(fresh)
            self._source = Files(f"{name_of(self._source)}, what is new", tuple(file.uri for file in fresh))
            tell("files were taken already", run=self._parent.run, files=left_out)
        about = {"delete": self._delete, "replace": self._holding is not None}
        self._folder = self._store.run(version_id(self._parent.run, self._files, **about))
        if self._folder.exists() and self._folder.manifest() is not None:  # its parent was rolled back to
            make_latest(self._store, self._folder.run, self._follows)
            return self._folder.run
        return None

    @property
    def _follows(self) -> str | None:
        """The run that must be the latest until then; None: another one was, and may be."""
        return None if self._beside else self._parent.run

    def _why_nothing(self, extended: Extended) -> str:
        """Why a table that was read changes nothing."""
        if self._delete:
            return "none of its edges is there"
        outside = left_out(extended.record.summary)
        if outside is None:
            return "all of its edges are there already"
        return f"{outside}; {extended.unchanged:,} edges are there already" if extended.unchanged else outside

    def _without_change(self, run: str, how: How, reason: str, extended: Extended | None = None) -> UpdateRecord:
        """Say why nothing was committed."""
        tell("update changes nothing", run=run, how=how, reason=reason)
        return self._record(run, self._store.run(run).published(), how, reason, extended, None, 0)

    # ---- what is committed -----------------------------------------------------------------------

    def _commit(self, extended: Extended) -> UpdateRecord:
        before = self._before.asked
        with timed("prepare", self._observer, self._seconds):
            changes, way = self._way(extended)
        asked = RunRecord(
            run=self._folder.run,
            graph=extended.record.graph,
            asks=before.asks,
            search=before.search,
            plan=before.plan,
            publish=before.publish,
            in_step=before.in_step,
            created=dt.datetime.now(dt.UTC).isoformat(),
            parent=self._parent.run,
            beside=self._beside,
            table=self._origin[0],
            reading=self._origin[1],
            **self._taken_before(),
            holds_taken_alone=holds_taken_alone(self._store, before)
            and not self._delete
            and not any(file.in_memory for file in self._files),
        )
        entries = taken_entries(self._files, self._folder.run, delete=self._delete)
        asked = with_taken(self._store, asked, entries)
        did = Updated(
            how=way.how,
            reason=way.reason,
            deleted=self._delete,
            files=[replace(file, uri=file.name) for file in self._files],
            rows_read=extended.record.summary.rows_read,
            edges=len(extended.left),
            unchanged=extended.unchanged,
            checks=self._checks,
            gone=len(extended.gone[0]),
            dropped_by_window=extended.record.summary.dropped_by_window,
            left_window=extended.record.summary.left_window or 0,
        )
        if way.how == "changes" and changes is not None:
            try:
                return self._changed(asked, did, changes, way, extended)
            except kernels.TooManyError as error:
                expected = f"about {way.found:,}" if way.found else "few"
                way = Way("full run", f"{error}, where {expected} were expected: a full run is cheaper")
                did = replace(did, how=way.how, reason=way.reason)
        return self._searched_whole(replace(asked, update=did), way, extended)

    def _way(self, extended: Extended) -> tuple[Difference | None, Way]:
        """What changes, and whether it is searched alone; of groups in step all is searched."""
        before = self._before.asked
        if self._in_step:
            self._check(extended, None)
            return None, Way("full run", "groups in step may come and go with any row: all are searched")
        least = {name: getattr(before.search, name) for name in ("min_left", "min_right", "min_edges")}
        larger = self._graph if self._delete else extended.record.graph
        steps = [Step(extended.larger, larger, (extended.left, extended.right), self._delete, least)]
        if len(extended.gone[0]):
            gone = Step(read_graph(self._store.graph(self._graph)), self._graph, extended.gone, True, least)
            steps = [gone, *(step for step in steps if len(step.edges[0]))]
        changes = Difference(steps)
        self._check(extended, changes.cost)
        return changes, changes.way(self._bicliques)

    def _taken_before(self) -> dict[str, Any]:
        """The files that versions took before this one, as its record says it.

        A file that is taken anew in place of what it held is no longer what it was.
        """
        before = self._before.asked
        if self._holding is None:
            return {"taken": own_taken(self._store, before), "taken_before": before.taken_before}
        anew = {file.name for file in self._files}
        taken = all_taken(self._store, before).items()
        return {"taken": {key: entry for key, entry in taken if name_of_key(key) not in anew}}

    def _searched_whole(self, asked: RunRecord, way: Way, extended: Extended) -> UpdateRecord:
        """Search the new graph like any run, which goes on where it was killed."""
        if not self._folder.exists():
            self._folder.write(asked.at, asked)
        limit = self._settings.search.memory_limit
        planned = plan_run(self._store, self._folder.run, self._settings.data_backend, self._settings.cluster, limit)
        call = self._settings.model_copy(
            update={"search": self._settings.search.model_copy(update=dict.fromkeys(vars(Limits())))}
        )
        observer, changed = self._observer, dict[str, Any]()
        if self._in_step:  # what appeared is told, and not the whole run
            call = call.model_copy(update={"notify": NotifySettings()})
            observer = replace(observer, told=lambda content: None)
        job = Job(call, observer, self._store, planned=planned, seconds=self._seconds)
        work_through(job, between("plan", "search"))
        summary = finish(job)
        if self._in_step:
            with timed("compare", self._observer, self._seconds):
                found = changes_between(open_run(self._store, self._folder.run), self._parent.run)
                changed = {"appeared": found.count("appeared"), "vanished": found.count("vanished")}
                self._folder.write(Compared.at, Compared(**changed))
        record = self._record(
            self._folder.run, self._folder.published(), "full run", way.reason, extended, None, summary.bytes
        )
        return replace(record, workers=len(summary.busy), placement=summary.placement, **changed)

    def _changed(
        self, asked: RunRecord, did: Updated, changes: Difference, way: Way, extended: Extended
    ) -> UpdateRecord:
        """Search what appears and vanishes, write it, and commit the version."""
        settings = self._settings
        placement = place_changes(settings.search, settings.cluster, paths=changes.cost, found=way.found)
        bicliques, graph = self._bicliques, self._store.graph(extended.record.graph)
        with timed("search", self._observer, self._seconds):
            hashes, plan = extended.hashes(graph), read_plan(self._base)
            roots = Roots(plan, len(hashes[0 if plan.side == "left" else 1]))
            as_rows = partial(roots.rows, hashes=hashes, bicliques=bicliques, publish=asked.publish)
            found = find_changes(changes, self._folder, placement, way, as_rows, self._observer.dashboard)
        appeared, vanished = found.changes.appeared, found.changes.vanished
        counted: dict[str, Any] = {"appeared": len(appeared), "vanished": len(vanished)}
        did = replace(did, **counted, workers=found.workers, placement=placement.record("changes"))
        with timed("write", self._observer, self._seconds):
            layers = layers_of(self._store, self._before.asked)
            graphs = graph, self._store.graph(self._graph)
            stay, *changed = fold_changes(layers, found.changes, roots, bicliques, *graphs)
            how: Any = {
                "publish": publish_of_layer(asked.publish, changed, bicliques),
                "threads": found.threads or 1,
            }
            written = [
                write_changes(self._folder, name, some, roots, hashes, by_partition=name == VANISHED, **how)
                for name, some in zip((APPEARED, VANISHED), changed, strict=True)
            ]
        files = tuple(file for file, _ in written)
        asked = replace(asked, stored=files, update=replace(did, seconds={**self._seconds}))
        checked: dict[str, Any] = {"checks": self._checks, "seconds": self._seconds.copy()}
        record = described(asked, self._before, self._base, layers[:stay], written, found, extended.record, **checked)
        stands = self._folder.commit(record.at, record)
        try:
            make_next(self._folder, record.version.manifest.created, self._follows, record)
        except Overtaken:
            self._folder.remove(record.at, *record.named)
            raise
        self._folder.sweep()
        graph.sweep()
        left = {"left_window": did.left_window} if did.left_window else {}
        seconds = sum(self._seconds.values())
        tell("version committed", run=self._folder.run, parent=self._parent.run, **counted, seconds=seconds, **left)
        self.committed, added, held = stands, sum(file.bytes for file in files), stands.version.manifest
        return self._record(self._folder.run, held, "changes", way.reason, extended, stands.update, added)

    def _record(
        self,
        run: str,
        manifest: Manifest,
        how: How,
        reason: str,
        extended: Extended | None,
        did: Updated | None,
        added: int,
    ) -> UpdateRecord:
        nothing = 0 if how in ("nothing", "taken") else None
        read = Summary() if extended is None else extended.record.summary
        return UpdateRecord(
            version=run,
            parent=self._parent.run,
            store=self._store.uri,
            how=how,
            reason=reason,
            deleted=self._delete,
            sources=[file.name for file in self._files],
            rows_read=read.rows_read,
            edges=0 if extended is None else len(extended.left),
            unchanged=0 if extended is None else extended.unchanged,
            gone=0 if extended is None else len(extended.gone[0]),
            dropped_by_window=read.dropped_by_window,
            left_window=read.left_window or 0,
            appeared=nothing if did is None else did.appeared,
            vanished=nothing if did is None else did.vanished,
            **{name: getattr(manifest, name) for name in OF_THE_MANIFEST},
            checks=[asdict(check) for check in self._checks],
            workers=0 if did is None else did.workers,
            placement={} if did is None else did.placement,
            bytes=added,
            seconds={**self._seconds, "total": round(sum(self._seconds.values()), 6)},
            in_step=self._in_step,
            account=read.account,
        )


def version_id(parent: str, files: tuple[SourceFile, ...], *, delete: bool, replace: bool = False) -> str:
    """Name a version: a hash of its parent, and of what is taken in which way."""
    way = {"delete": delete, "replace": True} if replace else {"delete": delete}
    what = {"format": FORMAT, "parent": parent, "files": [file.key for file in files], **way}
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


def _refuse_unfit(folder: RunFolder, opened: OpenedRun) -> None:
    """Refuse to update what is no whole enumeration."""
    if opened.state.name != "published":
        raise InputError(
            f"{folder.uri}: only a published run can be updated, and this one is {opened.state};"
            f" finish it first: bicliq resume {folder.run}"
        )
