"""The questions: each takes a table of any kind, and gives an answer with the original ids."""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack, overload

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import file_system
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.count import count_run, count_table
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.questions.null import Null
from bicliq.pipeline.results.as_table import Answered
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run

Place = str | os.PathLike[str]
Backend = Literal["auto", "cpu", "cuda"]


class Reading(TypedDict, total=False):
    """How a table is read, and what of it is kept: the fields of `pipeline.IngestSettings`."""

    format: Literal[
        "auto", "csv", "tsv", "parquet", "konect", "snap", "mtx", "adjacency", "matrix", "baskets", "cxt", "gmt",
        "jsonl", "pajek", "dl", "excel", "duckdb",
    ]  # fmt: skip
    left: str | None
    right: str | None
    weight: str | None
    time: str | None
    ids: Literal["auto", "text"]
    delimiter: str | None
    encoding: str | None
    header: bool | None
    quotes: bool
    multiline: bool
    null_values: Iterable[str]
    skip: int
    comment: str | None
    strip: bool
    fold: str | None
    split: str | None
    duplicates: Literal["first", "sum", "max", "error"]
    min_weight: float | None
    min_value: float | None
    since: str | None
    until: str | None
    window: str | None
    window_jump: str
    in_step: str | None
    ragged: Literal["error", "drop"]
    nulls: Literal["error", "drop"]
    self_labels: Literal["keep", "error", "drop"]
    sides: Literal["columns", "source-target"] | None
    sample: float | None


@dataclass(frozen=True)
class Clique(Answered):
    """A maximum clique.

    Parameters
    ----------
    size
        Number of its members.
    members
        Their original ids.
    proven
        Whether no larger one exists; False where a time limit ended the search.
    cliques
        Every maximum clique, where all were asked for.
    record
        The whole record: sizes of the graph, backend, threads, seconds.
    """

    size: int
    members: list[Any]
    proven: bool
    cliques: list[list[Any]] | None
    record: dict[str, Any] = field(repr=False)


