"""The page of a concept lattice: its line diagram, where it fits, and a table to sort."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from bicliq.pipeline.report.frame import framed, write_page
from bicliq.pipeline.report.groups import MEMBERS
from bicliq.pipeline.report.sections import account_read, filled_table, tiles
from bicliq.pipeline.results.concepts import Concepts
from bicliq.pipeline.results.diagram import MOST_DRAWN, diagram_of

LISTED = 1000
"""Concepts that a page lists; it says how many more there are."""


def write_lattice_page(place: str, found: Concepts, name: str) -> str:
    """Write the page of concepts to a path or fsspec URL, and return the place."""
    return write_page(place, lambda: lattice_page(found, name), overwrite="pages")


def lattice_page(found: Concepts, name: str) -> str:
    """Return the page of concepts.

    `found`: those that are shown. `name`: what the context is called.
    """
    record, best = found.record, found.top(LISTED).to_pylist()
    title = f"Concepts of {name.rsplit('/', 1)[-1]}"
    figures = {
        "concepts": f"{len(found):,} of {record['n_concepts']:,}",
        "cover edges": f"{found.edges.num_rows:,}",
        "objects": f"{record['n_objects']:,}",
        "attributes": f"{record['n_attributes']:,}",
        "least support": f"{record['min_support']:g} ({record['min_count']:,} objects)",
    }
    of = "" if len(best) == len(found) else f" These are the {len(best):,} most stable of {len(found):,}."
    cut = f" Of each side up to {MEMBERS} members are here, and searched." if any(map(_is_cut, best)) else ""
    explained = f"Each row is a concept: these objects, all attributes that they share, and nobody else has.{of}{cut}"
    keys = {"stability": "stability", "concept": "concept", "n_left": "objects", "n_right": "attributes"}
    parts = [
        f"<h1>{escape(title)}</h1>{tiles(figures)}",
        _drawn(found),
        filled_table("Concepts to look through", explained, keys, ("extent members", "intent members"), "concepts"),
        account_read(record),
    ]
    return framed(title, parts, [_row(row) for row in best])


def _drawn(found: Concepts) -> str:
    if not 0 < len(found) <= MOST_DRAWN:
        said = f"A diagram shows up to {MOST_DRAWN} concepts, and here are {len(found):,}: choose some with --of,"
        return f"<section><h2>Line diagram</h2><p>{said} --min-stability or --min-support.</p></section>"
    said = (
        "A dot is a concept, larger ones are above. It has the attributes (above dots) that lie on the ways up from it, and"
        " the objects (below dots) on those down; pointing at a dot shows all."
    )
    return f'<section><h2>Line diagram</h2><p>{said}</p><div class="wide">{diagram_of(found)}</div></section>'


def _is_cut(row: Mapping[str, Any]) -> bool:
    return bool(max(row["n_objects"], row["n_attributes"]) > MEMBERS)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A concept as the page's script takes it."""
    sides = {"left": "extent", "right": "intent"}
    shown = {
        side: ["(no name)" if one is None else str(one) for one in row[of][:MEMBERS]] for side, of in sides.items()
    }
    sizes = {
        "n_left": row["n_objects"],
        "n_right": row["n_attributes"],
        "n_edges": row["n_objects"] * row["n_attributes"],
    }
    return {"concept": row["concept"], "stability": row["stability"], **sizes, **shown}
