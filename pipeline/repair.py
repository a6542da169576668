"""Repair: what is damaged in a store is searched again or derived again.

What cannot be is said, with what to do.
"""

from __future__ import annotations

import os

from bicliq.pipeline.errors import BicliqError, DamageError
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.questions.count_partitions import count_partitions
from bicliq.pipeline.questions.count_tables import publish_all_counts
from bicliq.pipeline.run import call_options
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.partition import write_partitions
from bicliq.pipeline.stages.plan import plan_run
from bicliq.pipeline.stages.planned import place_partitions
from bicliq.pipeline.stages.profile import profile, two_hop
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import examine
from bicliq.pipeline.store.commits import partition_name
from bicliq.pipeline.store.counts import keys_of
from bicliq.pipeline.store.folder import is_at_work
from bicliq.pipeline.store.inventory import FOLDERS, LOCK, Inventory, forgotten, is_gone, places_of, take_inventory
from bicliq.pipeline.store.layout import STORE_FILE, RunFolder, Store
from bicliq.pipeline.store.log import (
    PLACE,
    last_number,
    next_to_number,
    number_name,
    take_number,
    untold,
)
from bicliq.pipeline.store.needs import needs
from bicliq.pipeline.store.record import KINDS, owner_of
from bicliq.pipeline.store.records import (
    FORMAT,
    Checks,
    CliqueRecord,
    Commit,
    Counts,
    Failure,
    Manifest,
    Numbered,
    PartitionCounts,
    PlanRecord,
    Pruned,
    RunRecord,
    StoredGraph,
    StoreRecord,
    Subgraph,
    Took,
)

MADE_AGAIN = (PlanRecord, Manifest, Checks, Counts, Failure, PartitionCounts)
OF_RUNS = (PlanRecord, Commit, Counts, PartitionCounts)
"""Records of a run that are made again, and those whose files are."""


def repair(store: Store, settings: Settings, run: str | None = None, roots: int = 0, seed: int = 0) -> list[str]:
    """Mend what `verify` finds damaged.

    `store`: the store; its own record may be missing. `settings`: how and where partitions are
    searched or counted again. `run`: mend this run and what is derived of its graph; None: the
    whole store. `roots`, `seed`: roots of each run to search again, and how they are chosen: a
    partition of which another answer is stored than is found is searched again, too. Returns a
    sentence for all that was done, and for what cannot be mended: edges and ids are in no other
    file of the store, and foreign files are somebody's.

    Leftovers of processes that were killed are removed, never while a writer may live.
    """
    found = take_inventory(store, FOLDERS if run is None else places_of(store, run))
    said = []
    if STORE_FILE in found.problems:
        store.root.write(STORE_FILE, StoreRecord(format=FORMAT))
        said.append(f"{STORE_FILE}: written again")
    said += _cleaned(store, found)
    for place in found.places:
        if place.startswith("graphs/") and not (
            _is_pruned(store, place, found) or is_at_work(store.graph(place.split("/")[1]))
        ):
            said += _mended_graph(store, place.split("/")[1], found)
    for run_found in examine(store, found, 0, seed, roots):
        place = f"runs/{run_found.run}"
        record = found.record(RunRecord, place)
        lacks = {*(needs(place, record) if record else ())} & {*found.problems}
        bad = lacks or not run_found.ok or any(path.startswith(f"{place}/") for path in found.problems)
        if bad and _is_pruned(store, place, found):
            said.append(f"{place}: left alone, it is pruned, or marked for it by a prune that was killed; prune again")
        elif bad and is_at_work(store.run(run_found.run)):
            said.append(f"runs/{run_found.run}: left alone, a process is at work there; repair again when it has ended")
        elif bad and run in (None, run_found.run):
            said += _mended_run(store.run(run_found.run), found, settings, run_found.wrong)
    for place in found.places:
        if place.startswith("cliques/"):
            said += _mended_clique(store, place, found)
    lost = (path for path in sorted(found.problems) if path.startswith("sources/"))
    said += [f"{path}: cannot be mended, it said which files were taken; begin another store" for path in lost]
    return said + (_mended_log(store, found) if run is None else [])


def _is_pruned(store: Store, place: str, found: Inventory) -> bool:
    """Whether a prune took a run or a graph away, or is about to."""
    return is_gone(store, place, found) or store.root.has(f"{place}/{Pruned.at}")


def _mended_log(store: Store, found: Inventory) -> list[str]:
    """Fill the gaps in the numbered log, write what is damaged again, and the number at its end."""
    bad = [path for path in found.problems if path.startswith(f"{PLACE}/") and found.is_damaged(path)]
    store.root.remove(*bad)
    told = sum(store.root.create(path, record) for path, record in untold(found.records).items())
    last, missing = last_number(store), next_to_number(found.records)
    entries = {n: Numbered() for n in range(1, last) if not store.root.has(number_name(n))}
    entries |= {} if missing is None else {last + 1: missing[1]}
    written = told + sum(take_number(store, number, entry) for number, entry in entries.items())
    return [f"{PLACE}: {len(bad)} damaged, {written} written again"] if bad or written else []


