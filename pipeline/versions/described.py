"""The record of a version that stands on layers: its manifest, reckoned from that below them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bicliq.pipeline.placement.machine import machine_facts
from bicliq.pipeline.stages.ingest import GraphRecord
from bicliq.pipeline.store.bicliques import MASK
from bicliq.pipeline.store.entries import Check, LargestOfRun
from bicliq.pipeline.store.layout import RunFolder
from bicliq.pipeline.store.manifest import moment_after
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import LayerRows, Manifest, RunRecord, Version
from bicliq.pipeline.store.states import OpenedRun
from bicliq.pipeline.store.versions import Layer, layers_of, parts_of
from bicliq.pipeline.versions.layer import histogram_after, largest_after
from bicliq.pipeline.versions.portions import Found


def described(
    asked: RunRecord,
    parent: OpenedRun,
    base: RunFolder,
    below: tuple[Layer, ...],
    written: list[tuple[StoredFile, LayerRows]],
    found: Found,
    graph: GraphRecord,
    *,
    checks: list[Check],
    seconds: dict[str, float],
) -> RunRecord:
    """Return the record of a version: what was asked, its layers, what changed, and its manifest.

    `asked`: what is known of it before. `parent`, `base`: the version before, and the run that all
    stand on. `below`: layers that stay, of which the parent may have more. `written`: the files of
    what appeared and of what vanished, which `found` tells of. `graph`: that of the version.
    """
    (_, appeared), (_, vanished) = written
    assert parent.manifest is not None
    assert parent.plan is not None
    before = parent.manifest if base.run == asked.parent else base.published()
    if below:
        before = below[-1].record.version.manifest
    total = int(before.digest, 16) + int(appeared.digest, 16) - int(vanished.digest, 16)
    histograms: dict[str, Any] = {
        name: histogram_after(getattr(before, name), getattr(vanished.sizes, side), getattr(appeared.sizes, side))
        for side, name in (("left", "left_histogram"), ("right", "right_histogram"))
    }
    manifest = Manifest(
        run=asked.run,
        graph=graph.graph,
        side=parent.plan.side,
        n_left=graph.n_left,
        n_right=graph.n_right,
        n_edges=graph.n_edges,
        bicliques=before.bicliques + appeared.rows - vanished.rows,
        digest=f"{total & MASK:016x}",
        complete=True,
        limit=None,
        partitions=before.partitions + 1,
        bytes=before.bytes + sum(file.bytes for file in asked.stored),
        backend=found.backend,
        threads=found.threads,
        largest=None,
        **histograms,
        seconds=seconds,
        created=moment_after(before.created),
        files=[],
        checks=checks,
        machine=machine_facts(),
    )
    layers = [*(layer.folder.run for layer in below), asked.run]
    version = Version(base=base.run, layers=layers, appeared=appeared, vanished=vanished, manifest=manifest)
    largest = _largest(replace(asked, layered=version), parent, base, before)
    return replace(asked, layered=replace(version, manifest=replace(manifest, largest=largest)))


def _largest(record: RunRecord, parent: OpenedRun, base: RunFolder, before: Manifest) -> LargestOfRun | None:
    """The largest biclique of a version, which is not committed yet."""
    assert parent.plan is not None
    asked = parent.asked if base.run == record.parent else base.record()
    commits = {number: part.commit for number, part in parent.parts.items() if part.base is not None}
    parts = parts_of(base, asked, parent.plan.digest, commits, layers_of(base.store, record))
    largest, gone = before.largest, record.version.vanished.sizes.largest
    may_be_gone = largest is not None and gone is not None and gone.rank >= largest.rank
    return largest_after(largest, parts, read=may_be_gone)
