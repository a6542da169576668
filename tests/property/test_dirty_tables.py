"""Tables as people have them: every row is an edge, a repetition or a counted drop, for every
command, and what was taken for granted is said; or it is refused in one sentence."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bicliq
from bicliq.pipeline.questions.count import count_table
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.settings import load_settings

Account = dict[str, Any]

PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress,
                                               ".xz": lzma.compress}  # fmt: skip

ANN = ["ann", "bob", "Ann ", " cid", "jam", "Jam", "tea", "Ünï", "Üni\u0308", 'say "hi"', "=1+1", "o'neill"]
ODD = ["", " ", "NA", "nan", "NULL", "7", "007", "1.0", "-3", "#x", "%", "@a", "a;b", "['x', 'y']", "[]", "a|b", "True",
       "2026-01-01", "sep=;", "// x", "😀", "\u00a0"]  # fmt: skip

words = st.one_of(st.sampled_from(ANN), st.sampled_from(ODD))
plain = st.sampled_from(ANN[:7])
numbers = st.sampled_from(["0", "1", "2", "3", "12", " 4", ""])


@dataclass
class Table:
    """A table as it is written, or as it is held in memory."""

    source: Any
    """What is asked of: what is written, or the object."""

    asked: dict[str, Any]
    rows: int | None
    """Rows, with names of columns and comments; None: its fields are taken apart."""

    name: str = ""
    """Of the file; none of what is in memory."""

    told: int = 0
    """Lines of names that were asked for."""

    cells: bool = False
    """Whether its rows are cells or items, several a line."""

    def put(self, folder: Path) -> Any:
        """The source, written to a new folder where it is a file."""
        if not self.name:
            return self.source
        path = folder / uuid.uuid4().hex / self.name
        path.parent.mkdir()
        path.write_bytes(self.source)
        return path


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Policies; most of the time those that let a dirty table pass."""
    asked: dict[str, Any] = {"nulls": draw(st.sampled_from(["drop", "drop", "drop", "error"]))}
    for name, values in {"strip": [False], "fold": ["case", "case,unicode"], "ids": ["text"],
                         "self_labels": ["drop"], "sample": [0.5]}.items():  # fmt: skip
        if draw(st.integers(0, 4)) == 0:
            asked[name] = draw(st.sampled_from(values))
    return asked