def enumerate(
    edges: Edges,
    *,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_bicliques: int | None = None,
    on_limit: Literal["error", "flag"] = "flag",
    store: Place | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> Bicliques:
    """Find every maximal biclique of an edge table.

    Parameters
    ----------
    edges
        A path, glob or URL; a pandas, Polars, Dask or cuDF frame; an Arrow table or stream; a
        DuckDB relation; a SciPy sparse matrix; a networkx graph; a list of baskets, or a dict of
        them.
    min_left, min_right, min_edges
        Least numbers of left vertices, right vertices and edges. High ones make a search fast.
    max_bicliques, on_limit
        Stop after so many: then the answer is not `complete`, or, with "error", there is none.
    store
        A folder or URL that keeps the answer, and lets a search go on where it was stopped. Without
        one the answer lies in this process, compressed, and goes with it.
    backend, threads
        "auto", "cpu" or "cuda", and the threads of the CPU; 0 takes all cores.
    **reading
        How the table is read: ``left`` and ``right`` name the columns, ``min_weight``, ``since``
        and the like drop rows; `help(bicliq.asking.Reading)` lists all.

    Returns
    -------
    Bicliques
        With the original ids; `to_pandas`, `to_polars`, `to_arrow`, `where`, `top`, `page`, `long`.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments: what, where, and what to do.
    LimitReached
        Where `max_bicliques` was reached and `on_limit` is "error".

    Notes
    -----
    There can be exponentially many: try ``sample=0.01`` or thresholds first.

    Examples
    --------
    >>> import bicliq
    >>> groups = bicliq.enumerate([["jam", "tea"], ["jam", "tea"], ["tea"]])
    >>> groups.top(2).select(["left", "right"]).to_pylist()
    [{'left': [0, 1], 'right': ['jam', 'tea']}, {'left': [0, 1, 2], 'right': ['tea']}]
    """
    search = {
        "min_left": min_left,
        "min_right": min_right,
        "min_edges": min_edges,
        "max_bicliques": max_bicliques,
        "on_limit": on_limit,
        "backend": backend,
        "threads": threads,
    }
    if store is not None:
        settings = load_settings(store=store, ingest=read_as(reading), search=search)
        return Bicliques(open_run(settings.store, run(edges, settings).run))
    return _in_memory(edges, load_settings(ingest=read_as(reading), search=search))


def _in_memory(edges: Edges, settings: Settings) -> Bicliques:
    """Run in a store of this process, which is emptied when its answer is no longer used."""
    store = f"memory://bicliq-{uuid.uuid4().hex}"
    here = settings.cluster.model_copy(update={"local": True, "scheduler": None, "workers": None})
    try:
        found = open_run(store, run(edges, settings.model_copy(update={"store": store, "cluster": here})).run)
    except BaseException:
        _forget(store)
        raise
    weakref.finalize(found, _forget, store)
    return Bicliques(found)


def _forget(store: str) -> None:
    """Empty a store in memory."""
    system, path = file_system(store)
    if system.exists(path):
        system.rm(path, recursive=True)


@overload
def count(
    edges: Edges,
    p: int,
    q: int,
    *,
    up_to: Literal[False] = False,
    store: Place | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> int: ...
@overload
def count(
    edges: Edges,
    p: int,
    q: int,
    *,
    up_to: Literal[True],
    store: Place | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> dict[tuple[int, int], int]: ...
@overload
def count(
    edges: Edges,
    p: int,
    q: int,
    *,
    up_to: bool = False,
    null: int,
    seed: int = 0,
    time_limit: float | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> dict[tuple[int, int], dict[str, Any]]: ...
def count(
    edges: Edges,
    p: int,
    q: int,
    *,
    up_to: bool = False,
    store: Place | None = None,
    null: int = 0,
    seed: int = 0,
    time_limit: float | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> int | dict[tuple[int, int], Any]:
    """Count the complete p × q subgraphs of an edge table exactly.

    Parameters
    ----------
    edges
        As in `enumerate`.
    p, q
        Numbers of left and of right vertices.
    up_to
        Whether every size up to p × q is counted, in one pass.
    store
        A folder or URL where the count is kept, partition by partition; None: in memory.
    null, seed, time_limit
        Count so many random tables of the same degrees, too, from this seed on, for so many seconds
        at most (docs/surprise.md).
    backend, threads
        As in `enumerate`.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    int, or with `up_to` a dict of counts by (p, q)
        Of any size: Python's integers do not wrap. With `null` a dict by (p, q) of dicts: count;
        mean, of the random tables, as text; z, by how many of their standard deviations the count
        is above it; and p, the share of tables, this one among them, that have as many.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.

    Examples
    --------
    >>> import bicliq
    >>> shop = [["jam", "tea"], ["jam", "tea"], ["tea"]]
    >>> bicliq.count(shop, 2, 1), bicliq.count(shop, 2, 2, up_to=True)
    (4, {(1, 1): 5, (1, 2): 2, (2, 1): 4, (2, 2): 1})
    >>> bicliq.count(shop, 2, 1, null=9)  # degrees say it all
    {(2, 1): {'count': 4, 'mean': '4', 'z': None, 'p': 1.0}}
    """
    asked = CountAsked(p, q, all_sizes=up_to)
    search = {"backend": backend, "threads": threads}
    if null or seed or time_limit is not None:
        if store is not None or not null:
            raise InputError("seed and time_limit are for null, random tables beside a count in memory, without store")
        settings = load_settings(ingest=read_as(reading), search=search)
        record = count_table(edges, asked, settings, Null(null, seed, time_limit, threads)).record()
        return {(row["p"], row["q"]): {"count": int(row["count"]), **row["random"]} for row in record["counts"]}
    if store is None:
        counts = count_table(edges, asked, load_settings(ingest=read_as(reading), search=search)).counts
    else:
        counts = count_run(edges, asked, load_settings(store=store, ingest=read_as(reading), search=search)).counts
    return {size: int(n) for size, n in counts.items()} if up_to else int(counts[p, q])


def clique(
    edges: Edges,
    *,
    project: Literal["left", "right"] | None = None,
    min_shared: int = 1,
    all: bool = False,
    time_limit: float | None = None,
    store: Place | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> Clique:
    """Find a maximum clique of an undirected graph, or of one side of a bipartite table.

    Parameters
    ----------
    edges
        As in `enumerate`; also a DIMACS or MatrixMarket file, and any networkx graph. Direction and
        repetition mean nothing, unless one side is projected.
    project, min_shared
        The side whose vertices are tied where they share so many vertices of the other side; None:
        the edges are those of the graph.
    all
        Whether every maximum clique is wanted.
    time_limit
        Seconds, after which the best so far is given, not proven.
    store
        A folder or URL where the answer is kept, and found again.
    backend, threads
        As in `enumerate`.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Clique

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.

    Examples
    --------
    >>> import bicliq
    >>> friends = {"ann": ["bob", "cid"], "bob": ["cid"], "cid": ["dan"]}
    >>> bicliq.clique(friends)
    Clique(size=3, members=['ann', 'bob', 'cid'], proven=True, cliques=None)
    """
    settings = load_settings(ingest=read_as(reading), search={"backend": backend, "threads": threads})
    record = answer(
        edges,
        CliqueQuestion(project, min_shared, all, time_limit),
        settings.ingest,
        store=None if store is None else Store.open(store),
        threads=settings.search.threads,
        backend=settings.search.backend,
        data_backend=settings.data_backend,
    )
    return Clique(record["size"], record["members"], record["proven"], record.get("cliques"), record)


def read_as(reading: Reading) -> dict[str, Any]:
    """Settings of ingest, without those that were left to the environment and the settings file."""
    return {name: value for name, value in reading.items() if value is not None}
