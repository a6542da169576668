"""Python's own values as tables: baskets as lists and dicts, and columns of values as Arrow."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.cells import looks_like_matrix
from bicliq.pipeline.formats.columns import SAMPLE
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import brief, listed, shown

CELLS = 1000
"""Items of a list that show whether it is one of a matrix."""


def basket_columns(name: str, baskets: Any, settings: IngestSettings) -> tuple[dict[str, list[Any]], list[Any], int]:
    """Columns left and right of baskets, weight where items have numbers, and the empty baskets.

    Also how many of these are missing: None, or NaN.

    `name`, `baskets`: what it is, for messages; a mapping or series by its keys, or a sequence,
    numbered from 0. `settings`: whether they are said to be baskets, and whether one set of
    vertices is meant. Raises InputError where one is no list of items, or all may be edges, rows of
    a table or of a matrix as well.
    """
    by_key = isinstance(baskets, Mapping) or hasattr(baskets, "items")
    given = list(baskets.items() if by_key else enumerate(baskets))
    missing = [_is_missing(items) for _, items in given]
    named = [
        (key, items if isinstance(items, Mapping) else [] if is_missing else _items(name, key, items))
        for (key, items), is_missing in zip(given, missing, strict=True)
    ]
    if settings.format != "baskets":
        refuse_cells(name, [items for _, items in named[:SAMPLE]], "say format = 'baskets'")
    for key, items in named:
        _refuse_nested(name, key, items)
    if by_key:
        _refuse_columns(name, dict(named), settings)
    else:
        _refuse_edges(name, baskets, settings)
    pairs = [(key, item) for key, items in named for item in items]
    columns = {"left": [key for key, _ in pairs], "right": [item for _, item in pairs]}
    have_numbers = [_has_numbers(name, key, items) for key, items in named]
    if any(have_numbers):
        columns["weight"] = [
            _number(items[item]) if has_numbers else 1.0
            for (_, items), has_numbers in zip(named, have_numbers, strict=True)
            for item in items
        ]
    return columns, [key for key, items in named if not len(items)], sum(missing)


def _items(name: str, key: Any, items: Any) -> list[Any]:
    if hasattr(items, "columns"):
        raise InputError(
            f"{name}: basket {shown(key)} is a {type(items).__name__}, whose rows would be lost; give one frame, as with"
            " pandas.concat"
        )
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise InputError(
            f"{name}: basket {shown(key)} is {shown(items)}, and not a list of items; a basket of one item is"
            f" [{shown(items)}]"
        )
    return list(items)


def _refuse_nested(name: str, key: Any, items: Iterable[Any]) -> None:
    nested = next((item for item in items if isinstance(item, list | np.ndarray)), None)
    if nested is not None:
        raise InputError(
            f"{name}: basket {shown(key)} holds {shown(str(nested))}, a list, and items are text or whole numbers; give each"
            " basket as one list of items"
        )


def _refuse_columns(name: str, lists: Mapping[Any, Any], settings: IngestSettings) -> None:
    """Raise an `InputError` where a dict of lists may hold the columns of a table.

    They are of one length then, and are called so, or hold a value twice, as no basket needs to.
    """
    sizes = {len(items) for items in lists.values()}
    if settings.format == "baskets" or len(lists) < 2 or len(sizes) > 1 or sizes <= {0, 1}:
        return
    asked = {settings.left, settings.right} - {None} or {"left", "right"}
    some = [items for items in lists.values() if not isinstance(items, Mapping)]
    if some and (asked <= lists.keys() or any(len(set(map(str, items))) < len(items) for items in some)):
        raise InputError(
            f"{name}: lists of one length, called {listed(list(map(str, lists)))}, may be columns of a table or baskets; give"
            " columns as a frame: pandas.DataFrame(columns), and say format = 'baskets' if they are baskets"
        )


def _refuse_edges(name: str, baskets: Sequence[Any], settings: IngestSettings) -> None:
    """Raise an `InputError` where lists may be edges, or their numbers be vertices."""
    if len(baskets) and settings.format != "baskets" and isinstance(baskets[0], Mapping):
        raise InputError(
            f"{name}: each is a dict, which may be a row of a table or a basket with numbers of its items; give rows as a"
            " frame: pandas.DataFrame(rows), and baskets by name, as in dict(enumerate(baskets))"
        )
    if len(baskets) and settings.format != "baskets" and _may_be_rows(baskets):
        n = len(baskets[0])
        raise InputError(
            f"{name}: each is a {type(baskets[0]).__name__} of {'two' if n == 2 else n}, which may be a basket of"
            f" {'two' if n == 2 else n} items or an edge; say format = 'baskets' if they are baskets, and give edges as a frame:"
            f" pandas.DataFrame(edges, columns=['left', 'right'{', …' if n > 2 else ''}])"
        )
    if settings.sides == "source-target":
        raise InputError(
            f"{name}: the numbers of baskets and what is in them are two sets, and a clique is of one: project a side"
            " (project = 'left' or 'right'), or give neighbours by name, as a dict"
        )


def _may_be_rows(baskets: Sequence[Any]) -> bool:
    """Whether all are lists of two, or several tuples of one length, as rows of a table are."""
    if all(isinstance(items, Sequence | np.ndarray) and len(items) == 2 for items in baskets):
        return True
    tuples = len(baskets) > 1 and all(isinstance(items, tuple) for items in baskets)
    return tuples and len({len(items) for items in baskets}) == 1 and len(baskets[0]) > 2


def _has_numbers(name: str, key: Any, items: Any) -> bool:
    """Whether the items of a basket have numbers, truth values or nothing beside them.

    Dicts of attributes, as networkx has them, are of edges; anything else says not what is one.
    """
    if not isinstance(items, Mapping):
        return False
    values = items.values()
    if all(value is None or isinstance(value, numbers.Real | Decimal | np.bool_) for value in values):
        return len(items) > 0
    if not all(isinstance(value, Mapping) for value in values):
        raise InputError(
            f"{name}: beside the items of basket {shown(key)} stand {shown(str([*islice(values, 3)]))}, and not numbers alone;"
            " give numbers, 0 where it has no such item, or a list of its items alone"
        )
    return False


def refuse_cells(name: str, rows: Sequence[Any], cure: str) -> None:
    """Raise an `InputError` where lists are no items, but cells of the rows of a matrix.

    `name`, `rows`: what it is, for messages; some first lists. `cure`: what to do where they are
    items.
    """
    lists = [[*islice(items, CELLS)] for items in rows if not isinstance(items, Mapping | None)]
    words = [[*map(str, items)] for items in lists]
    truths = any(isinstance(item, bool | np.bool_) for items in lists for item in items)
    if truths or (any(len(set(some)) < len(some) for some in words) and looks_like_matrix(words)):
        raise InputError(
            f"{name}: {shown(str(lists[0]))} looks like a row of a matrix, and not like items; make a frame of the rows, as"
            f" with pandas.DataFrame, and say format = 'matrix'; if they are items, {cure}"
        )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def array_of_values(name: str, column: str, values: Any, place: Callable[[int], str] = "row {}".format) -> Any:
    """A column of Python or pandas values as Arrow; NaN means missing, as in pandas.

    `place`: where a value is, in words. Raises InputError where their types differ, or Arrow has
    none for them.
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
    except UnicodeEncodeError as error:
        lists = (value if isinstance(value, list) else [value] for value in values)
        row = next(row for row, some in enumerate(lists) if error.object in some)
        raise InputError(
            f"{name}, {place(row)}, column {column}: {shown(error.object)} holds half a character (a surrogate of UTF-16), and"
            " is no text; mend it"
        ) from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{name}, {_mixed(column, values, place) or f'column {column}: {brief(error)}'}") from None


def _refuse_tuples(name: str, column: str, values: Any) -> None:
    for row, value in enumerate(values):
        if isinstance(value, tuple | set | frozenset | dict):
            kind = type(value).__name__
            raise InputError(
                f"{name}, row {row}, column {column}: {shown(value)} is a {kind}, and an id is text or a whole number;"
                f" make text of each {kind} with str, or a list where it holds several ids"
            )
        if not _is_missing(value):
            return  # Arrow refuses columns of several types


def _is_missing(value: Any) -> bool:
    """Whether a value stands for none: NaN, and those of pandas."""
    named = type(value).__name__ in ("NoneType", "NAType", "NaTType")
    return named or (isinstance(value, numbers.Number) and bool(value != value))


def _mixed(column: str, values: Any, place: Callable[[int], str]) -> str | None:
    """Where the type of a column changes, in words; None where it does not."""
    first: Any = None
    for row, value in enumerate(values):
        if _is_missing(value):
            continue
        if first is not None and type(value) is not type(first):
            kinds = type(value).__name__, type(first).__name__
            return (
                f"{place(row)}, column {column}: {shown(value)} is of type {kinds[0]}, and those before it are {kinds[1]};"
                f" make them one type, as with str"
            )
        first = value if first is None else first
    return None
