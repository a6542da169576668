"""Ids are numbers or text in all of a run's versions, and one number is not two vertices."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.settings import IngestSettings, Settings
from bicliq.pipeline.stages.ingest import read_edge_table
from bicliq.pipeline.versions.watch import Watch


def write(path: Path, *rows: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["user,item", *rows, ""]))
    return str(path)


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "store")
    bicliq.enumerate(write(tmp_path / "first.csv", "1,a", "2,a"), store=place)
    return place


def test_an_update_with_1_0_for_1_is_refused_with_its_line_and_the_cure(tmp_path, store, capfd):
    more = write(tmp_path / "more.csv", "3.0,b", "1.0,b")
    for words in (["update", more], ["update", more, "--delete"], ["update", more, "--memory-limit", "2000000000"]):
        assert invoke([*words, "--store", store]) == 2
        err = capfd.readouterr().err
        assert "more.csv, line 2: the left id '3.0' is no whole number, as all left ids of the run are" in err
        assert ".astype('Int64')" in err
        assert "--ids text" in err
    assert bicliq.open(store).to_arrow()["left"].to_pylist() == [[1, 2]]


def test_an_update_by_a_frame_is_read_as_the_run_was(store):
    bicliq.update(store, pd.DataFrame({"user": [1.0, 3.0], "item": ["b", "a"]}))
    bicliq.update(store, pd.DataFrame({"user": ["4"], "item": ["a"]}))  # text that is a number
    found = bicliq.open(store).top(1).to_pylist()[0]
    assert (found["left"], found["right"]) == ([1, 2, 3, 4], ["a"])
    with pytest.raises(bicliq.InputError, match="row 1: the left id 'x' is no whole number"):
        bicliq.update(store, pd.DataFrame({"user": ["1", "x"], "item": ["a", "a"]}))


def test_numbers_join_a_side_of_text_as_text(tmp_path):
    store = str(tmp_path / "store")
    bicliq.enumerate(write(tmp_path / "first.csv", "x,a", "007,a", "1,a"), store=store)
    bicliq.update(store, write(tmp_path / "more.csv", "1,b", "7,b"))
    labels = bicliq.open(store).run.left_ids.to_pylist()
    assert sorted(labels) == ["007", "1", "7", "x"]


@pytest.mark.parametrize(("known", "new"), [("1.0", "1"), ("1", "1.0"), ("-2.00", "-2")])
def test_a_number_written_otherwise_than_in_a_run_of_text_is_refused(tmp_path, known, new):
    store = str(tmp_path / "store")
    bicliq.enumerate(write(tmp_path / "first.csv", f"{known},a", "x,a"), store=store)
    if known == "-2.00":
        bicliq.update(store, write(tmp_path / "more.csv", f"{new},b"))  # not how a column with gaps is written
        return
    with pytest.raises(bicliq.InputError, match="the same number written otherwise"):
        bicliq.update(store, write(tmp_path / "more.csv", f"{new},b"))


def test_a_watch_reads_ids_as_its_run_did(tmp_path):
    orders = tmp_path / "orders"
    write(orders / "1.csv", "1,a", "2,a")
    watch = Watch(str(orders), Settings(store=str(tmp_path / "store")), settle=0)
    watch.take()
    write(orders / "2.csv", "1.0,b")
    with pytest.raises(bicliq.InputError, match=r"2\.csv, line 2: the left id '1\.0' is no whole number"):
        watch.take()
    write(orders / "2.csv", "1,b")
    taken = watch.take().update
    assert taken is not None
    assert taken.n_left == 2


def test_a_window_reads_ids_as_its_run_did(tmp_path):
    store, reading = str(tmp_path / "store"), {"time": "at", "window": "2d"}
    first, more = tmp_path / "first.csv", tmp_path / "more.csv"
    first.write_text("user,item,at\n1,a,2026-01-01\n2,a,2026-01-02\n")
    bicliq.enumerate(first, left="user", right="item", store=store, **reading)
    more.write_text("user,item,at\n1.0,a,2026-01-03\n")
    with pytest.raises(bicliq.InputError, match=r"line 2: the left id '1\.0' is no whole number"):
        bicliq.update(store, more, **reading)


@pytest.mark.parametrize("rows", [["1,a", "2.0,a"], ["2.0,a", "1,a"], ["1,a", "1.0,a"]])
def test_one_csv_does_not_spell_numbers_in_two_ways(tmp_path, capfd, rows):
    table = write(tmp_path / "t.csv", *rows)
    assert invoke(["enumerate", table]) == 2
    err = capfd.readouterr().err
    pointed = next(row for row in rows if ".0" in row)
    assert (
        f"t.csv, line {rows.index(pointed) + 2}: the left id '{pointed.split(',')[0]}' is written with a point" in err
    )
    assert invoke(["enumerate", table, "--ids", "text", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["n_left"] == 2


def test_versions_and_words_stay_what_is_written(tmp_path):
    for rows in (["1.0,a", "1.1,a"], ["1.0,a", "2.0,a"], ["1,a", "1.0,a", "x,a"]):
        table = read_edge_table(write(tmp_path / "t.csv", *rows), IngestSettings())
        assert table.left_ids.to_pylist() == sorted(row.split(",")[0] for row in rows)
