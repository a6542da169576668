"""Repair: what is damaged in a store is searched again or derived again; what cannot be is said, with what to do."""

from __future__ import annotations

import re

from pipeline.errors import BicliqError, DamageError
from pipeline.questions.count import CountAsked, count_partitions, publish_all_counts
from pipeline.run import call_options
from pipeline.settings import Settings
from pipeline.stages.partition import write_partitions
from pipeline.stages.plan import PlanRecord, plan_run
from pipeline.stages.profile import profile, two_hop
from pipeline.stages.publish import publish
from pipeline.stages.search_run import run_plan
from pipeline.stages.verify import examine, places_of
from pipeline.store.counts import COUNT, COUNT_ATTEMPT, COUNTS_RECORD, keys_of
from pipeline.store.folder import claim_name, writer_lives
from pipeline.store.inventory import FOLDERS, Inventory, is_forgotten, take_inventory
from pipeline.store.layout import ATTEMPT, COMMIT, FAILURE, FORMAT, STORE_FILE, RunFolder, Store

SUBGRAPH = re.compile(r"partitions/part-(\d{5,})\.(arrow|json)")
"""Names of a partition's subgraph and of its record."""


def repair(store: Store, settings: Settings, run: str | None = None) -> list[str]:
    """Mend what `verify` finds damaged.

    Parameters
    ----------
    store
        The store; its own record may be missing.
    settings
        How and where partitions are searched or counted again.
    run
        Mend this run and what is derived of its graph; None: the whole store.

    Returns
    -------
    list of str
        A sentence for all that was done, and for what cannot be mended: edges and ids are in no other file of the store, and
        foreign files are somebody's.

    Notes
    -----
    Leftovers of processes that were killed are removed, never while a writer may live.
    """
    found = take_inventory(store, FOLDERS if run is None else places_of(store, run))
    said = []
    if STORE_FILE in found.problems:
        store.root.write_record(STORE_FILE, {"format": FORMAT})
        said.append(f"{STORE_FILE}: written again")
    said += _cleaned(store, found)
    places = sorted({"/".join(path.split("/")[:2]) for path in {**found.records, **found.files, **found.problems}})
    for place in places:
        if place.startswith("graphs/"):
            said += _mended_graph(store, place.split("/")[1], found)
    for run_found in examine(store, found, sample=0):
        bad = not run_found.ok or any(path.startswith(f"runs/{run_found.run}/") for path in found.problems)
        if bad and run in (None, run_found.run):
            said += _mended_run(store.run(run_found.run), found, settings)
    for place in places:
        if place.startswith("cliques/") and any(path.startswith(f"{place}/") for path in found.problems):
            said += _forgotten_clique(store, place, found)
    return said


def _cleaned(store: Store, found: Inventory) -> list[str]:
    """Remove what processes left that are dead."""
    removed = []
    for path in found.leftovers:
        place, inside = "/".join(path.split("/")[:2]), "/".join(path.split("/")[2:])
        data, count = ATTEMPT.fullmatch(inside), COUNT_ATTEMPT.fullmatch(inside)
        claim = f"partition-{data[1]}" if data else f"{count['key']}-{count['partition']}" if count else "clique"
        lock = store.root.path_of(f"{place}/{claim_name(claim)}")
        if is_forgotten(store.root, path) and not (store.root.is_local and writer_lives(lock)):
            store.root.remove(path)
            removed.append(path)
    return [f"{path}: removed, {found.leftovers[path]}" for path in removed]


def _mended_graph(store: Store, graph: str, found: Inventory) -> list[str]:
    place = f"graphs/{graph}"
    bad = {path.removeprefix(f"{place}/") for path in found.problems if path.startswith(f"{place}/")}
    said = []
    for name in sorted(bad - {"profile.parquet", "profile.json", "two_hop.parquet", "two_hop.json"}):
        source = found.records.get(f"{place}/graph.json", {}).get("source", {})
        where = source.get("uri", "its edge table") if isinstance(source, dict) else "its edge table"
        said.append(
            f"{place}/{name}: cannot be mended ({found.problems[f'{place}/{name}']}); ingest {where} again with the same"
            f" settings: the graph must come out as {graph}"
        )
    for name, derive in (("profile", profile), ("two_hop", two_hop)):
        if {f"{name}.parquet", f"{name}.json"} & bad and not said:
            store.graph(graph).remove(f"{name}.json", f"{name}.parquet")
            derive(store, graph)
            said.append(f"{place}/{name}.parquet: derived again from the edges")
    return said