@st.composite
def files(draw: st.DrawFn, lines: list[str], ends: list[str]) -> tuple[bytes, str, dict[str, Any]]:
    """The bytes of a text, its name, and how its encoding is asked for."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(lines) + (end if draw(st.booleans()) else "")
    packed = draw(st.sampled_from(["", "", *PACKED]))
    asked = {"encoding": encoding} if encoding in ("latin-1", "utf-16") and draw(st.integers(0, 4)) else {}
    return PACKED[packed](text.encode(encoding, "replace")), f"t{draw(st.sampled_from(ends))}{packed}", asked


def cut(rows: list[list[str]], delimiter: str, quoting: int) -> list[str]:
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
    return held.getvalue().split("\n")[:-1]


@st.composite
def edge_files(draw: st.DrawFn) -> Table:
    """Delimited text: names or none, comments, quotes, missing words, ragged and repeated rows."""
    asked = draw(options())
    sides = draw(st.tuples(*[st.sampled_from([words, plain, plain, numbers])] * 2))
    more = draw(st.integers(0, 1))
    row = st.tuples(*sides, *[plain] * more).map(list)
    rows = draw(st.lists(row, min_size=1, max_size=8))
    rows += draw(st.lists(st.sampled_from(rows), max_size=3))
    if draw(st.integers(0, 3)) == 0:
        asked["ragged"] = "drop"
        rows.insert(draw(st.integers(1, len(rows))), ["one"])
    delimiter = draw(st.sampled_from(",;\t|"))
    named = draw(st.booleans())
    body = cut([["user", "item", "x"][: 2 + more], *rows] if named else rows, delimiter,
               draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])))  # fmt: skip
    if draw(st.integers(0, 3)) == 0:
        asked["comment"] = "!"
        body.insert(draw(st.integers(0, len(body))), "! a, b")
    top = draw(st.lists(st.sampled_from(["# made by x", "% 3", "// of today"]), max_size=2))
    told = 0
    how = draw(st.sampled_from(["names", "numbers", "header", "nothing", "nothing"]))
    if how == "names" and named:
        asked |= {"left": "user", "right": "item"}
        told = 1
    elif how == "numbers" or (how == "nothing" and more):
        asked |= {"left": "0", "right": "1"}
    elif how == "header":
        asked["header"] = named
        told = int(named)
    if draw(st.integers(0, 3)) == 0 and delimiter != ";":
        asked["split"] = ";"
    data, name, encoding = draw(files([*top, *body], [".csv", ".txt", ".tsv" if delimiter == "\t" else ".csv"]))
    lines = len(top) + sum(bool(line.strip()) for line in body)
    return Table(data, asked | encoding, None if "split" in asked else lines, name, told)


@st.composite
def matrices(draw: st.DrawFn) -> Table:
    """Cells: counts, marks or truth values, with names of rows and columns."""
    no, *yes = draw(st.sampled_from([("0", "1"), ("0", "1", "2.5"), ("", "X"), ("False", "True"), ("", "1")]))
    n, m = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    cells = draw(st.lists(st.lists(st.sampled_from([no, *yes]), min_size=m, max_size=m), min_size=n, max_size=n))
    full = sum(cell != no for row in cells for cell in row)
    asked: dict[str, Any] = {"format": "matrix"}
    if draw(st.booleans()):
        asked["min_value"] = 2.0
    rows = [["name", *(f"c{at}" for at in range(m))], *([f"r{at}", *row] for at, row in enumerate(cells))]
    if draw(st.booleans()):
        values = {"": 0.0, "X": 1.0, "False": 0.0, "True": 1.0}
        held = {name: [values[row[at]] if row[at] in values else float(row[at]) for row in cells]
                for at, name in enumerate(rows[0][1:])}  # fmt: skip
        frame = pd.DataFrame(held, index=[row[0] for row in rows[1:]])
        return Table(frame if draw(st.booleans()) else pl.from_pandas(frame), asked, full)
    body = cut(rows, draw(st.sampled_from(",;\t")), csv.QUOTE_MINIMAL)
    if draw(st.booleans()):
        asked["comment"] = "!"
        body.insert(draw(st.integers(0, len(body))), "! a, b")
        full += 1
    data, name, encoding = draw(files(body, [".csv", ".txt"]))
    return Table(data, asked | encoding, full, name, cells=True)


@st.composite
def baskets(draw: st.DrawFn) -> Table:
    """Baskets: a line each, or lists and dicts, some with numbers."""
    asked = draw(options())
    item = st.sampled_from(["jam", "tea", "7", "Jam", "NA", "@a", "", " oil"])
    some = draw(st.lists(st.lists(item, min_size=1, max_size=5), min_size=1, max_size=6))
    total = sum(map(len, some))
    kind = draw(st.sampled_from(["file", "file", "list", "dict", "numbers", "series", "polars"]))
    if kind == "file":
        body = cut(some, ",", csv.QUOTE_MINIMAL)
        asked["format"] = "baskets"
        asked["delimiter"] = ","
        if draw(st.booleans()):
            asked["comment"] = "!"
            body.insert(draw(st.integers(0, len(body))), "! a, b")
            total += 1
        data, name, encoding = draw(files(body, [".csv", ".dat"]))
        return Table(data, asked | encoding, total, name, cells=True)
    keys = [f"b{at}" for at in range(len(some))]
    if kind == "list":
        return Table(some, asked | {"format": "baskets"}, total)
    if kind == "numbers":
        counted = {
            key: {name: float(at) for at, name in enumerate(items)} for key, items in zip(keys, some, strict=True)
        }
        return Table(counted, asked, sum(map(len, counted.values())))
    held = dict(zip(keys, some, strict=True))
    if kind == "series":
        return Table(pd.Series(held), asked, total)
    if kind == "polars":
        return Table(pl.DataFrame({"u": keys, "v": some}), asked, total)
    return Table(held, asked, total)


@st.composite
def frames(draw: st.DrawFn) -> Table:
    """Frames of pandas and Polars with missing, odd and repeated values."""
    asked = draw(options())
    side = st.sampled_from([st.one_of(words, st.none()), plain, st.one_of(st.integers(-2, 5), st.none())])
    n = draw(st.integers(1, 9))
    left, right = (draw(st.lists(draw(side), min_size=n, max_size=n)) for _ in range(2))
    columns = {"user": left, "item": right}
    if draw(st.booleans()):
        asked["split"] = ";"
    frame = pl.DataFrame(columns) if draw(st.booleans()) else pd.DataFrame(columns)
    return Table(frame, asked, None if "split" in asked else n)


def run(source: Any, again: Any, asked: dict[str, Any]) -> Account:
    return bicliq.enumerate(source, store=f"memory://{uuid.uuid4().hex}", **asked).account


def update(source: Any, again: Any, asked: dict[str, Any]) -> Account:
    store = f"memory://{uuid.uuid4().hex}"
    bicliq.enumerate(source, store=store, **asked)
    return bicliq.update(store, again).account


COMMANDS: dict[str, Callable[[Any, Any, dict[str, Any]], Account]] = {
    "enumerate": lambda source, _, asked: bicliq.enumerate(source, **asked).account,
    "find": lambda source, _, asked: bicliq.find(source, top=1, **asked).account,
    "count": lambda source, _, asked: count_table(source, CountAsked(2, 2), load_settings(ingest=asked)).account,
    "estimate": lambda source, _, asked: bicliq.estimate(source, **asked).account,
    "clique": lambda source, _, asked: bicliq.clique(source, **asked).account,
    "clique-of-a-side": lambda source, _, asked: bicliq.clique(source, project="left", **asked).account,
    "itemsets": lambda source, _, asked: bicliq.itemsets(source, **asked).account,
    "rules": lambda source, _, asked: bicliq.rules(source, **asked).account,
    "lattice": lambda source, _, asked: bicliq.concepts(source, **asked).account,
    "run": run,
    "update": update,
}

FROM_TO = re.compile(r"lines? (\d+)(?: to (\d+))? w(?:as|ere) taken for comments")


def left_out(account: Account) -> int:
    """Lines that were said to be no rows: comments, and names of columns that were guessed."""
    n = account["noted"].get("comments", 0)
    for sentence in account["assumed"]:
        if found := FROM_TO.search(sentence):
            n += int(found[2] or found[1]) - int(found[1]) + 1
        n += "was taken for names of columns" in sentence
    return n


@pytest.mark.parametrize("command", COMMANDS)
@given(table=st.one_of(edge_files(), edge_files(), matrices(), baskets(), frames()))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_row_is_accounted_for(tmp_path_factory: pytest.TempPathFactory, command: str, table: Table) -> None:
    folder = tmp_path_factory.mktemp("dirty")
    try:
        account = COMMANDS[command](table.put(folder), table.put(folder), table.asked)
    except bicliq.BicliqError as error:
        refused = str(error)
    else:
        refused = None
    if refused is not None:
        assert refused.strip()
        assert "\n" not in refused
        return
    dropped = account["dropped"]
    assert all(n > 0 for n in dropped.values())
    assert account["rows_read"] == account["edges"] + account["duplicates"] + sum(dropped.values())
    one_hot = any("was taken for a table of 0 and 1" in said for said in account["assumed"])  # its rows are cells
    if command != "update" and table.rows is not None and not one_hot:
        said = account["noted"].get("comments", 0) if table.cells else left_out(account)
        assert account["rows_read"] + said + table.told == table.rows
    if table.cells and table.asked["format"] == "matrix":
        assert command == "update" or any("was taken for names of columns" in said for said in account["assumed"])
