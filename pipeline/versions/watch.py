"""Watch: the new files of a folder, prefix or glob, each taken exactly once, a look at a time.

What was taken stands in the record of the version that took it. So a look compares what lies there
with the latest version, and nothing else is remembered anywhere: a process that is killed, or a
second one, finds out by looking again. The first files of an empty store make a full run; those of
each later look are one version of it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from bicliq.pipeline.errors import InputError, sentence
from bicliq.pipeline.events import tell
from bicliq.pipeline.formats import Files
from bicliq.pipeline.notify import failures_notified, notify_failed
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.run import Observer, RunSummary, resume, run
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.edge_table import POLICIES, same_policy
from bicliq.pipeline.store.account import NOTHING_READ
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import latest_published
from bicliq.pipeline.store.records import RunRecord
from bicliq.pipeline.store.taken import all_taken, holds_taken_alone, own_taken, take
from bicliq.pipeline.versions.arrivals import Arrival, Look, look, look_at, refuse_store_inside, settled
from bicliq.pipeline.versions.quarantine import Quarantine, Why
from bicliq.pipeline.versions.sources import name_of_key, refuse_changed, source_files, taken_entries
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.update_record import UpdateRecord

SETTLE_SECONDS = 2.0
"""Time between the two looks that must see a new file alike."""

FIXED = {"search": ("min_left", "min_right", "min_edges"), "publish": ("columns",)}
"""Settings of the first run that later files cannot change."""


@dataclass(frozen=True)
class Taken:
    """What one look took.

    Parameters
    ----------
    place, store
        What is watched, and the URL of the store.
    files
        URLs of the files that were taken, in the order in which they were read.
    waiting
        URLs of new files that are still being written, or empty: a later look takes them.
    passed_over
        URLs of what is not meant (`pipeline.versions.arrivals.Look`).
    set_aside
        URLs of files that were rolled back with the version that took them, or rejected.
    run
        The run that these files began, or that was killed before and finished now.
    update
        The version that they made.
    quarantined
        Files that could not be taken and were set aside: ``file``, ``reason``, ``at``.
    more
        Whether new files are left that the next look takes at once: files are taken one by one
        where those of a look cannot be taken together.
    """

    place: str
    store: str
    files: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    run: RunSummary | None = None
    update: UpdateRecord | None = None
    quarantined: tuple[dict[str, Any], ...] = ()
    more: bool = False

    @property
    def anything(self) -> bool:
        """Whether anything was taken, finished or set aside."""
        return self.run is not None or self.update is not None or bool(self.quarantined)

    def record(self) -> dict[str, Any]:
        """Plain record for JSON, with the version that holds all files now, and how it was made.

        ``how`` is that of the update, "run", "nothing new", or "set aside".
        """
        made = self.run or self.update
        nothing = "set aside" if self.quarantined else "nothing new"
        how = "run" if self.run else self.update.how if self.update else nothing
        name = self.run.run if self.run else self.update.version if self.update else None
        record = {} if made is None else made.record()
        figures = {figure: record.get(figure) for figure in ("bicliques", "digest")}
        read = {count: record.get(count, none) for count, none in NOTHING_READ.items()}
        parts = {
            part: record if of is made and of else None for part, of in (("run", self.run), ("update", self.update))
        }
        return {"how": how, "version": name, **figures, **read, **asdict(self), **parts}


class Watch:
    r"""A place whose new files go to a store.

    Parameters
    ----------
    place
        A folder or prefix, a glob, or a file; a path or an fsspec URL.
    settings
        As for `pipeline.run.run`, for the first files, and for
        `pipeline.versions.update.update`.
    replace
        Take a file that changed anew, in place of what it held, instead of an error.
    settle
        Seconds after which a new file must be what it was, so that it is taken.
    quarantine
        Set a file aside that cannot be taken, instead of an error, and go on with the others.
    again
        Take files that were rolled back with the version that took them, too.

    Examples
    --------
    >>> import fsspec
    >>> from bicliq.pipeline.settings import Settings
    >>> watch = Watch("memory://arrive", Settings(store="memory://watched"), settle=0)
    >>> for name, rows in (("1.csv", "ann,jam bob,jam"), ("2.csv", "cid,jam")):
    ...     with fsspec.open(f"memory://arrive/{name}", "w") as table:
    ...         print("user,item", *rows.split(), sep="\n", file=table)
    ...     taken = watch.take()
    >>> taken.files, taken.update.edges, taken.update.bicliques
    (('memory:///arrive/2.csv',), 1, 1)
    >>> watch.take().files
    ()
    """

    def __init__(
        self,
        place: str,
        settings: Settings,
        *,
        replace: bool = False,
        settle: float = SETTLE_SECONDS,
        quarantine: bool = False,
        again: bool = False,
    ) -> None:
        refuse_store_inside(place, settings.store)
        self._place, self._settings, self._replace, self._settle = place, settings, replace, settle
        self._store = Store.open(settings.store)
        self._aside = Quarantine(self._store)
        self._quarantine = self._aside if quarantine else None
        self._left_aside: set[Why] = {"rejected"}
        if quarantine:
            self._left_aside.add("could not be taken")
        if not again:
            self._left_aside.add("rolled back")
        self._one_by_one = False
        self._same: set[Arrival] = set()
        self._looked = False
        self._asked: RunRecord | None = None  # of the latest run, as the last look found it

    def take(self, observer: Observer | None = None) -> Taken:
        """Look, and take what is new and settled.

        `observer`: whom to tell how far the work is. Raises InputError where a file changed since
        it was taken, or anything is wrong in the new ones: nothing of this look is then taken.
        Raises StorageError where the store is damaged or cannot be reached.

        A look that finds nothing new lists names, and reads the records of the runs. Files that are
        new are read twice: for their checksums, and for their rows. What a process left that was
        killed is finished by the first look.
        """
        seen, store = observer or Observer(), self._store
        with store.root.claim("watch"):
            killed = None if self._looked else _unfinished(store)
            self._looked = True
            if killed is not None:
                found = resume(killed, self._settings, seen)
                return Taken(self._place, store.uri, _sources(store, killed), run=found)
            with failures_notified(self._settings, self._place):
                latest = latest_published(store)
                self._asked = None if latest is None else store.run(latest).record()
                entries = {} if self._asked is None else all_taken(store, self._asked)
                self._taken = {key: entry for key, entry in entries.items() if not entry.deleted}
                self._refuse_unfit()
                ready, waiting, passed_over, left = self._settled()
                new, changed, aside = self._sorted_out(ready)
            about = Taken(self._place, store.uri, (), waiting, passed_over, left, quarantined=tuple(aside))
            if not new and not changed:
                over = {"waiting": len(waiting), "passed_over": len(passed_over), "set_aside": len(left)}
                tell("nothing new", place=self._place, **over)
                return about
            if self._quarantine is None:
                return self._join(new, changed, about, self._settings, seen)
            with failures_notified(self._settings, self._place):
                return self._join_or_set_aside(new, changed, about, seen)

    def _join(
        self, new: list[Arrival], changed: list[Arrival], about: Taken, settings: Settings, seen: Observer
    ) -> Taken:
        """Take files together."""
        uris = tuple(sorted(file.uri for file in (*new, *changed)))
        names = tuple(map(without_secrets, uris))
        files = Files(f"{self._place} ({len(uris)} new)", uris)
        tell("files arrived", place=self._place, files=len(uris), changed=len(changed))
        if self._asked is None:
            return replace(about, files=names, run=self._begin(files, settings, seen))
        holding = self._holding(uris) if changed else None
        if len(uris) == 1:
            files = Files(names[0], uris)
        made = update(files, settings, self._asked.run if changed else None, observer=seen, holding=holding)
        return replace(about, files=names, update=made)

    def _join_or_set_aside(self, new: list[Arrival], changed: list[Arrival], about: Taken, seen: Observer) -> Taken:
        """Take files together, or, where that fails, one by one; set aside what cannot be taken.

        Files that changed since they were taken need each other, and stay together.
        """
        parts = [*(([file], []) for file in new), *([([], changed)] if changed else [])]
        whole = len(parts) == 1 or not self._one_by_one
        now = (new, changed) if whole else parts[0]
        try:
            made = self._join(*now, about, _silent_about_failures(self._settings), seen)
        except InputError as error:
            if whole and len(parts) > 1:
                self._one_by_one = True
                return replace(about, more=True)
            reason = sentence(error)
            aside = [self._set_aside(file, reason) for file in (*now[0], *now[1])]
            made = replace(about, quarantined=(*about.quarantined, *aside))
        self._one_by_one = not whole
        return replace(made, more=not whole)

    def _set_aside(self, file: Arrival, reason: str) -> dict[str, Any]:
        assert self._quarantine is not None
        notify_failed(self._settings, without_secrets(file.uri), reason, "quarantined")
        return self._quarantine.set_aside(file, reason)

    # ---- what is there ---------------------------------------------------------------------------

    def _settled(self) -> tuple[list[Arrival], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Unknown files that are settled; the others; what is not meant, and what is set aside."""
        first, aside = self._unknown(look(self._place))
        if not first.files:
            return [], (), first.passed_over, aside
        time.sleep(self._settle)
        ready, written = settled(first, self._unknown(look(self._place))[0])
        return ready, tuple(without_secrets(file.uri) for file in written), first.passed_over, aside

    def _unknown(self, seen: Look) -> tuple[Look, tuple[str, ...]]:
        """Leave out the files that were taken, and have the size and time that they had then.

        And those that are set aside; returns which of these were rolled back or rejected, too.
        """
        known = {(name_of_key(key), int(key.split(" ", 2)[1]), entry.modified) for key, entry in self._taken.items()}
        fresh = [
            f for f in seen.files if (without_secrets(f.uri), f.bytes, f.modified) not in known and f not in self._same
        ]
        why = {file: self._aside.why(file) for file in fresh}
        left = tuple(without_secrets(f.uri) for f in fresh if why[f] in self._left_aside - {"could not be taken"})
        return replace(seen, files=tuple(f for f in fresh if why[f] not in self._left_aside)), left

    def _sorted_out(self, files: list[Arrival]) -> tuple[list[Arrival], list[Arrival], list[dict[str, Any]]]:
        """Tell new files from those that changed, and from those that are set aside.

        Such that were only touched are none of these.
        """
        new, changed, aside = [], [], []
        for file in files:
            try:
                if self._is_new(file):
                    new.append(file)
                elif file not in self._same:
                    changed.append(file)
            except InputError as error:
                if self._quarantine is None:
                    raise
                aside.append(self._set_aside(file, sentence(error)))
        return new, changed, aside

    def _is_new(self, file: Arrival) -> bool:
        """Whether no version took a file of this name; one that is as it was is remembered."""
        name = without_secrets(file.uri)
        taken = {key: entry for key, entry in self._taken.items() if name_of_key(key) == name}
        if taken and source_files(file.uri)[0].key in taken:
            self._same.add(file)
        elif taken and not self._replace:
            last = list(taken.values())[-1]
            raise InputError(
                f"{name}: has changed since version {last.version} took it at {last.at}; put new rows in a"
                " new file, or take it anew in place of what it held, with replace = true"
            )
        return not taken

    # ---- what is made of it ----------------------------------------------------------------------

    def _begin(self, files: Files, settings: Settings, observer: Observer) -> RunSummary:
        """Search the first files; what they are is written down before the search."""
        with failures_notified(settings, self._place):
            taken = source_files(files)

        def remember(name: str) -> None:
            refuse_changed(taken)
            take(self._store.run(name), taken_entries(taken, name), alone=True)

        return run(files, settings, replace(observer, planned=remember))

    def _refuse_unfit(self) -> None:
        """Refuse what is asked for otherwise than the first run was, and a run of unknown files.

        Which files such a run holds matters only where a file that is taken twice changes weights.
        """
        asked = self._asked
        sums = "sum" in (self._settings.ingest.duplicates, self._known_policies().get("duplicates"))
        if asked and sums and own_taken(self._store, asked) is None:
            raise InputError(
                f"{self._settings.store}: which files its run holds is not known, and with duplicates = 'sum' none may"
                " count twice; begin another store with a watch"
            )
        self._refuse_other_policies()
        for group, names in FIXED.items():
            for name in names if asked else ():
                given, known = (getattr(getattr(of, group), name) for of in (self._settings, asked))
                if name in getattr(self._settings, group).model_fields_set and given != known:
                    raise InputError(
                        f"{self._settings.store}: its run has {name} = {known}, and {given} is asked for; leave it out,"
                        " or begin another store"
                    )

    def _refuse_other_policies(self) -> None:
        """Refuse what no file is to blame for, so that none is set aside for it."""
        given, known = self._settings.ingest, self._known_policies()
        for name in POLICIES if self._quarantine is not None and known else ():
            if name in given.model_fields_set and not same_policy(name, getattr(given, name), known.get(name)):
                raise InputError(
                    f"{self._settings.store}: its run has {name} = {known.get(name)!r}, and {getattr(given, name)!r} is asked"
                    " for; leave it out, or begin another store"
                )

    def _holding(self, uris: tuple[str, ...]) -> Files:
        """Return all files that the version with changed files holds; all others must be there."""
        with failures_notified(self._settings, self._place):
            why_not = self._why_not_anew()
            if why_not is not None:
                raise InputError(
                    f"{self._place}: a file cannot be taken anew: {why_not}; begin another store with all files"
                )
            known = {without_secrets(file.uri): file.uri for file in look(self._place).files}
            anew = set(map(without_secrets, uris))
            names = dict.fromkeys(name for name in map(name_of_key, self._taken) if name not in anew)
            kept = [known.get(name, name) for name in names]
            for name, uri in zip(names, kept, strict=True):
                found = look_at(uri)
                if found is None or self._sorted_out(list(self._unknown(Look((found,), ()))[0].files))[1]:
                    raise InputError(
                        f"{name}: is {'gone' if found is None else 'changed, too'}, and which edges only the file had that"
                        " is taken anew cannot be said without it; put it back as it was, or begin another store"
                    )
        return Files(f"{self._place} ({len(kept) + len(uris)} files)", (*kept, *uris))

    def _known_policies(self) -> dict[str, Any]:
        """Policies of the graph of the latest run."""
        if self._asked is None:
            return {}
        return dict(self._store.graph(self._asked.graph).record().summary.policies)

    def _why_not_anew(self) -> str | None:
        if self._asked is None or not holds_taken_alone(self._store, self._asked):
            return "the run has edges of which no file is known (it was not begun by a watch, or edges were taken away)"
        if "error" in (self._settings.ingest.duplicates, self._known_policies().get("duplicates")):
            return "all files are then read as one table, in which duplicates = 'error' forbids what they share"
        return None


def _silent_about_failures(settings: Settings) -> Settings:
    """Settings by which a run tells nobody that it failed: what is set aside is told for itself."""
    told: dict[str, dict[str, Any]] = {"all": {"webhook_on": "finished"}, "finished": {}, "failed": {"webhook": None}}
    notify = settings.notify.model_copy(update=told[settings.notify.webhook_on])
    return settings.model_copy(update={"notify": notify})


def _unfinished(store: Store) -> str | None:
    """The run of a look that was killed while it searched, if nothing was published since."""
    latest = latest_published(store)
    for name in store.runs():
        folder = store.run(name)
        asked = folder.record()
        begun = asked.compacts is None and asked.parent == latest and folder.manifest() is None
        if begun and own_taken(store, asked) is not None:
            return name
    return None


def _sources(store: Store, name: str) -> tuple[str, ...]:
    """Files that a run took itself."""
    entries = (own_taken(store, store.run(name).record()) or {}).items()
    return tuple(name_of_key(key) for key, entry in entries if entry.version == name)