def _cleaned(store: Store, found: Inventory) -> list[str]:
    """Remove what processes left that are dead."""
    removed = [path for path, _ in forgotten(store, found)]
    store.root.remove(*removed)
    locks = [path for path in found.problems if LOCK.fullmatch(path)]
    emptied = [f"{path}: {_emptied(store.root.path_of(path))}" for path in locks]
    return [*emptied, *(f"{path}: removed, {found.leftovers[path]}" for path in removed)]


def _emptied(path: str) -> str:
    """Empty a lock: removed, it might be locked twice."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return f"is no file of a store ({error.strerror}), and left to you"
    with os.fdopen(descriptor, "wb"):
        os.ftruncate(descriptor, 0)
    return "emptied"


def _mended_graph(store: Store, graph: str, found: Inventory) -> list[str]:
    place = f"graphs/{graph}"
    bad = _bad_files(place, found)
    said = []
    record = found.record(StoredGraph, place)
    where = "its edge table" if record is None else record.summary.source.uri or "its edge table"
    ingested = {name for name in bad if name == StoredGraph.at or StoredGraph.file_pattern.fullmatch(name)}
    for name in sorted(ingested):
        if record is not None and record.base is not None:  # what an update made of another graph
            said.append(
                f"{place}/{name}: cannot be mended ({found.problems[f'{place}/{name}']}); update with {where} again"
            )
            continue
        said.append(
            f"{place}/{name}: cannot be mended ({found.problems[f'{place}/{name}']}); ingest {where} again with the same"
            f" settings: the graph must come out as {graph}"
        )
    for name, derive in (("profile", profile), ("two_hop", two_hop)):
        files = {f"{name}.parquet", f"{name}.json"}
        if files & bad and not ingested:
            store.graph(graph).remove(*files)
            derive(store, graph)
            said.append(f"{place}/{name}.parquet: derived again from the edges")
        bad -= files
    return said + _left_to_you(place, bad - ingested)


def _mended_run(folder: RunFolder, found: Inventory, settings: Settings, wrong: list[int]) -> list[str]:
    place = folder.place
    bad = _bad_files(place, found)
    took = {name for name in bad if Took.pattern.fullmatch(name)}
    for name in took:
        folder.write(name, Took(taken={}))
    emptied = [f"{place}/{name}: emptied; a watch reads the files again that it named" for name in sorted(took)]
    bad -= took
    if took and not bad and not wrong:
        return emptied
    return emptied + _searched_or_counted(folder, bad, found, settings, wrong)


def _searched_or_counted(
    folder: RunFolder, bad: set[str], found: Inventory, settings: Settings, wrong: list[int]
) -> list[str]:
    place, asked = folder.place, found.record(RunRecord, folder.place)
    if asked is None:
        return [f"{place}/run.json: cannot be mended; give the command of that run again, with the same settings"]
    if asked.layered is not None:
        files = ", ".join(file.uri for file in asked.update.files) if asked.update else "its files"
        return [
            f"{place}: a version cannot be mended, only what it stands on; update its parent {asked.parent} with {files}"
            " again, in another store if need be"
        ]
    graph = f"graphs/{asked.graph}"
    record = found.record(StoredGraph, graph)
    if record is None or any(f"{graph}/{name}" not in found.files for name in record.named):
        return [f"{place}: is not mended before {graph} is"]
    try:
        planned, said = _prepared(folder, bad, settings)
        if asked.asks == "counts":
            return said + _counted_again(folder, planned, bad, settings)
        return said + _searched_again(folder, planned, settings, wrong)
    except BicliqError as error:
        return [f"{place}: cannot be mended: {error}"]


def _bad_files(place: str, found: Inventory) -> set[str]:
    """Names in a folder of what is damaged there, but for locks."""
    paths = (path for path in found.problems if path.startswith(f"{place}/") and not LOCK.fullmatch(path))
    return {path.removeprefix(f"{place}/") for path in paths}


def _left_to_you(place: str, names: set[str]) -> list[str]:
    return [f"{place}/{name}: {_why_left(place, name)}, and left to you" for name in sorted(names)]


def _why_left(place: str, name: str) -> str:
    """Why repair leaves a damaged file: nobody's, or of a record that another stage makes."""
    kind = owner_of(name) or next((kind for kind in KINDS.values() if kind.pattern.fullmatch(name)), None)
    if kind is None:
        return "is no file of a store"
    record = f"{place}/{kind.at}" if "{" not in kind.at else f"the record of {kind.kind} that names it"
    return f"is not made here again (remove {record}, and give the command of that run again)"


