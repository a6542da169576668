"""Small answers: the best groups, and an estimate, in the table library that people know."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from bicliq.pipeline.results.as_table import SHOWN, Answered, AsTable, as_text
from bicliq.pipeline.store.acted import WINDOW

LABELS = {"numbers": pa.int64(), "text": pa.string()}
"""Kinds of labels, as records name them."""


@dataclass(frozen=True, repr=False)
class Groups(Answered, AsTable):
    """The best maximal bicliques by an objective, with their original ids; the best first.

    Parameters
    ----------
    record
        The whole record of `pipeline.questions.find.find_in_table`.

    Examples
    --------
    >>> import bicliq
    >>> shop = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}
    >>> best = bicliq.find(shop, top=2, diverse=True)
    >>> len(best), best.proven
    (2, True)
    >>> best.to_arrow().select(["left", "right", "value", "covered"]).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'left': ['ann', 'bob'], 'right': ['jam', 'tea'], 'value': 4, 'covered': 4},
     {'left': ['ann', 'bob', 'cid'], 'right': ['tea'], 'value': 1, 'covered': 5}]
    """

    record: dict[str, Any]

    def __len__(self) -> int:
        """How many there are: fewer than were asked for where the table has no more."""
        return len(self.record["groups"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each as a dict: left, right, n_left, n_right, value; covered, share, expected."""
        yield from self.record["groups"]

    def __repr__(self) -> str:
        lines = [f"{group['value']:,g}: {group['left']} × {group['right']}" for group in self]
        known = "" if self.proven else ", the best in time: not proven"
        return as_text(f"{len(self):,} groups by {self.record['by']}{known}", lines[:SHOWN])

    @property
    def proven(self) -> bool:
        """Whether there are certainly no better ones; False where a time limit ended the search."""
        return bool(self.record["proven"])

    @property
    def schema(self) -> pa.Schema:
        """Columns: left, right, n_left, n_right, value.

        Perhaps covered, share, expected, p, missing (left and right by pair), windows.
        """
        value = pa.int64() if self.record["by"] in ("edges", "vertices", "balanced") else pa.float64()
        columns = [(side, pa.list_(LABELS[self.record["labels"][side]])) for side in ("left", "right")]
        columns += [("n_left", pa.int32()), ("n_right", pa.int32()), ("value", value)]
        if self.record["diverse"]:
            columns += [("covered", pa.int64()), ("share", pa.float64())]
        if self.record["by"] == "surprise":
            columns += [("expected", pa.float64())]
        if "null" in self.record:
            columns += [("p", pa.float64())]
        if "missing" in self.record:
            pair = [(side, LABELS[self.record["labels"][side]]) for side in ("left", "right")]
            columns += [("missing", pa.list_(pa.struct(pair)))]
        if "in_step" in self.record:
            columns += [("windows", pa.list_(WINDOW))]
        return pa.schema(columns)

    def to_arrow(self) -> pa.Table:
        """Return them as an Arrow table, the best first."""
        return pa.Table.from_pylist(list(map(_as_row, self)), self.schema)


def _as_row(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group whose windows, which records have as text, are times, and its gaps pairs."""
    row = dict(group)
    if "windows" in group:
        row["windows"] = [
            {name: dt.datetime.fromisoformat(text) for name, text in each.items()} for each in group["windows"]
        ]
    if "missing" in group:
        row["missing"] = [{"left": left, "right": right} for left, right in group["missing"]]
    return row


@dataclass(frozen=True)
class Estimate(Answered, AsTable):
    """What a search for maximal bicliques will find and cost; its table says it for thresholds.

    Parameters
    ----------
    bicliques, low, high
        Their number, and where it lies in nine cases of ten.
    ids, bytes
        Ids in their lists, and size of the Parquet files.
    seconds
        Search and writing on this machine's CPU, with the threads asked for.
    exact
        Whether everything was searched; then `low` and `high` are the number itself.
    record
        The whole record of `pipeline.questions.estimate.estimate_table`.

    Examples
    --------
    >>> import bicliq
    >>> expected = bicliq.estimate({"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]})
    >>> expected.bicliques, expected.exact
    (2, True)
    >>> expected.to_arrow().select(["min_left", "min_right", "bicliques"]).to_pylist()[1]
    {'min_left': 1, 'min_right': 2, 'bicliques': 1}
    """

    bicliques: int
    low: int
    high: int
    ids: int
    bytes: int
    seconds: float
    exact: bool
    record: dict[str, Any] = field(repr=False)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: min_left, min_right, bicliques, low, high, ids, bytes."""
        names = ("min_left", "min_right", "bicliques", "low", "high", "ids", "bytes")
        return pa.Table.from_pylist(self.record["thresholds"], pa.schema([(name, pa.int64()) for name in names]))
