"""Python's own values as tables: baskets as lists and dicts, and columns of values as Arrow."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import brief, shown


def basket_columns(name: str, baskets: Any, settings: IngestSettings) -> dict[str, list[Any]]:
    """Columns left and right of baskets, and weight where the items have numbers of their own.

    Parameters
    ----------
    name, baskets
        What it is, for messages; a mapping or series by its keys, or a sequence, numbered from 0.
    settings
        Whether they are said to be baskets, and whether one set of vertices is meant.

    Raises
    ------
    InputError
        Where one is no list of items, or all may be edges as well.
    """
    by_key = isinstance(baskets, Mapping) or hasattr(baskets, "items")
    named = [
        (key, items if isinstance(items, Mapping) else _items(name, key, items))
        for key, items in (baskets.items() if by_key else enumerate(baskets))
    ]
    if not by_key:
        _refuse_edges(name, baskets, settings)
    pairs = [(key, item) for key, items in named for item in items]
    columns = {"left": [key for key, _ in pairs], "right": [item for _, item in pairs]}
    if any(_has_numbers(items) for _, items in named):
        columns["weight"] = [
            _number(items[item]) if _has_numbers(items) else 1.0 for _, items in named for item in items
        ]
    return columns


def _items(name: str, key: Any, items: Any) -> list[Any]:
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(
            f"{name}: basket {shown(key)} is {shown(items)}, and not a list of items; a basket of one item is"
            f" [{shown(items)}]"
        )
    return list(items)


def _refuse_edges(name: str, baskets: Sequence[Any], settings: IngestSettings) -> None:
    """Raise an `InputError` where lists may be edges, or their numbers be vertices."""
    if len(baskets) and settings.format != "baskets" and all(_is_pair(items) for items in baskets):
        raise InputError(
            f"{name}: each is a {type(baskets[0]).__name__} of two, which may be a basket of two items or an edge; say"
            " format = 'baskets' if they are baskets, and give edges as a frame: pandas.DataFrame(edges,"
            " columns=['left', 'right'])"
        )
    if settings.sides == "source-target":
        raise InputError(
            f"{name}: the numbers of baskets and what is in them are two sets, and a clique is of one: project a side"
            " (project = 'left' or 'right'), or give neighbours by name, as a dict"
        )


def _is_pair(items: Any) -> bool:
    return isinstance(items, Sequence | np.ndarray) and len(items) == 2


def _has_numbers(items: Any) -> bool:
    """Whether the items of a basket have numbers, truth values or nothing beside them."""
    return (
        isinstance(items, Mapping)
        and len(items) > 0
        and all(value is None or isinstance(value, numbers.Real | np.bool_) for value in items.values())
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def array_of_values(name: str, column: str, values: Any) -> Any:
    """A column of Python or pandas values as Arrow; NaN means missing, as in pandas.

    Raises
    ------
    InputError
        Where their types differ, or Arrow has none for them.
    """
    if str(getattr(values, "dtype", "")).startswith("Sparse["):
        values = values.sparse.to_dense()
    if str(getattr(values, "dtype", "object")) == "object":
        _refuse_tuples(name, column, values)
    try:
        return pa.array(values, from_pandas=True)
    except OverflowError:
        raise InputError(
            f"{name}, column {column}: a whole number is beyond 64 bits; make text of all, as with str"
        ) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{name}, {_mixed(column, values) or f'column {column}: {brief(error)}'}") from None


def _refuse_tuples(name: str, column: str, values: Any) -> None:
    for row, value in enumerate(values):
        if isinstance(value, tuple | set | frozenset | dict):
            kind = type(value).__name__
            raise InputError(
                f"{name}, row {row}, column {column}: {shown(value)} is a {kind}, and an id is text or a whole number;"
                f" make text of each {kind} with str, or a list where it holds several ids"
            )
        if value is not None and value == value:
            return  # Arrow refuses columns of several types


def _mixed(column: str, values: Any) -> str | None:
    """Where the type of a column changes, in words; None where it does not."""
    first: Any = None
    for row, value in enumerate(values):
        if value is None or value != value:  # NaN is missing
            continue
        if first is not None and type(value) is not type(first):
            kinds = type(value).__name__, type(first).__name__
            return (
                f"row {row}, column {column}: {shown(value)} is of type {kinds[0]}, and those before it are {kinds[1]};"
                f" make them one type, as with str"
            )
        first = value if first is None else first
    return None
