"""Frequent itemsets and association rules of baskets.

A basket is a left vertex, its items are its neighbours. A closed itemset with the baskets that hold
it is a maximal biclique, so those of some least support are the bicliques with so many left
vertices; they answer for every other itemset (`kernels.ClosedSets`). A basket without items is one
that every support is a share of, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq import kernels
from bicliq.pipeline.columns import empty_table, values_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges, EdgeSource, open_edges, read_batches
from bicliq.pipeline.formats.cells import AS_MATRIX
from bicliq.pipeline.formats.matrix import ROWS_ARE_NUMBERED
from bicliq.pipeline.graphs.bipartite import read_graph
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.results.itemsets import Frequent, Rules
from bicliq.pipeline.results.itemsets_asked import RulesAsked, SetsAsked, is_number
from bicliq.pipeline.settings import IngestSettings, Settings
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from bicliq.pipeline.store.bicliques import SCHEMA
from bicliq.pipeline.store.choice import EVERYTHING
from bicliq.pipeline.store.results import Run, open_run
from bicliq.pipeline.words import shown

EMPTY = ("empty_rows", "empty_lists", "null_lists")
"""What readers call baskets without items (`EdgeBatch.noted`)."""


OF_LISTS = ("baskets", "gmt")
"""Formats whose lines are lists of items, and no cells."""

FEW = 3
"""Items of the sets that are made without the closed sets of more, at most."""


def find_frequent(source: Edges, min_support: float, settings: Settings, asked: SetsAsked | RulesAsked) -> Frequent:
    """Find the closed itemsets of baskets.

    `source`: path or fsspec URL, or a table in memory (`pipeline.formats.tables`); what looks like
    a table of 0 and 1 is read as one, a row a basket. `min_support`: share of the baskets that hold
    a set, at least. `settings`: `ingest`, `search.threads` and `data_backend` are used.
    `asked`: whether empty baskets are counted, and how many items sets have; of `FEW` or less, the
    closed sets of more are not looked for. Raises InputError at bad input, cells that are counts,
    empty baskets that are not to be counted, or a support that is no share.
    """
    started = time.perf_counter()
    least_count(min_support, None)
    opened, ingest = opened_rows(source, settings.ingest)
    table = read_rows(opened, ingest, settings)
    said = table.summary.account
    n_empty = sum(said["noted"].get(name, 0) for name in EMPTY)
    n_baskets = len(table.left_ids) + n_empty
    if asked.empty == "refuse":
        _refuse_empty(opened, said["noted"], n_baskets)
    if are_lost(said, ingest, settings):
        sentence = f"{opened.uri}: a basket that has lost all of its items to dropped rows is not counted as one"
        said["assumed"] = [*said["assumed"], sentence]
        say("assumed", sentence)
    min_count = least_count(min_support, n_baskets)
    graph = bipartite_of(table)
    read = time.perf_counter()
    core = reduce(graph, min_count, 1)
    threads = kernels.number_of_threads(settings.search.threads)
    arrays = core.graph.indptr, core.graph.indices, core.graph.n_right
    few = asked.most_items if asked.most_items is not None and asked.most_items <= FEW else None
    closed = kernels.closed_itemsets(*arrays, min_count, threads, few)
    record = {
        "n_baskets": n_baskets,
        "n_empty": n_empty,
        "n_items": len(table.right_ids),
        "n_frequent_items": core.graph.n_right,
        "n_closed": len(closed) if few is None else None,
        "min_support": float(min_support),
        "min_count": min_count,
        "source": table.summary.source.uri,
        "columns": table.summary.columns,
        "format": table.summary.source.format,
        "threads": threads,
        "seconds": {"ingest": read - started, "search": time.perf_counter() - read},
        **said,
    }
    labels = table.right_ids.take(pa.array(core.right_kept))
    return Frequent(closed, labels, table.right_ids, n_baskets, min_count, graph, table.left_ids, record, ingest.fold)


def _refuse_empty(opened: EdgeSource, noted: Mapping[str, int], n_baskets: int) -> None:
    """Raise an `InputError` where a list has no items; it is read again to say where it stands.

    A row of cells that are all 0 is a basket without a word: a table of 0 and 1 has a row for each.
    """
    of_lists = EMPTY if opened.format in OF_LISTS else EMPTY[1:]  # else rows are those of cells
    n = sum(noted.get(name, 0) for name in of_lists)
    if not n:
        return
    if len(opened.lone[0]):
        where = f"{opened.uri}, basket {shown(opened.lone[0][0])}"
    else:
        where = next((batch.empty for batch in read_batches(opened) if batch.empty), opened.uri)
    raise InputError(
        f"{where}: the basket is empty ({n:,} of {n_baskets:,} are); leave such baskets out, or count them among those"
        " of which a support is a share with empty = 'count'"
    )


def frequent_in_run(run: Run, min_support: float, asked: SetsAsked | RulesAsked) -> Frequent:
    """Take the closed itemsets of baskets from a run: its bicliques, or those of a version.

    `run`: of baskets as left vertices, without a least number of items or edges. `min_support`: as
    of `find_frequent`; baskets are the left vertices that have an item. Raises InputError where the
    run does not hold all closed itemsets of this support, or empty baskets are to be counted.
    """
    if asked.empty == "count":
        raise InputError(f"empty = 'count': run {run.run} holds no baskets without items; leave it out")
    started = time.perf_counter()
    search, graph = run.folder.asked.search, read_graph(run.graph)
    n_baskets = int(np.count_nonzero(graph.left_degrees))
    min_count = least_count(min_support, n_baskets)
    summary = run.graph.record().summary
    held = search.min_right == search.min_edges == 1 and summary.in_step is None
    if not held or not run.state.complete or search.min_left > min_count:
        least = f", and a support of {search.min_left / n_baskets:.3g} or more" if n_baskets else ""
        raise InputError(
            f"{run.run}: does not hold all itemsets of support {min_support:g}: that takes a complete run of baskets as left"
            f" vertices, with min_right and min_edges 1{least}"
        )
    tables = [table.filter(pc.greater_equal(table["n_left"], min_count)) for table in run.chosen(EVERYTHING)]
    lists = pa.concat_tables(
        [empty_table(SCHEMA).select(["right", "n_left"]), *(t.select(["right", "n_left"]) for t in tables)]
    )
    sets, said = lists["right"].combine_chunks(), summary.account
    if empty := sum(said["noted"].get(name, 0) for name in EMPTY):
        sentence = f"run {run.run}: baskets without items are in no run, so {empty:,} that were read are not counted"
        said["assumed"] = [*said["assumed"], sentence]
        say("assumed", sentence)
    ends = np.concatenate([[0], np.cumsum(values_of(pc.list_value_length(sets)), dtype=np.int64)])
    closed = kernels.ClosedSets(
        ends, values_of(sets.flatten()), values_of(lists["n_left"].combine_chunks()), graph.n_right
    )
    record = {
        "source": f"run {run.run}",
        "run": run.run,
        "n_baskets": n_baskets,
        "n_empty": 0,
        "n_items": graph.n_right,
        "n_closed": len(closed),
        "min_support": float(min_support),
        "min_count": min_count,
        "columns": summary.columns,
        "seconds": {"read": time.perf_counter() - started},
        **said,
    }
    return Frequent(closed, run.right_ids, run.right_ids, n_baskets, min_count, graph, run.left_ids, record, run.fold)


def find_rules(
    source: Edges | None,
    asked: RulesAsked,
    min_support: float,
    settings: Settings,
    run: str | None = None,
    new_since: str | None = None,
    which: Literal["both", "exact", "approximate"] = "both",
) -> Rules:
    """Find the rules of baskets, or of a run of the store.

    `source`, `min_support`, `settings`: as of `find_frequent`; None: the baskets of a run. `run`:
    name of the run, or how it begins; None: the latest. `new_since`: a run whose rules are left
    out; "parent": the one before. Raises InputError where a file and a run are named, or the run
    has no parent or not all itemsets.
    """
    if source is not None:
        if run is not None or new_since is not None:
            raise InputError("run and new_since are for rules of a run of the store; name no file, or leave them out")
        return Rules(find_frequent(source, min_support, settings, asked), asked, which)
    opened, before = open_run(settings.store, run), None
    if new_since is not None:
        parent = opened.folder.asked.parent if new_since == "parent" else new_since
        if parent is None:
            raise InputError(f"{opened.run}: has no parent; name the run whose rules are left out: new_since = 'NAME'")
        older = frequent_in_run(open_run(settings.store, parent), min_support, asked)
        before = Rules(older, replace(asked, antecedents=(), consequents=()), which)
    return Rules(frequent_in_run(opened, min_support, asked), asked, which, before)


def least_count(min_support: Any, n_baskets: int | None) -> int:
    """How many of so many baskets have a set whose support reaches a share; None: not known yet.

    Raises InputError where it is no share, or may as well be a count.

    Examples
    --------
    >>> least_count(0.3, 10), least_count(0.5, 7), least_count(1.0, 7)
    (3, 4, 7)
    """
    said = f"min_support = {min_support!r}"
    share = "a share of all baskets, above 0 and at most 1"
    whole = isinstance(min_support, int | np.integer)
    if not is_number(min_support):
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
    count: int = max(math.floor(min_support * n_baskets) - 1, 1)
    while count / n_baskets < min_support:
        count += 1
    return count


def opened_rows(source: Edges, settings: IngestSettings) -> tuple[EdgeSource, IngestSettings]:
    """Return the table, and how it is read: one of 0 and 1 as a matrix with its cells."""
    sparse = hasattr(source, "tocoo")
    if settings.format == "auto" and _is_one_hot(source):
        settings = _with_cells(settings.model_copy(update={"format": "matrix"}))
        opened = open_edges(_named_rows(source, settings), settings)
        assumed = tuple(said for said in opened.assumed if ROWS_ARE_NUMBERED not in said)
        return replace(opened, assumed=assumed), settings
    try:
        settings = _with_cells(settings) if sparse or settings.format == "matrix" else settings
        return open_edges(_named_rows(source, settings), settings), settings
    except InputError as error:
        if settings.format != "auto" or AS_MATRIX not in str(error):
            raise
    settings = _with_cells(settings.model_copy(update={"format": "matrix"}))
    opened = open_edges(_named_rows(source, settings), settings)
    guess = f"{opened.uri}: was taken for a table of 0 and 1, a row a basket (format = 'matrix')"
    return replace(opened, assumed=(guess, *opened.assumed)), settings


def _is_one_hot(source: Any) -> bool:
    """Whether each column of a frame is of True and False, so that nothing is guessed of it."""
    kinds = getattr(source, "dtypes", getattr(getattr(source, "schema", None), "types", ()))  # a frame's, or Arrow's
    return len(kinds) > 0 and all("bool" in str(kind).lower() for kind in kinds)


def _with_cells(settings: IngestSettings) -> IngestSettings:
    return settings.model_copy(update={"weight": "weight", "min_value": None})


def read_rows(opened: EdgeSource, ingest: IngestSettings, settings: Settings, **how: Any) -> EdgeTable:
    """Read a table as `opened_rows` gives it; cells are 1, or as large as `settings` ask for."""
    table = read_edge_table(opened, ingest, backend=settings.data_backend, **how)
    if not _has_cells(ingest, settings):
        return table
    if settings.ingest.min_value is not None:
        return _of_least_value(table, settings.ingest.min_value)
    _refuse_counts(table, opened)
    return table


def are_lost(said: dict[str, Any], ingest: IngestSettings, settings: Settings) -> bool:
    """Whether rows were dropped that may be all that a vertex had: of a matrix the vertex stays."""
    return bool(said["dropped"].keys() - ({"by_value"} if _has_cells(ingest, settings) else set()))


def _has_cells(ingest: IngestSettings, settings: Settings) -> bool:
    """Whether cells are read as weights, as `opened_rows` reads a matrix."""
    return ingest.weight is not None and settings.ingest.weight is None


def _of_least_value(table: EdgeTable, least: float) -> EdgeTable:
    """Leave out cells below a value; a row that has no other ones stays a basket."""
    assert table.weight is not None
    kept = table.weight >= least
    n = int(np.count_nonzero(kept))
    summary = replace(table.summary, edges=n, dropped_by_value=len(kept) - n)
    return replace(table, left=table.left[kept], right=table.right[kept], weight=None, summary=summary)


def _named_rows(source: Any, settings: IngestSettings) -> Any:
    """A pandas frame of a row a basket without an index that names two alike: they are numbered."""
    index = getattr(source, "index", None)
    if settings.format == "matrix" and hasattr(source, "reset_index") and not getattr(index, "is_unique", True):
        return source.reset_index(drop=True)
    return source


def _refuse_counts(table: EdgeTable, opened: EdgeSource) -> None:
    """Raise an `InputError` where a cell that was read as 0 or 1 is another number."""
    if table.weight is None:
        return
    other = np.flatnonzero(table.weight != 1)
    if other.size:
        basket, item = str(table.left_ids[table.left[other[0]]]), str(table.right_ids[table.right[other[0]]])
        cells = table.weight[table.right == table.right[other[0]]]
        ids = len(np.unique(cells)) == len(cells) > 1
        names = f"; if {shown(item)} names the baskets, say left = {item!r}" if ids else ""
        raise InputError(
            f"{opened.uri}, basket {shown(basket)}, item {shown(item)}: the cell is {table.weight[other[0]]:g}, and an item is"
            f" in a basket (1) or not (0){names}; if cells are counts, min_value = 1 takes each of at least 1 as in it"
        )
