"""Questions about contexts: their concepts, in which order these are, and what implies what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Unpack

from bicliq.asking import Reading, read_as
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.questions.concepts import context_of_run, find_concepts, find_implications
from bicliq.pipeline.questions.scaling import scale_table
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.results.concepts import Concepts, Context
from bicliq.pipeline.results.implications import Implications
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.choice import EVERYTHING


def concepts(
    context: Edges | Context | Bicliques,
    min_support: float = 0.0,
    *,
    threads: int = 0,
    time_limit: float | None = None,
    **reading: Unpack[Reading],
) -> Concepts:
    """Find the concepts of a context and their order: its concept lattice.

    Parameters
    ----------
    context
        All that `itemsets` takes: left vertices are objects, right ones attributes; what `scale`
        gives; or a run that `open` gives: the table that it was searched in.
    min_support
        A concept has at least this share of all objects, those without attributes included; 0: all
        concepts, those with an empty side included.
    threads
        As in `enumerate`.
    time_limit
        Seconds after which the search ends with an error.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Concepts
        With `edges`, `top`, `where`, `of`, `lower`, `upper`, `to_arrow`, `to_pandas`, `batches`.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.
    LimitReached
        When the time is up.

    Examples
    --------
    >>> import bicliq
    >>> birds = {"duck": ["flies", "swims"], "owl": ["flies", "hunts"], "hen": []}
    >>> found = bicliq.concepts(birds)
    >>> found.to_arrow().select(["intent", "n_objects", "stability"]).to_pylist()[:2]
    [{'intent': [], 'n_objects': 3, 'stability': 1}, {'intent': ['flies'], 'n_objects': 2, 'stability': 1}]
    >>> found.edges.to_pylist()[0]
    {'lower': 1, 'upper': 0}
    """
    search = {"threads": threads, "time_limit": time_limit}
    return find_concepts(_taken(context, reading), min_support, load_settings(ingest=read_as(reading), search=search))


def implications(
    context: Edges | Context | Bicliques,
    basis: Literal["canonical", "direct"] = "canonical",
    *,
    time_limit: float | None = None,
    **reading: Unpack[Reading],
) -> Implications:
    """Find a basis of the implications between the attributes of a context.

    Parameters
    ----------
    context
        As in `concepts`.
    basis
        "canonical": that of Duquenne and Guigues, than which none is shorter. "direct": the
        canonical direct one, from which a closure follows in one pass.
    time_limit
        Seconds after which the search ends with an error.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Implications
        With columns premise, conclusion (without the premise), count (of objects) and support.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.
    LimitReached
        When the time is up.

    Examples
    --------
    >>> import bicliq
    >>> found = bicliq.implications({"duck": ["flies", "swims"], "owl": ["flies"]})
    >>> [(row["premise"], row["conclusion"], row["count"]) for row in found]
    [([], ['flies'], 2)]
    """
    settings = load_settings(ingest=read_as(reading), search={"time_limit": time_limit})
    return find_implications(_taken(context, reading), basis, settings)


def _taken(context: Edges | Context | Bicliques, reading: Reading) -> Edges | Context:
    if not isinstance(context, Bicliques):
        return context
    if reading or context.choice != EVERYTHING:
        raise InputError("context: a run was read already, and is taken whole; give no where and no options of reading")
    return context_of_run(context.run)


def scale(table: Any, scales: Mapping[str, str] | None = None, **reading: Unpack[Reading]) -> Context:
    """Make a context of a table whose columns hold categories and numbers.

    Parameters
    ----------
    table
        A frame, or the path of a CSV, TSV or Parquet file.
    scales
        By columns: "nominal" (``city=Oslo``), "ordinal" (``age>=30``), "interordinal" (``age<30``
        as well) or "none"; behind the ordinal ones "/4" for parts of as many rows, ":18,65" for
        where they are cut. Others are scaled by what they hold, which `account` tells.
    **reading
        How a file is read, as in `enumerate`; ``left`` names the column of the objects' names.

    Returns
    -------
    Context
        What `concepts` and `implications` take.

    Raises
    ------
    InputError
        Where a scale does not fit its column, or names would become one.

    Examples
    --------
    >>> import bicliq, pandas as pd
    >>> people = pd.DataFrame({"age": [17, 30, 52], "city": ["Oslo", "Bergen", "Oslo"]}, index=["ann", "bob", "cid"])
    >>> context = bicliq.scale(people, {"age": "ordinal:18,50"})
    >>> context.attributes.to_pylist()
    ['age>=18', 'age>=50', 'city=Bergen', 'city=Oslo']
    >>> bicliq.concepts(context).of("age>=50").to_arrow()["extent"].to_pylist()
    [['cid'], []]
    """
    return scale_table(table, scales or {}, load_settings(ingest=read_as(reading)).ingest)
