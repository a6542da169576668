"""The frame of a report: one file of HTML with its style, its pictures and its script inside."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Literal

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import new_file, written
from bicliq.pipeline.store.layout import Store

DOCTYPE = b"<!doctype html>"


def framed(title: str, parts: Iterable[str], rows: Sequence[dict[str, Any]] | None = None) -> str:
    """Return a page.

    `title`: its title, as text. `parts`: its sections, as HTML. `rows`: what the page's script
    fills the table of groups with; None: no section has that table.
    """
    room = files("bicliq.pipeline.report")
    style, script = (room.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    data = "" if rows is None else f'<script type="application/json" id="data">{_json(rows)}</script>'
    filled = f"{data}<script>{script}</script>" if data else ""
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body><main>",
            *parts,
            f"</main>{filled}</body></html>\n",
        ]
    )


def place_of(store: Store, name: str) -> str:
    """Return where a store keeps the page of a run or an answer."""
    return f"{store.uri}/reports/{name}.html"


def page_place(place: str) -> str:
    """Return where a page may be written; InputError where it would replace something else."""
    if not place.lower().endswith((".html", ".htm")):
        raise InputError(f"{place}: a report is a page of HTML; name it so, as in report.html")
    system, target = new_file(place, overwrite=True)
    with written(place):
        there = system.isfile(target) and system.size(target)
        if there and system.cat_file(target, 0, len(DOCTYPE)).lower() != DOCTYPE:
            raise InputError(f"{place}: is there already, and no page of HTML; name another file")
    return place


def write_page(place: str | os.PathLike[str], text: Callable[[], str], *, overwrite: bool | Literal["pages"]) -> str:
    """Write a page to a path or fsspec URL, and return the place.

    Raises InputError where the file is there already, and shall not be replaced (with "pages":
    where it is none); then no text is made. Raises StorageError where it cannot be written.
    """
    place = os.fspath(place)
    if overwrite == "pages":
        page_place(place)
    system, target = new_file(place, overwrite=bool(overwrite))
    content = text().encode()
    with written(place):
        system.makedirs(system._parent(target), exist_ok=True)
        with system.open(target, "wb") as file:
            file.write(content)
    return place


def _json(rows: Sequence[dict[str, Any]]) -> str:
    """JSON that ends no script: no label can close the element that it stands in."""
    return json.dumps(list(rows), ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")
