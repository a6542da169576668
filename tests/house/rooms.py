"""Which room may import which.

A room is a package, or a module that stands alone; a module belongs to the longest name below that
begins its own. ``room`` allows the face of a package (its ``__init__``) or one module, ``room.*``
all that is below it too. Modules of one room import each other freely, as long as no cycle comes of
it.

Three storeys: flows above pipeline above kernels. In the pipeline, from below: bounds, columns,
redact, errors, events, settings, picture, formats and placement, store, graphs, stages, results,
report, rules, notify, lineage, run, questions, versions, repair, bench.
"""

from __future__ import annotations

BASE = [
    "pipeline.bounds",
    "pipeline.columns",
    "pipeline.redact",
    "pipeline.errors",
    "pipeline.events",
    "pipeline.settings",
]
BELOW_STAGES = [*BASE, "pipeline.formats.*", "pipeline.placement.*", "pipeline.store.*", "pipeline.graphs.*"]
BELOW_FLOWS = [
    *BELOW_STAGES,
    "pipeline.stages.*",
    "pipeline.notify",
    "pipeline.lineage",
    "pipeline.run",
    "pipeline.questions.*",
    "pipeline.results.*",
    "pipeline.report.*",
    "pipeline.versions.*",
]

MAY_IMPORT: dict[str, list[str]] = {
    "kernels": ["kernels.*"],
    "kernels.cuda": ["kernels.contracts", "kernels.cpu", "kernels.digest", "kernels.errors"],
    "pipeline": ["pipeline.*"],  # its face: names that are loaded from their rooms when they are asked for
    "pipeline.bounds": [],
    "pipeline.columns": [],
    "pipeline.redact": [],
    "pipeline.errors": ["kernels.errors", "pipeline.redact"],
    "pipeline.events": ["pipeline.redact"],
    "pipeline.settings": ["pipeline.bounds", "pipeline.errors"],
    "pipeline.picture": ["pipeline.errors"],
    "pipeline.formats": [*BASE, "kernels"],
    "pipeline.placement": [*BASE, "kernels", "kernels.cpu", "kernels.cuda.*"],  # it knows what can run where
    "pipeline.store": [*BASE, "kernels", "pipeline.placement.*"],
    "pipeline.results": [*BASE, "pipeline.store.*", "pipeline.graphs.*"],
    "pipeline.graphs": [*BASE, "kernels", "pipeline.formats.*", "pipeline.placement.*", "pipeline.store.*"],
    "pipeline.stages": [*BELOW_STAGES, "kernels"],
    "pipeline.report": [*BELOW_STAGES, "kernels", "pipeline.stages.*", "pipeline.results.*"],
    "pipeline.rules": [*BASE, "pipeline.store.*", "pipeline.graphs.*", "pipeline.results.*"],
    "pipeline.lineage": BASE,
    "pipeline.notify": [*BASE, "pipeline.store.*", "pipeline.rules"],
    "pipeline.run": [*BELOW_STAGES, "kernels", "pipeline.stages.*", "pipeline.notify", "pipeline.lineage"],
    "pipeline.questions": [
        *BELOW_STAGES,
        "kernels",
        "pipeline.picture",
        "pipeline.stages.*",
        "pipeline.report.*",
        "pipeline.run",
    ],
    "pipeline.versions": [
        *BELOW_STAGES,
        "kernels",
        "pipeline.stages.*",
        "pipeline.results.*",
        "pipeline.run",
        "pipeline.notify",
    ],
    "pipeline.repair": BELOW_FLOWS,
    "pipeline.bench": ["pipeline.*", "kernels.*"],
    "flows": BELOW_FLOWS,
    "bicliq": BELOW_FLOWS,  # pipeline/face: what `import bicliq` gives
    "flows.cli": ["flows.*", "pipeline.*"],
}

STILL_TO_MEND: dict[tuple[str, str], str] = {}
"""Imports (importer, imported) that break the table, each with what would mend it. Only ever
shorter."""


def room_of(module: str) -> str | None:
    """The room of a module, or None where the table has none for it."""
    rooms = [room for room in MAY_IMPORT if module == room or module.startswith(f"{room}.")]
    room = max(rooms, key=len, default=None)
    if room is None or (room in ("pipeline", "flows") and module != room and not _stands_alone(room, module)):
        return None
    return room


def _stands_alone(room: str, module: str) -> bool:
    """Whether a module directly below a package is no room of its own: so it is with flows, one
    file a flow."""
    return room == "flows" and module.count(".") == 1


def allowed(importer_room: str, imported: str) -> bool:
    """Whether a module of a room may import a module."""
    if room_of(imported) == importer_room:
        return True
    return any(
        imported == name.removesuffix(".*") or (name.endswith(".*") and imported.startswith(name.removesuffix("*")))
        for name in MAY_IMPORT[importer_room]
    )
