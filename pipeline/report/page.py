"""The page: one file of HTML with its style, its pictures and its script inside."""

from __future__ import annotations

import json
import os
from html import escape
from importlib.resources import files
from typing import Any

import fsspec

from pipeline.errors import InputError, StorageError
from pipeline.report import sections
from pipeline.report.facts import Facts, gather
from pipeline.store.results import Run


def write_report(run: Run, path: str | os.PathLike[str] | None = None, *, overwrite: bool = True) -> str:
    """Write the report of a published run as one page of HTML.

    Parameters
    ----------
    run
        The run.
    path
        Path or fsspec URL; by default reports/<run>.html in the store.
    overwrite
        Whether a file that is there is replaced.

    Returns
    -------
    str
        Where it is.

    Raises
    ------
    InputError
        Where the file is there already, and shall not be replaced.
    StorageError
        Where the run is not published, is damaged, or the page cannot be written.
    """
    place = f"{run.store.uri}/reports/{run.run}.html" if path is None else os.fspath(path)
    system, target = fsspec.core.url_to_fs(place)
    if not overwrite and system.exists(target):
        raise InputError(f"{place}: is there already; name another file, or overwrite it")
    text = page(gather(run))
    try:
        system.makedirs(system._parent(target), exist_ok=True)
        with system.open(target, "wb") as file:
            file.write(text.encode())
    except OSError as error:
        raise StorageError(f"{place}: cannot be written: {error}; check the folder and the space") from error
    return place


def page(facts: Facts) -> str:
    """Return the page of a run; every label is escaped."""
    room = files("pipeline.report")
    style, script = (room.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    name = sections.name_of(facts)
    found = f"{facts.manifest.bicliques:,} maximal biclique{'' if facts.manifest.bicliques == 1 else 's'}"
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(found)} of {escape(name)}</title><style>{style}</style></head><body><main>",
            sections.head(facts, name, found),
            sections.what_went_in(facts),
            sections.groups_that_matter(facts),
            sections.groups_to_look_through(facts),
            sections.what_changed(facts),
            sections.shapes(facts),
            sections.expected_and_found(facts),
            sections.time_and_machine(facts),
            f'</main><script type="application/json" id="data">{_json(facts.groups.rows)}</script>',
            f"<script>{script}</script></body></html>\n",
        ]
    )


def _json(rows: list[dict[str, Any]]) -> str:
    """JSON that ends no script: no label can close the element that it stands in."""
    return json.dumps(rows, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")
