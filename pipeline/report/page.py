"""The page of a run: its sections, in the frame that all reports share."""

from __future__ import annotations

import os

import fsspec

from bicliq.pipeline.report import sections
from bicliq.pipeline.report.answers import count_page
from bicliq.pipeline.report.facts import Facts, gather
from bicliq.pipeline.report.frame import framed, place_of, write_page
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import Run


def write_report(run: Run, path: str | os.PathLike[str] | None = None, *, overwrite: bool = True) -> str:
    """Write the report of a published run, or of the counts of one, as one page of HTML.

    `path`: path or fsspec URL; by default reports/<run>.html in the store. `overwrite`: whether a
    file that is there is replaced. Raises InputError where the file is there already, and shall not
    be replaced. Raises StorageError where the run is not published, is damaged, or the page cannot
    be written.
    """
    place = place_of(run.store, run.run) if path is None else path
    return write_page(place, lambda: _text(run), overwrite=overwrite)


def has_report(store: str, run: str) -> bool:
    """Whether a store has the page of a run."""
    system, path = fsspec.core.url_to_fs(place_of(Store.at(store), run))
    return bool(system.exists(path))


def _text(run: Run) -> str:
    return count_page(run) if run.state.name == "count" else page(gather(run))


def page(facts: Facts) -> str:
    """Return the page of a run; every label is escaped."""
    name = sections.name_of(facts)
    ending = "" if facts.manifest.bicliques == 1 else "s"
    what = f"maximal biclique{ending}" if facts.in_step is None else f"group{ending} in step"
    found = f"{facts.manifest.bicliques:,} {what}"
    parts = [
        sections.head(facts, name, found),
        sections.what_went_in(facts),
        sections.groups_that_matter(facts),
        sections.groups_to_look_through(facts),
        sections.what_changed(facts),
        sections.shapes(facts),
        sections.expected_and_found(facts),
        sections.time_and_machine(facts),
    ]
    return framed(f"{found} of {name}", parts, facts.groups.rows)
