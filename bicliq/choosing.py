"""The questions that need no list of all: which groups are the best, and how many there will be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Unpack

from bicliq.asking import Place, Reading, read_as
from bicliq.pipeline.arguments import check_whole
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.questions.estimate import estimate_table
from bicliq.pipeline.questions.find import FindAsked, find_in_table
from bicliq.pipeline.results.answers import Estimate, Groups
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.words import listed, shown

BY = ("edges", "vertices", "balanced", "weight", "surprise")


def find(
    edges: Edges,
    *,
    top: int = 20,
    by: Literal["edges", "vertices", "balanced", "weight", "surprise"] = "edges",
    diverse: bool = False,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_left: int | None = None,
    max_right: int | None = None,
    containing: Iterable[Any] = (),
    within: Iterable[Any] | None = None,
    max_left_degree: int | None = None,
    max_right_degree: int | None = None,
    min_surprise: float | None = None,
    left_weights: Mapping[Any, float] | Place | None = None,
    right_weights: Mapping[Any, float] | Place | None = None,
    time_limit: float | None = None,
    null: int = 0,
    seed: int = 0,
    missing: int = 0,
    missing_each: int | None = None,
    threads: int = 0,
    **reading: Unpack[Reading],
) -> Groups:
    """Find the best maximal bicliques of an edge table, without a list of all.

    Parameters
    ----------
    edges
        As in `enumerate`.
    top
        How many.
    by
        What is good: many *edges* or *vertices*, *balanced* sides, *weight* of the members, or
        *surprise*: how far the block is beyond what chance gives, in nats (docs/surprise.md).
    diverse
        Whether each next group is the one that adds most edges, or surprise, to those before it.
    min_left, min_right, min_edges, max_left, max_right
        Sizes of the groups.
    containing
        Labels that every group has.
    within
        Labels: groups have no others of the sides that these are of.
    max_left_degree, max_right_degree
        Vertices with more edges are left out.
    min_surprise
        Least surprise, with ``by="surprise"``; by default whatever is above 0.
    left_weights, right_weights
        A dict of weights by label, or a file of LABEL,WEIGHT lines, with ``by="weight"``; without
        them edges have the weights of the column ``weight``.
    time_limit
        Seconds, after which the best so far are given, not proven; by surprise 60, unless given.
    null, seed
        Ask so many random tables of the same degrees, too, from this seed on: each group then has
        ``p``, the share of tables whose best group reaches it (docs/surprise.md).
    missing, missing_each
        Groups with gaps: so many pairs of a group may be missing, in all, and of one member (by
        default as many). Each group has ``missing``, the pairs that it misses (docs/gaps.md).
    threads
        As in `enumerate`.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Groups
        With the original ids; iterate over it, or take `to_pandas`, `to_polars`, `to_arrow`.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.

    Examples
    --------
    >>> import bicliq
    >>> best = bicliq.find([["jam", "tea"], ["jam", "tea"], ["tea"]], top=1, by="vertices")
    >>> [(group["left"], group["right"], group["value"]) for group in best]
    [([0, 1], ['jam', 'tea'], 4)]
    """
    if by not in BY:
        raise InputError(f"by is {by!r}; it must be one of {listed(BY)}")
    check_whole("top", top, 1, "it says how many are found")
    asked = FindAsked(
        top=top,
        by=by,
        max_left=max_left,
        max_right=max_right,
        containing=_labels("containing", containing),
        within=None if within is None else _labels("within", within),
        max_left_degree=max_left_degree,
        max_right_degree=max_right_degree,
        min_surprise=min_surprise,
        left_weights=_weights(left_weights),
        right_weights=_weights(right_weights),
        diverse=diverse,
        time_limit=time_limit,
        null=null,
        seed=seed,
        missing=missing,
        missing_each=missing_each,
    )
    search = {"min_left": min_left, "min_right": min_right, "min_edges": min_edges, "threads": threads}
    return Groups(find_in_table(edges, asked, load_settings(ingest=read_as(reading), search=search)))


def _labels(name: str, given: Iterable[Any]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{name} = {shown(given)} is one label, and a list is asked for: [{shown(given)}]")
    return tuple(map(str, given))


def _weights(of: Mapping[Any, float] | Place | None) -> Mapping[Any, float] | str | None:
    if not isinstance(of, Mapping | str | os.PathLike | None):
        raise InputError(f"left_weights, right_weights: {shown(of)} is neither a dict by label nor a file; give one")
    return of if of is None or isinstance(of, Mapping) else os.fspath(of)


def estimate(
    edges: Edges,
    *,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    seed: int = 0,
    threads: int = 0,
    **reading: Unpack[Reading],
) -> Estimate:
    """Estimate in about a second what `enumerate` would find and cost.

    Parameters
    ----------
    edges
        As in `enumerate`.
    min_left, min_right, min_edges
        As in `enumerate`.
    seed
        Of the sample; the same gives the same numbers.
    threads
        As in `enumerate`.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Estimate
        With an interval; `to_pandas` and the like give the numbers for other thresholds.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.

    Examples
    --------
    >>> import bicliq
    >>> bicliq.estimate([["jam", "tea"], ["jam", "tea"], ["tea"]], min_left=3).bicliques
    1
    """
    search = {"min_left": min_left, "min_right": min_right, "min_edges": min_edges, "threads": threads}
    record = estimate_table(edges, load_settings(ingest=read_as(reading), search=search), seed)
    numbers = {name: record[name] for name in ("bicliques", "low", "high", "ids", "bytes", "exact")}
    return Estimate(seconds=record["seconds"]["search"] + record["seconds"]["write"], record=record, **numbers)
