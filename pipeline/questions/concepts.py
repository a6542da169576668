"""The concept lattice of a context: objects, attributes, and who has what.

Objects are left vertices and attributes right ones. A concept with objects and attributes is a
maximal biclique; those of the top and the bottom that have an empty side are added. Objects without
attributes and attributes without objects count: a table of pairs has none, other forms may.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import InputError, LimitReached
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges, EdgeSource
from bicliq.pipeline.formats.baskets import context_names
from bicliq.pipeline.formats.matrix import matrix_head
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.questions.itemsets import EMPTY, are_lost, least_count, opened_rows, read_rows
from bicliq.pipeline.results.concepts import Concepts, Context
from bicliq.pipeline.results.implications import Implications
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.results import Run

Tell = Callable[[str, int, int], Any]
"""Takes what is made, how much of it is done, and how much there is (0: nobody knows)."""


def find_concepts(
    source: Edges | Context, min_support: float, settings: Settings, tell: Tell | None = None
) -> Concepts:
    """Find the concepts of a context, their cover edges and their stability.

    `source`: as of `find_frequent`, or a context that was read already. `min_support`: share of all
    objects that a concept has, at least; 0: all concepts. `settings`: `ingest`, `search.threads`,
    `search.time_limit` and `data_backend` are used. `tell`: called many times a second. Raises
    InputError at bad input, cells that are counts, or a support that is no share. Raises
    LimitReached when the time is up.
    """
    started = time.perf_counter()
    if isinstance(min_support, bool) or min_support != 0:
        least_count(min_support, None)
    context = source if isinstance(source, Context) else read_context(source, settings)
    min_count = least_count(min_support, context.graph.n_left) if min_support else 0
    read = time.perf_counter()
    threads = kernels.number_of_threads(settings.search.threads)
    graph = context.graph
    lattice = kernels.find_concepts(
        graph.indptr,
        graph.indices,
        graph.n_right,
        min_left=min_count,
        threads=threads,
        until=_until(started, settings, tell),
    )
    if lattice is None:
        raise _limit_reached(settings, "the lattice was whole; raise time_limit or min_support")
    record = {
        "n_objects": graph.n_left,
        "n_attributes": graph.n_right,
        "n_concepts": len(lattice),
        "n_covers": len(lattice.lower),
        "min_support": float(min_support),
        "min_count": min_count,
        "threads": threads,
        "seconds": {"ingest": read - started, "search": time.perf_counter() - read},
        **context.record,
    }
    return Concepts(lattice, context, record)


def find_implications(
    source: Edges | Context, basis: Literal["canonical", "direct"], settings: Settings, tell: Tell | None = None
) -> Implications:
    """Find a basis of the implications between the attributes of a context.

    `source`, `settings`, `tell`: as of `find_concepts`. `basis`: as of `kernels.find_implications`.
    Raises InputError at bad input, cells that are counts, or where there is no such basis. Raises
    LimitReached when the time is up.
    """
    started = time.perf_counter()
    if basis not in ("canonical", "direct"):
        raise InputError(f"basis = {basis!r} is none of canonical, direct")
    context = source if isinstance(source, Context) else read_context(source, settings)
    read, graph = time.perf_counter(), context.graph
    until = _until(started, settings, tell)
    found = kernels.find_implications(graph.indptr, graph.indices, graph.n_right, basis, until)
    if found is None:
        raise _limit_reached(settings, "the basis was whole; raise time_limit, or leave attributes out")
    record = {
        "n_objects": graph.n_left,
        "n_attributes": graph.n_right,
        "n_implications": len(found),
        "basis": basis,
        "seconds": {"ingest": read - started, "search": time.perf_counter() - read},
        **context.record,
    }
    return Implications(found, context, record)


def context_of_run(run: Run) -> Context:
    """Take the context that a run, or a version, was searched in: left vertices are objects.

    Raises InputError where its right vertices are windows of time.
    """
    graph, summary = read_graph(run.graph), run.graph.record().summary
    if summary.in_step is not None:
        raise InputError(f"{run.run}: is of groups in step, whose columns are no attributes; name another run")
    sides = [np.flatnonzero(degrees) for degrees in (graph.left_degrees, graph.right_degrees)]
    left, right = (
        np.searchsorted(kept, ends) for kept, ends in zip(sides, (graph.edge_left, graph.indices), strict=True)
    )
    objects, attributes = (
        labels.take(column_of(kept)) for labels, kept in zip((run.left_ids, run.right_ids), sides, strict=True)
    )
    here = BipartiteGraph.from_edges(left, right, len(objects), len(attributes))
    return Context(here, objects, attributes, {"run": run.run, "columns": summary.columns, **summary.account})


def _until(started: float, settings: Settings, tell: Tell | None) -> Callable[[str, int, int], bool]:
    limit = settings.search.time_limit

    def until(made: str, done: int, n: int) -> bool:
        if tell is not None:
            tell(made, done, n)
        return limit is not None and time.perf_counter() - started > limit

    return until


def _limit_reached(settings: Settings, what: str) -> LimitReached:
    return LimitReached(f"the time limit of {settings.search.time_limit:g} s was reached before {what}")


def read_context(source: Edges, settings: Settings) -> Context:
    """Read a context, with the objects and attributes that have no cross.

    Raises InputError at bad input, or cells that are counts.
    """
    opened, ingest = opened_rows(source, settings.ingest)
    rows, columns = _lone(opened)
    told = bool(len(rows) or len(columns))  # a table of pairs has no objects without one
    table = read_rows(opened, ingest, settings, may_be_empty=told)
    said = table.summary.account
    n_empty = sum(said["noted"].get(name, 0) for name in EMPTY)
    objects = _with_lone(table.left_ids, rows, n_empty)
    attributes = _with_lone(table.right_ids, columns, 0)
    if len(objects) == 0:
        raise InputError(f"{opened.uri}: has no objects; a context has one at least")
    sentences = []
    if objects.null_count:
        sentences.append(
            f"{opened.uri}: objects without attributes are counted ({objects.null_count:,}), but have no name (null)"
        )
    if are_lost(said, ingest, settings):
        sentences.append(
            f"{opened.uri}: an object or attribute that has lost all of its rows to dropped ones is not in the context"
        )
    for sentence in sentences:
        say("assumed", sentence)
    said["assumed"] = [*said["assumed"], *sentences]
    graph = BipartiteGraph.from_edges(table.left, table.right, len(objects), len(attributes))
    form = {"columns": table.summary.columns, "format": table.summary.source.format}
    return Context(graph, objects, attributes, {**form, **said})


def _lone(opened: EdgeSource) -> tuple[Sequence[Any], Sequence[Any]]:
    """Names of objects and attributes that a table tells beside its edges, crossed or not."""
    if opened.format == "cxt":
        return context_names(opened.uri, opened.settings)
    if opened.format == "matrix" and opened.table is None and not opened.parts:
        return (), [*matrix_head(opened.uri, opened.settings).columns.values()]
    return opened.lone


def _with_lone(labels: pa.Array, names: Sequence[Any], n: int) -> pa.Array:
    """Labels, and after them the names that are new; at least n, which have no name then."""
    known = {*map(str, labels.to_pylist())} if names else set()
    new = [str(name) for name in names if str(name) not in known]
    nameless = [None] * max(n - len(new), 0)
    if not new and not nameless:
        return labels
    if pa.types.is_integer(labels.type) and all(name.isdigit() and str(int(name)) == name for name in new):
        return pa.concat_arrays([labels, pa.array([*map(int, new), *nameless], labels.type)])
    return pa.concat_arrays([labels.cast(pa.string()), pa.array([*new, *nameless], pa.string())])
