"""Which room may import which.

A room is a package, or a module that stands alone; a module belongs to the longest name below that
begins its own. ``room`` allows the face of a package (its ``__init__``) or one module, ``room.*``
all that is below it too. Modules of one room import each other freely, as long as no cycle comes of
it.

Three storeys: flows above pipeline above kernels. In the pipeline, from below: bounds, columns,
redact, errors, arguments, extras, events, settings, picture, formats and placement, store (above
two of the graphs that are numbers alone), graphs, stages, results, report, rules, notify, stale,
lineage, run, questions, versions, repair.
"""

from __future__ import annotations

BASE = [
    "bicliq.pipeline.bounds",
    "bicliq.pipeline.levels",
    "bicliq.pipeline.settings_file",
    "bicliq.pipeline.variables",
    "bicliq.pipeline.words",
    "bicliq.pipeline.columns",
    "bicliq.pipeline.redact",
    "bicliq.pipeline.arguments",
    "bicliq.pipeline.errors",
    "bicliq.pipeline.extras",
    "bicliq.pipeline.events",
    "bicliq.pipeline.times",
    "bicliq.pipeline.settings",
]
BELOW_STAGES = [
    *BASE,
    "bicliq.pipeline.formats.*",
    "bicliq.pipeline.placement.*",
    "bicliq.pipeline.store.*",
    "bicliq.pipeline.graphs.*",
]
BELOW_FLOWS = [
    *BELOW_STAGES,
    "bicliq.pipeline.stages.*",
    "bicliq.pipeline.notify",
    "bicliq.pipeline.stale",
    "bicliq.pipeline.lineage",
    "bicliq.pipeline.run",
    "bicliq.pipeline.questions.*",
    "bicliq.pipeline.results.*",
    "bicliq.pipeline.report.*",
    "bicliq.pipeline.versions.*",
]

