"""Prune: runs that nobody keeps are removed, with the graphs that only they were of, and garbage.

Of each *family* (a table's runs of one question, and all versions of them) the last ones are kept,
or the young ones, and whatever these stand on: bases, layers, graphs. What is not finished, is at
work, or is a count is never touched, but for an unfinished version that another one has overtaken.
A folder is marked before its record goes, and loses the mark last: so what a killed process leaves
of it is known for garbage, and goes with the next call.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import tell
from bicliq.pipeline.store.folder import Folder, is_at_work
from bicliq.pipeline.store.inventory import FORGOTTEN_SECONDS, Inventory, forgotten, is_forgotten, take_inventory
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import last_moments, last_number, latest_published, take_number
from bicliq.pipeline.store.needs import place_of
from bicliq.pipeline.store.record import Record
from bicliq.pipeline.store.records import Manifest, Numbered, Pruned, RunRecord, Sources, StoredGraph
from bicliq.pipeline.store.taken import name_of_sources, own_taken
from bicliq.pipeline.times import parse_duration

CUT_OFF = "a version that was not finished, and another one came between"
"""Why what a killed process began goes."""

CHOOSE_ROWS = ("min_weight", "min_value", "since", "until", "sample", "window", "in_step")
"""Policies by which runs of one table are of other rows, and so of other families."""

LENGTHS = ("window", "in_step")
"""Those that are written in many ways."""

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
"""Seconds of the units of an age."""


@dataclass(frozen=True)
class Removed:
    """Something that goes.

    `what`: its path in the store, as ``runs/3f2a``. `why`: why nobody keeps it. `bytes`: size of
    its files.
    """

    what: str
    why: str
    bytes: int


@dataclass(frozen=True)
class PruneRecord:
    """What goes, and what stays.

    Parameters
    ----------
    store
        URL of the store.
    removed
        Runs, graphs and files of killed processes that go, in this order.
    kept
        Why each run stays, by its name.
    bytes
        Size of what goes.
    done
        Whether it is gone; otherwise it was only listed.
    """

    store: str
    removed: list[Removed]
    kept: dict[str, str]
    bytes: int
    done: bool

    def record(self) -> dict[str, Any]:
        """Plain record for JSON."""
        return asdict(self)


def prune(
    store: Store, keep_last: int | None = None, older_than: dt.timedelta | None = None, *, remove: bool = False
) -> PruneRecord:
    """Remove runs that nobody keeps, or list them.

    `keep_last`: of each family of runs, keep so many, the last published; None: 1. `older_than`:
    remove only what was published longer ago than that. `remove`: remove; otherwise say what would
    go. Raises InputError where neither bound is given, or `keep_last` is below 1. Raises
    DamageError where the record of a run is damaged: what it stands on is then not known.

    Reads the records, and no data. No update runs at the same time on a local disk. What a reader
    has open there is read to its end; whatever it opens later of a removed run is a DamageError, as
    it is on an object store, and never a wrong row.
    """
    if keep_last is None and older_than is None:
        raise InputError("prune: say what to keep: the last so many runs (keep_last), or the young ones (older_than)")
    if keep_last is not None and keep_last < 1:
        raise InputError(f"keep_last {keep_last}: at least one run of each family is kept")
    with store.root.claim("update"):
        while True:  # until nobody else publishes anything meanwhile
            number = last_number(store)
            known = _Known.of(store)
            kept = known.kept(keep_last or 1, older_than)
            gone = [run for run in known.by_layers() if run not in kept]
            graphs = known.graphs_only_of(gone)
            doomed = {f"runs/{run}" for run in gone} | {f"graphs/{graph}" for graph, _ in graphs}
            if not remove or _is_marked(store, known, doomed, number):
                break
        why = f"published before the last {keep_last or 1} of its family" + (
            "" if older_than is None else f", and over {older_than} ago"
        )
        goes = [(f"runs/{run}", CUT_OFF if run in known.cut_off else why) for run in gone]
        goes += [*((f"graphs/{graph}", reason) for graph, reason in graphs), *forgotten(store, known.found)]
        goes += [(path, "no run that stays names it") for path in known.sources_of_none_but(gone)]
        removed = [Removed(what, reason, known.bytes_of(what)) for what, reason in goes]
        if remove:
            for one in removed:
                _remove(store, one.what)
            tell("store pruned", store=store.uri, removed=len(removed), bytes=sum(one.bytes for one in removed))
    return PruneRecord(store.uri, removed, kept, sum(one.bytes for one in removed), remove)


def _is_marked(store: Store, known: _Known, doomed: set[str], number: int) -> bool:
    """Mark what goes, then take the next number: who took one before may need what is marked.

    Whoever publishes after that sees the marks.
    """
    store.root.remove(*(f"{place}/{Pruned.at}" for place in sorted(known.marked() - doomed)))
    for place in sorted(doomed):
        Folder(store.fs, store.path, place).write(Pruned.at, Pruned(pruned=place))
    return not doomed or take_number(store, number + 1, Numbered(run=known.latest))


def parse_age(text: str) -> dt.timedelta:
    """Return a duration that is written as a number and a unit: s, m, h, d or w.

    Examples
    --------
    >>> parse_age("30d").days, parse_age("1.5h").seconds
    (30, 5400)
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhdw])", text)
    try:
        if found:
            return dt.timedelta(seconds=float(found[1]) * UNITS[found[2]])
    except OverflowError:
        pass
    raise InputError(f"age {text!r}: write a number and a unit, as in 30d (s, m, h, d, w)")


