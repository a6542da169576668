"""Which records a record needs: the dependency graph of a store, told in one place."""

from __future__ import annotations

from collections.abc import Mapping

from bicliq.pipeline.store.record import Record
from bicliq.pipeline.store.records import (
    Checks,
    Commit,
    Counts,
    Failure,
    Manifest,
    Numbered,
    PartitionCounts,
    PlanRecord,
    Profile,
    RunRecord,
    Sources,
    StoredGraph,
    Subgraph,
    Took,
    TwoHop,
)

FOUND = Commit | PartitionCounts | Manifest | Counts


def place_of(path: str) -> str:
    """Return the folder of the graph, the run or the clique that a path in the store leads into."""
    return "/".join(path.split("/")[:2])


def needs(path: str, record: Record, beside: Mapping[str, Record] | None = None) -> list[str]:
    """Return the paths in the store of the records without which one is worth nothing.

    `path`, `record`: where it is, and what it says. `beside`: the sound records in its folder, by
    their names; without them it is told of other folders.
    """
    if isinstance(record, StoredGraph):
        return [] if record.base is None else [f"graphs/{record.base}/{record.at}"]
    if isinstance(record, RunRecord):
        runs = dict.fromkeys(run for run in (record.base, *record.layers) if run != record.run)
        before = [] if record.taken_before is None else [Sources.name(record.taken_before)]
        return [f"graphs/{record.graph}/{StoredGraph.at}", *(f"runs/{run}/{record.at}" for run in runs), *before]
    if isinstance(record, Sources):
        return [] if record.before is None else [record.name(record.before)]
    if isinstance(record, Numbered):
        found = record.pattern.fullmatch(path)
        return [record.name(f"{int(found[1]) - 1:08d}")] if found and int(found[1]) > 1 else []
    if isinstance(record, Took):
        number = int(path.rsplit("/", 1)[-1].removesuffix(".json"))
        return [f"{place_of(path)}/{record.name(number - 1) if number > 1 else RunRecord.at}"]
    return [f"{place_of(path)}/{name}" for name in _in_its_folder(record, beside or {})]


def _in_its_folder(record: Record, beside: Mapping[str, Record]) -> list[str]:
    """Names of the records beside one that it needs."""
    plan = beside.get(PlanRecord.at)
    numbers = range(plan.partitions if isinstance(plan, PlanRecord) else 0)
    if isinstance(record, Profile | TwoHop):
        return [StoredGraph.at]
    if isinstance(record, PlanRecord):  # subgraphs, once something was found in one
        found = any(isinstance(one, FOUND) for one in beside.values())
        return [RunRecord.at, *(Subgraph.name(number) for number in numbers if found)]
    if isinstance(record, Checks | Failure):
        return [RunRecord.at]
    if not isinstance(record, FOUND | Subgraph):
        return []
    names = [RunRecord.at, PlanRecord.at]
    if isinstance(record, Manifest):
        names += [Commit.name(file.partition) for file in record.files]
    if isinstance(record, Counts):
        names += [PartitionCounts.name(key, number) for key in record.keys for number in numbers]
    checked = (isinstance(record, Manifest) and record.checks) or (isinstance(record, Counts) and record.checked)
    return [*names, Checks.at] if checked else names