MAY_IMPORT: dict[str, list[str]] = {
    "bicliq.kernels": ["bicliq.kernels.*"],
    "bicliq.kernels.cuda": [
        "bicliq.kernels.contracts",
        "bicliq.kernels.cpu",
        "bicliq.kernels.digest",
        "bicliq.kernels.errors",
        "bicliq.kernels.surprise",
    ],
    "bicliq.pipeline": [],
    "bicliq.pipeline.bounds": [],
    "bicliq.pipeline.levels": [],
    "bicliq.pipeline.settings_file": [],
    "bicliq.pipeline.variables": [],
    "bicliq.pipeline.words": [],
    "bicliq.pipeline.columns": ["bicliq.pipeline.extras"],
    "bicliq.pipeline.redact": [],
    "bicliq.pipeline.errors": ["bicliq.kernels.errors", "bicliq.pipeline.redact"],
    "bicliq.pipeline.arguments": ["bicliq.pipeline.errors"],
    "bicliq.pipeline.extras": ["bicliq.pipeline.errors", "bicliq.pipeline.redact"],
    "bicliq.pipeline.events": ["bicliq.pipeline.redact"],
    "bicliq.pipeline.times": ["bicliq.pipeline.errors"],
    "bicliq.pipeline.settings": [
        "bicliq.pipeline.bounds",
        "bicliq.pipeline.errors",
        "bicliq.pipeline.levels",
        "bicliq.pipeline.settings_file",
        "bicliq.pipeline.times",
        "bicliq.pipeline.variables",
    ],
    "bicliq.pipeline.picture": ["bicliq.pipeline.errors", "bicliq.pipeline.extras"],
    "bicliq.pipeline.formats": [*BASE, "bicliq.kernels"],
    "bicliq.pipeline.placement": [
        *BASE,
        "bicliq.kernels",
        "bicliq.kernels.cpu",
        "bicliq.kernels.cuda.*",
    ],  # it knows what can run where
    "bicliq.pipeline.graphs.actions": ["bicliq.pipeline.placement.*"],  # numbers alone: who acted when
    "bicliq.pipeline.graphs.moments": [
        "bicliq.kernels",
        "bicliq.pipeline.graphs.actions",
        "bicliq.pipeline.placement.*",
    ],
    "bicliq.pipeline.store": [
        *BASE,
        "bicliq.kernels",
        "bicliq.pipeline.placement.*",
        "bicliq.pipeline.graphs.actions",
        "bicliq.pipeline.graphs.moments",
    ],
    "bicliq.pipeline.results": [*BASE, "bicliq.kernels", "bicliq.pipeline.store.*", "bicliq.pipeline.graphs.*"],
    "bicliq.pipeline.graphs": [
        *BASE,
        "bicliq.kernels",
        "bicliq.pipeline.formats.*",
        "bicliq.pipeline.placement.*",
        "bicliq.pipeline.store.*",
        "bicliq.pipeline.graphs.actions",
        "bicliq.pipeline.graphs.moments",
    ],
    "bicliq.pipeline.stages": [*BELOW_STAGES, "bicliq.kernels"],
    "bicliq.pipeline.report": [
        *BELOW_STAGES,
        "bicliq.kernels",
        "bicliq.pipeline.stages.*",
        "bicliq.pipeline.results.*",
    ],
    "bicliq.pipeline.rules": [
        *BASE,
        "bicliq.pipeline.store.*",
        "bicliq.pipeline.graphs.*",
        "bicliq.pipeline.results.*",
    ],
    "bicliq.pipeline.lineage": BASE,
    "bicliq.pipeline.notify": [*BASE, "bicliq.pipeline.store.*", "bicliq.pipeline.rules"],
    "bicliq.pipeline.stale": [*BASE, "bicliq.pipeline.store.*", "bicliq.pipeline.notify"],
    "bicliq.pipeline.run": [
        *BELOW_STAGES,
        "bicliq.kernels",
        "bicliq.pipeline.stages.*",
        "bicliq.pipeline.notify",
        "bicliq.pipeline.lineage",
    ],
    "bicliq.pipeline.questions": [
        *BELOW_STAGES,
        "bicliq.kernels",
        "bicliq.pipeline.picture",
        "bicliq.pipeline.stages.*",
        "bicliq.pipeline.results.*",
        "bicliq.pipeline.report.*",
        "bicliq.pipeline.run",
    ],
    "bicliq.pipeline.versions": [
        *BELOW_STAGES,
        "bicliq.kernels",
        "bicliq.pipeline.stages.*",
        "bicliq.pipeline.results.*",
        "bicliq.pipeline.run",
        "bicliq.pipeline.notify",
    ],
    "bicliq.pipeline.repair": BELOW_FLOWS,
    "bicliq.flows": BELOW_FLOWS,
    "bicliq": BELOW_FLOWS,  # the folder bicliq: what `import bicliq` gives
    "bicliq.flows.cli": ["bicliq.flows.*", "bicliq.pipeline.*"],
}

STILL_TO_MEND: dict[tuple[str, str], str] = {}
"""Imports (importer, imported) that break the table, each with what would mend it. Only ever
shorter."""


def room_of(module: str) -> str | None:
    """The room of a module, or None where the table has none for it."""
    rooms = [room for room in MAY_IMPORT if module == room or module.startswith(f"{room}.")]
    room = max(rooms, key=len, default=None)
    if room is None or (
        room in ("bicliq", "bicliq.pipeline", "bicliq.flows") and module != room and not _stands_alone(room, module)
    ):
        return None
    return room


def _stands_alone(room: str, module: str) -> bool:
    """Whether a module directly below a package is no room of its own: so it is with flows, one
    file a flow."""
    return (room == "bicliq.flows" and module.count(".") == 2) or (room == "bicliq" and module.count(".") == 1)


def allowed(importer_room: str, imported: str) -> bool:
    """Whether a module of a room may import a module."""
    if room_of(imported) == importer_room:
        return True
    return any(
        imported == name.removesuffix(".*") or (name.endswith(".*") and imported.startswith(name.removesuffix("*")))
        for name in MAY_IMPORT[importer_room]
    )