@dataclass
class _Known:
    """What is in a store, as a walk over it finds it, and which of it somebody needs."""

    store: Store
    found: Inventory
    asked: dict[str, RunRecord]
    manifests: dict[str, Manifest | None]
    graphs: dict[str, StoredGraph]
    used: dict[str, str]
    at_work: set[str]
    latest: str | None

    @classmethod
    def of(cls, store: Store) -> _Known:
        found = take_inventory(store, check=False)
        for path, problem in found.problems.items():
            if path.rsplit("/")[-1] in (RunRecord.at, Manifest.at, StoredGraph.at) and problem.kind != "missing":
                store.root.read(Record, path)  # it raises: what needs what is not known
        runs = {record.run: record for path, record in found.records.items() if isinstance(record, RunRecord)}
        held = {run: record.layered.manifest for run, record in runs.items() if record.layered}
        manifests = {run: held.get(run) or found.record(Manifest, f"runs/{run}") for run in runs}
        graphs = {p.split("/")[1]: record for p, record in found.records.items() if isinstance(record, StoredGraph)}
        at_work = {run for run in runs if is_at_work(store.run(run))}
        return cls(store, found, runs, manifests, graphs, last_moments(store), at_work, latest_published(store))

    @cached_property
    def cut_off(self) -> set[str]:
        """Versions that were not finished, and nobody goes on: another one came between."""
        return {run for run in set(self.asked) - self.at_work if self._is_cut_off(run)}

    def kept(self, keep_last: int, older_than: dt.timedelta | None) -> dict[str, str]:
        """Why each run that stays does."""
        kept: dict[str, str] = {}
        families: dict[str, list[str]] = defaultdict(list)
        for run, asked in self.asked.items():
            if asked.asks != "bicliques":
                kept[run] = "a count"
            elif run in self.at_work:
                kept[run] = "at work"
            elif self.manifests[run] is None and run not in self.cut_off:
                kept[run] = "not finished"
            families[self._family(run)].append(run)
        published = [run for run in self.asked if run not in kept and self.manifests[run] is not None]
        now = dt.datetime.now(dt.UTC)
        for family in families.values():
            some = sorted((run for run in family if run in published), key=self._age)
            kept |= dict.fromkeys(some[-keep_last:], f"of the last {keep_last} of its family")
        if older_than is not None:
            young = (run for run in published if now - dt.datetime.fromisoformat(self._age(run)[0]) <= older_than)
            kept |= {run: f"published within {older_than}" for run in young if run not in kept}
        if self.latest is not None:
            kept.setdefault(self.latest, "the latest")
        for run in list(kept):
            for below in self._reached([run]):
                if below.startswith("runs/") and below.split("/")[1] in self.asked:
                    kept.setdefault(below.split("/")[1], f"{run} stands on it")
        return kept

    def _is_cut_off(self, run: str) -> bool:
        asked = self.asked[run]
        before, latest = asked.compacts or asked.parent, self.asked.get(self.latest or "")
        now = {self.latest, latest and latest.compacts}
        if before is None or self.manifests[run] is not None or before in now or asked.beside:
            return False
        own = (path for path in self.found.sizes if path.startswith(f"runs/{run}/"))
        return self.store.root.is_local or all(is_forgotten(self.store.root, path) for path in own)

    def marked(self) -> set[str]:
        """Folders of whole runs and graphs that a prune which was cut off meant to remove."""
        return {place_of(path) for path, record in self.found.records.items() if isinstance(record, Pruned)}

    def by_layers(self) -> list[str]:
        """All runs, each before those that it stands on."""
        return sorted(self.asked, key=lambda run: (-len(self.asked[run].layers), run))

    def _reached(self, runs: Iterable[str]) -> set[str]:
        """Records that some runs need; one that a version is being written as needs that, too."""
        runs = set(runs)
        versions = {self.asked[run].compacts for run in runs if self.manifests[run] is None} & set(self.asked)
        return self.found.reached(f"runs/{run}/{RunRecord.at}" for run in runs | versions)

    def graphs_only_of(self, gone: list[str]) -> list[tuple[str, str]]:
        """Graphs that no other runs need, and those that a killed process left; and why they go."""
        left, of_gone = self._reached(set(self.asked) - set(gone)), self._reached(gone)
        of_gone |= {f"{place}/{StoredGraph.at}" for place in self.marked()}
        found = dict[str, str]()
        for graph in self.graphs:
            if f"graphs/{graph}/{StoredGraph.at}" in of_gone - left:
                found[graph] = "no other run is of it"
        for graph, record in self.graphs.items():
            if f"graphs/{graph}/{StoredGraph.at}" in of_gone | left:
                continue
            if record.base in found:
                found[graph] = "what it is made of goes, and no run is of it"
            elif record.summary.parent is not None and self._is_old(graph):
                found[graph] = "an update that was killed left it"
        return sorted(found.items(), key=lambda entry: self.graphs[entry[0]].base is None)

    def sources_of_none_but(self, gone: list[str]) -> list[str]:
        """Records of files that were taken which no run names that stays, or is about to."""
        stay = [asked for run, asked in self.asked.items() if run not in gone]
        next_ones = (Sources(taken=own_taken(self.store, run) or {}, before=run.taken_before) for run in stay)
        named = self.found.reached(Sources.name(name_of_sources(one)) for one in next_ones)
        named |= self._reached(asked.run for asked in stay)
        left = (path for path in self.found.sizes if Sources.pattern.fullmatch(path) and path not in named)
        return [path for path in left if is_forgotten(self.store.root, path)]

    def bytes_of(self, place: str) -> int:
        """Size of a file, or of the files in a folder."""
        return sum(size for path, size in self.found.sizes.items() if path == place or path.startswith(f"{place}/"))

    def _age(self, run: str) -> tuple[str, str, str]:
        manifest = self.manifests[run]
        return max("" if manifest is None else manifest.created, self.used.get(run, "")), self.asked[run].created, run

    def _family(self, run: str) -> str:
        """What the versions of a run have in common, and full runs of its table with it."""
        asked = self.asked[run]
        graph = self.graphs.get(asked.graph)
        table, read = asked.table, asked.reading.policies
        if table is None and graph is not None:
            table, read = graph.summary.source.uri, graph.summary.policies
        policies = {name: read.get(name) for name in CHOOSE_ROWS}
        for name in LENGTHS:
            policies[name] = (length := policies[name]) and parse_duration(length)
        return json.dumps([table, asked.search.model_dump(mode="json"), policies], sort_keys=True)

    def _is_old(self, graph: str) -> bool:
        """Whether no living process can be about to make a run of a graph."""
        modified = self.store.fs.modified(self.store.graph(graph).path_of("graph.json"))
        return bool((dt.datetime.now(dt.UTC) - modified).total_seconds() > FORGOTTEN_SECONDS)


def _remove(store: Store, what: str) -> None:
    """Remove a file, or a run or a graph: its record first, the mark last."""
    kind, name, *inside = what.split("/")
    if inside or kind not in ("runs", "graphs"):
        store.root.remove(what)
        return
    folder = Folder(store.fs, store.path, what)
    folder.remove(Manifest.at, RunRecord.at if kind == "runs" else StoredGraph.at)
    if kind == "runs":
        store.root.remove(f"reports/{name}.html")
    folder.remove(*(file for file in folder.files() if file != Pruned.at))
    folder.remove(Pruned.at)
    folder.remove_empty()
