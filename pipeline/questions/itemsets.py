"""Frequent itemsets and association rules of baskets.

A basket is a left vertex, its items are its neighbours. A closed itemset with the baskets that hold
it is a maximal biclique, so those of some least support are the bicliques with so many left
vertices; they answer for every other itemset (`kernels.ClosedSets`). A basket without items is one
that every support is a share of, too.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges, EdgeSource, open_edges
from bicliq.pipeline.formats.cells import AS_MATRIX
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.results.itemsets import Frequent
from bicliq.pipeline.settings import IngestSettings, Settings
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from bicliq.pipeline.store.account import account
from bicliq.pipeline.words import shown

EMPTY = ("empty_rows", "empty_lists")
"""What readers call baskets without items (`EdgeBatch.noted`)."""


def find_frequent(source: Edges, min_support: float, settings: Settings) -> Frequent:
    """Find the closed itemsets of baskets.

    Parameters
    ----------
    source
        Path or fsspec URL, or a table in memory (`pipeline.formats.tables`); what looks like a
        table of 0 and 1 is read as one, a row a basket.
    min_support
        Share of the baskets that hold a set, at least.
    settings
        `ingest`, `search.threads` and `data_backend` are used.

    Raises
    ------
    InputError
        At bad input, cells that are counts, or a support that is no share.
    """
    started = time.perf_counter()
    least_count(min_support, None)
    opened, ingest = _opened(source, settings.ingest)
    table = read_edge_table(opened, ingest, backend=settings.data_backend)
    if ingest.weight is not None and settings.ingest.weight is None:
        _refuse_counts(table, opened, ingest)
    said = account(table.summary)
    n_empty = sum(said["noted"].get(name, 0) for name in EMPTY)
    n_baskets = len(table.left_ids) + n_empty
    if said["dropped"]:
        sentence = f"{opened.uri}: a basket that has lost all of its items to dropped rows is not counted as one"
        said["assumed"] = [*said["assumed"], sentence]
        say("assumed", sentence)
    min_count = least_count(min_support, n_baskets)
    graph = bipartite_of(table)
    read = time.perf_counter()
    core = reduce(graph, min_count, 1)
    threads = kernels.number_of_threads(settings.search.threads)
    arrays = core.graph.indptr, core.graph.indices, core.graph.n_right
    closed = kernels.closed_itemsets(*arrays, min_count, threads)
    record = {
        "n_baskets": n_baskets,
        "n_empty": n_empty,
        "n_items": len(table.right_ids),
        "n_frequent_items": core.graph.n_right,
        "n_closed": len(closed),
        "min_support": float(min_support),
        "min_count": min_count,
        "columns": table.summary["columns"],
        "format": table.summary["source"]["format"],
        "threads": threads,
        "seconds": {"ingest": read - started, "search": time.perf_counter() - read},
        **said,
    }
    labels = table.right_ids.take(pa.array(core.right_kept))
    return Frequent(closed, labels, table.right_ids, n_baskets, min_count, graph, table.left_ids, record, ingest.fold)


def least_count(min_support: Any, n_baskets: int | None) -> int:
    """How many of so many baskets have a set whose support reaches a share; None: not known yet.

    Raises
    ------
    InputError
        Where it is no share, or may as well be a count.

    Examples
    --------
    >>> least_count(0.3, 10), least_count(0.5, 7), least_count(1.0, 7)
    (3, 4, 7)
    """
    said = f"min_support = {min_support!r}"
    share = "a share of all baskets, above 0 and at most 1"
    whole = isinstance(min_support, int | np.integer) and not isinstance(min_support, bool)
    if isinstance(min_support, bool) or not isinstance(min_support, int | float | np.integer | np.floating):
        raise InputError(f"{said} is {share}; write a number, as 0.01")
    if math.isnan(min_support) or min_support <= 0:
        raise InputError(f"{said} is not {share}; write 0.01 for one basket in a hundred")
    if n_baskets is None:
        return 1
    if whole and min_support == 1:
        raise InputError(
            f"{said} may be all baskets or one of {n_baskets:,}; write 1.0 for all, {1 / n_baskets} for one"
        )
    if min_support > 1:
        named = f", and {min_support:g} of {n_baskets:,} baskets are {min_support / n_baskets}"
        raise InputError(f"{said} is above 1: it is {share}{named if min_support <= n_baskets else ''}")
    count = max(math.floor(min_support * n_baskets) - 1, 1)
    while count / n_baskets < min_support:
        count += 1
    return count


def _opened(source: Edges, settings: IngestSettings) -> tuple[EdgeSource, IngestSettings]:
    """The table, and how it is read: what looks like one of 0 and 1 as a matrix with its cells."""
    sparse = hasattr(source, "tocoo")
    try:
        settings = _with_cells(settings) if sparse or settings.format == "matrix" else settings
        return open_edges(_named_rows(source, settings), settings), settings
    except InputError as error:
        if settings.format != "auto" or AS_MATRIX not in str(error):
            raise
    settings = _with_cells(settings.model_copy(update={"format": "matrix"}))
    opened = open_edges(_named_rows(source, settings), settings)
    guess = f"{opened.uri}: was taken for a table of 0 and 1, a row a basket (format = 'matrix')"
    return EdgeSource(**{**vars(opened), "assumed": (guess, *opened.assumed)}), settings


def _with_cells(settings: IngestSettings) -> IngestSettings:
    return settings if settings.min_value is not None else settings.model_copy(update={"weight": "weight"})


def _named_rows(source: Any, settings: IngestSettings) -> Any:
    """A pandas frame of a row a basket without an index that names two alike: they are numbered."""
    index = getattr(source, "index", None)
    if settings.format == "matrix" and hasattr(source, "reset_index") and not getattr(index, "is_unique", True):
        return source.reset_index(drop=True)
    return source


def _refuse_counts(table: EdgeTable, opened: EdgeSource, settings: IngestSettings) -> None:
    if table.weight is None or settings.min_value is not None:
        return
    other = np.flatnonzero(table.weight != 1)
    if other.size:
        basket, item = table.left_ids[table.left[other[0]]], table.right_ids[table.right[other[0]]]
        raise InputError(
            f"{opened.uri}, basket {shown(str(basket))}, item {shown(str(item))}: the cell is {table.weight[other[0]]:g}, and"
            " an item is in a basket (1) or not (0); if cells are counts, min_value = 1 takes each of at least 1 as in it"
        )