def _mended_run(folder: RunFolder, found: Inventory, settings: Settings) -> list[str]:
    place = folder.place
    bad = sorted(path.removeprefix(f"{place}/") for path in found.problems if path.startswith(f"{place}/"))
    asked = found.records.get(f"{place}/run.json")
    if asked is None:
        return [f"{place}/run.json: cannot be mended; give the command of that run again, with the same settings"]
    graph = f"graphs/{asked['graph']}"
    if any(f"{graph}/{name}" not in {**found.records, **found.files} for name in ("graph.json", "edges.parquet")):
        return [f"{place}: is not mended before {graph} is"]
    try:
        planned, said = _prepared(folder, bad, found, settings)
        if asked["asks"] == "counts":
            return said + _counted_again(folder, planned, bad, settings)
        return said + _searched_again(folder, planned, settings)
    except BicliqError as error:
        return [f"{place}: cannot be mended: {error}"]


def _prepared(folder: RunFolder, bad: list[str], found: Inventory, settings: Settings) -> tuple[PlanRecord, list[str]]:
    """Remove what will be derived again, and make plan and partitions."""
    said = []
    for name in bad:
        subgraph = SUBGRAPH.fullmatch(name)
        if subgraph:
            folder.remove(*(f"partitions/part-{subgraph[1]}.{kind}" for kind in ("json", "arrow")))
        elif name in ("manifest.json", "plan.json", COUNTS_RECORD) or FAILURE.fullmatch(name) or COUNT.fullmatch(name):
            folder.remove(name)
        elif "foreign" in found.problems[f"{folder.place}/{name}"] and name not in ("plan.parquet", "reduced.parquet"):
            said.append(f"{folder.place}/{name}: is foreign, and left to you")
    if not folder.has("plan.json") or {"plan.parquet", "reduced.parquet"} & set(bad):
        said.append(f"{folder.place}: planned again")
    planned = plan_run(folder.store, folder.run, settings.data_backend, settings.cluster)
    for name in bad:
        commit = COMMIT.fullmatch(name)
        if commit and int(commit[1]) >= planned.partitions:
            folder.remove(name)
            said.append(f"{folder.place}/{name}: removed, there is no such partition")
    if folder.files("partitions"):
        written = write_partitions(folder.store, folder.run)
        said += [f"{folder.place}: {written} partitions cut again"] if written else []
    return planned, said


def _searched_again(folder: RunFolder, planned: PlanRecord, settings: Settings) -> list[str]:
    """Search what is damaged, or missing though it was published, and publish the run again."""
    manifest = folder.manifest()
    limit = None if manifest is None else manifest["limit"]
    examined = folder.examine(check=True)
    published = {entry["partition"] for entry in manifest["files"]} if manifest is not None else set()
    again = sorted({*examined.damaged, *(published - set(examined.sound))})
    said = []
    if again:
        options = {
            **call_options(settings.search),
            "max_bicliques": limit,
            "on_limit": "flag",
            "check": True,
            "only": again,
        }
        alone = settings.cluster.is_local(planned.est_cost)
        folder.unpublish()
        run_plan(folder.store, folder.run, None if alone else settings.cluster, **options)
        said.append(f"{folder.place}: partitions {', '.join(map(str, again))} searched again")
    try:
        publish(folder.store, folder.run, limit)
        said.append(f"{folder.place}/manifest.json: published again")
    except DamageError:
        raise
    except BicliqError as error:
        said.append(f"{folder.place}: not published, as it was not before: {error}")
    return said


def _counted_again(folder: RunFolder, planned: PlanRecord, bad: list[str], settings: Settings) -> list[str]:
    """Count what is damaged, or missing though it was published, and put the tables together again."""
    known = folder.read_record(COUNTS_RECORD)["keys"] if folder.has(COUNTS_RECORD) else {}
    touched = {found["key"] for name in bad if (found := COUNT.fullmatch(name) or COUNT_ATTEMPT.fullmatch(name))}
    search = settings.search.model_copy(update={"check": True})
    asked_again, said = settings.model_copy(update={"search": search}), []
    for key in sorted({*known, *touched, *keys_of(folder)}):
        asked = CountAsked.of_key(key)
        method = known.get(key, "pivot" if key.startswith(("all", "vertices")) else "auto")
        counted = count_partitions(folder.store, folder.run, asked, method, asked_again)
        if counted:
            said.append(f"{folder.place}: {counted} of {planned.partitions} partitions of {key} counted again")
    publish_all_counts(folder)
    return [*said, f"{folder.place}/{COUNTS_RECORD}: put together again"]


def _forgotten_clique(store: Store, place: str, found: Inventory) -> list[str]:
    """Remove an answer that is damaged."""
    source = found.records.get(f"{place}/clique.json", {}).get("source", "GRAPH")
    store.root.remove(*(path for path in store.root.files(place) if "/claims/" not in path))
    return [f"{place}: removed, it was damaged; ask again: bicliq clique {source} --store {store.uri}"]