def _prepared(folder: RunFolder, bad: set[str], settings: Settings) -> tuple[PlanRecord, list[str]]:
    """Remove what will be derived again, and make plan and partitions."""
    foreign, said = set[str](), list[str]()
    is_cut = bool(folder.files("partitions"))
    for name in bad:
        subgraph = Subgraph.pattern.fullmatch(name) or Subgraph.file_pattern.fullmatch(name)
        if subgraph:
            folder.remove(Subgraph.name(int(subgraph[1])), partition_name(int(subgraph[1])))
        elif any(kind.pattern.fullmatch(name) for kind in MADE_AGAIN):
            if name == Checks.at and folder.has(name):
                said.append(f"{folder.place}/{name}: removed; the next run checks its input again")
            folder.remove(name)
        elif not Commit.pattern.fullmatch(name) and owner_of(name) not in OF_RUNS:
            foreign.add(name)
    said += _left_to_you(folder.place, foreign)
    if not folder.has(PlanRecord.at) or any(map(PlanRecord.file_pattern.fullmatch, bad)):
        said.append(f"{folder.place}: planned again")
    limit = settings.search.memory_limit
    planned = plan_run(folder.store, folder.run, settings.data_backend, settings.cluster, limit)
    for name in bad:
        commit = Commit.pattern.fullmatch(name)
        if commit and int(commit[1]) >= planned.partitions:
            folder.remove(name)
            said.append(f"{folder.place}/{name}: removed, there is no such partition")
    if is_cut:
        written = write_partitions(folder.store, folder.run, memory_limit=limit)
        said += [f"{folder.place}: {written} partitions cut again"] if written else []
    return planned, said


def _searched_again(folder: RunFolder, planned: PlanRecord, settings: Settings, wrong: list[int]) -> list[str]:
    """Search what is damaged, wrong, or missing though it was published, and publish again."""
    manifest = folder.manifest()
    limit = None if manifest is None else manifest.limit
    sound, damaged = folder.examine_commits(check=True)
    published = {file.partition for file in manifest.files} if manifest is not None else set()
    again = sorted({*damaged, *(published - set(sound)), *wrong})
    said = []
    for number in wrong:  # its subgraph may be what is wrong
        folder.remove(partition_name(number), Subgraph.name(number))
        folder.uncommit_partition(number)
    if again:
        options = {
            **call_options(settings.search),
            "max_bicliques": limit,
            "on_limit": "flag",
            "check": True,
            "only": again,
        }
        placement = place_partitions(planned, settings)
        folder.unpublish()
        with placement.opened() as client:
            search_run(folder.store, folder.run, client, placement=placement, **options)
        said.append(f"{folder.place}: partitions {', '.join(map(str, again))} searched again")
    try:
        before = (None, None) if manifest is None else (manifest.created, manifest.limited_by)
        publish(folder.store, folder.run, limit, *before)
        said.append(f"{folder.place}/manifest.json: published again")
    except DamageError:
        raise
    except BicliqError as error:
        said.append(f"{folder.place}: not published, as it was not before: {error}")
    return said


def _counted_again(folder: RunFolder, planned: PlanRecord, bad: set[str], settings: Settings) -> list[str]:
    """Count again what is damaged or missing though published, and make the tables anew."""
    record = folder.find(Counts)
    known = {} if record is None else record.keys
    if record is not None and record.checked and not folder.has(Checks.at):
        folder.remove(Counts.at)  # it is put together again, and says so
    patterns = (PartitionCounts.pattern, PartitionCounts.file_pattern)
    touched = {match[1] for pattern in patterns for match in map(pattern.fullmatch, bad) if match}
    search = settings.search.model_copy(update={"check": True})
    asked_again, said = settings.model_copy(update={"search": search}), []
    for key in sorted({*known, *touched, *keys_of(folder)}):
        asked = CountAsked.of_key(key)
        method = known.get(key, "pivot" if key.startswith(("all", "vertices")) else "auto")
        counted = count_partitions(folder.store, folder.run, asked, method, asked_again)
        if counted:
            said.append(f"{folder.place}: {counted} of {planned.partitions} partitions of {key} counted again")
    publish_all_counts(folder)
    return [*said, f"{folder.place}/{Counts.at}: put together again"]


def _mended_clique(store: Store, place: str, found: Inventory) -> list[str]:
    """Remove an answer that is damaged: it is searched again when it is asked for."""
    bad = _bad_files(place, found)
    record = found.record(CliqueRecord, place)
    foreign = {name for name in bad if name != CliqueRecord.at and (record is None or name not in record.named)}
    said = _left_to_you(place, foreign)
    if bad - foreign or record is None:
        source = "GRAPH" if record is None else record.source
        store.root.remove(*(path for path in store.root.files(place) if "/claims/" not in path))
        said.append(f"{place}: removed, it was damaged; ask again: bicliq clique {source} --store {store.uri}")
    return said
