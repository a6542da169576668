"""All that the drivers ask a compiler for: each program with each set of its options."""

from __future__ import annotations

from bicliq.kernels.cuda import (
    butterflies,
    changes,
    clique_program,
    counting,
    pivots,
    row_groups,
    search_program,
    sizes,
    table,
)
from bicliq.kernels.cuda.program import OPTIONS, Program

PROGRAMS: dict[str, Program] = {
    "enumeration": search_program.PROGRAM,
    "changes": changes.PROGRAM,
    "levels": counting.PROGRAM,
    "trees": table.PROGRAM,
    "pivots": pivots.PROGRAM,
    "butterflies": butterflies.PROGRAM,
    "clique": clique_program.PROGRAM,
    "row_groups": row_groups.PROGRAM,
    "sizes": sizes.PROGRAM,
}
"""The programs, by what they are for."""


def instances() -> list[tuple[str, tuple[str, ...]]]:
    """Source and options of each; of the layouts of a search, the one that all searches take."""
    layout = search_program.Tuning()
    sets: dict[str, list[tuple[str, ...]]] = {
        "enumeration": [search_program.options(search, layout) for search in search_program.SEARCHES],
        "clique": [clique_program.options(width) for width in clique_program.WIDTHS],
    }
    return [
        (program.text(), (*OPTIONS, *options)) for name, program in PROGRAMS.items() for options in sets.get(name, [()])
    ]
