"""Every answer says what became of the rows that were read, and what was taken for granted."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.settings import IngestSettings, Settings
from bicliq.pipeline.stages.ingest import read_edge_table
from bicliq.pipeline.versions.watch import Watch

DIRTY = "s1,d1\ns2,d2\ns2,d2\ns3,\ns2,s2\n"
"""Five lines, the first of which may be a header: an edge twice, one without an end, a loop."""

COMMANDS = (
    ("run", "{table}", "--store", "{store}"),
    ("enumerate", "{table}"),
    ("find", "{table}"),
    ("count", "{table}", "1", "1"),
    ("count", "{table}", "1", "1", "--store", "{store}"),
    ("estimate", "{table}"),
    ("clique", "{table}"),
    ("clique", "{table}", "--project", "left"),
    ("clique", "{table}", "--project", "left", "--store", "{store}"),
    ("watch", "{table}", "--once", "--settle", "0s", "--store", "{store}"),
)


def write(folder: Path, text: str = DIRTY, name: str = "dirty.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def told(capfd: pytest.CaptureFixture[str], *command: str) -> tuple[dict[str, Any], str]:
    """The JSON of a command, and what it said on standard error."""
    assert invoke([*command, "--json"]) == 0
    out, err = capfd.readouterr()
    return json.loads(out), err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_says_what_it_read_dropped_and_assumed(tmp_path, capfd, command):
    table, store = write(tmp_path), tmp_path / "store"
    words = [word.format(table=table, store=store) for word in command]
    record, err = told(capfd, *words, "--nulls", "drop")
    undirected = command[0] == "clique" and "--project" not in command
    assert record["rows_read"] == 4
    assert record["dropped"] == {"nulls": 1} | ({"self_loops": 1} if undirected else {})
    assert record["rows_read"] == record["edges"] + record["duplicates"] + sum(record["dropped"].values())
    taken = "dirty.csv: line 1 (s1, d1) was taken for names of columns; say --no-header if it is data"
    one_set = ["both columns were taken for one set of vertices, since they share 1 label"] * undirected
    assert len(record["assumed"]) == 1 + len(one_set)
    assert record["assumed"][0].endswith(taken)
    assert all(
        words in record["assumed"][1] and words in err
        for words in [*one_set, "--project left or right"][: 2 * len(one_set)]
    )
    assert err.count(taken) == 1
    assert invoke([*words, "--nulls", "drop"]) == 0
    said = " ".join(capfd.readouterr().out.split())
    if command[0] != "watch":  # which takes a file once
        assert "4 rows read: " in said
        assert "1 dropped: nulls" in said
        assert taken in said


def test_an_update_says_what_became_of_its_rows(tmp_path, capfd):
    store = str(tmp_path / "store")
    assert invoke(["run", str(write(tmp_path, "a,b\ns2,d2\n")), "--store", store, "--nulls", "drop"]) == 0
    more = write(tmp_path, "a,b\ns2,d2\ns3,d2\ns3,d2\n,d9\n", "more.csv")
    capfd.readouterr()
    record, err = told(capfd, "update", str(more), "--store", store)
    assert (record["rows_read"], record["duplicates"], record["dropped"]) == (4, 1, {"nulls": 1})
    assert record["edges"] + record["unchanged"] + record["duplicates"] + 1 == record["rows_read"]
    assert record["assumed"] == []  # its columns are those of the run, by their names
    assert "taken for names" not in err


def test_nothing_is_assumed_of_a_header_that_was_asked_for(tmp_path, capfd):
    table = str(write(tmp_path, "user,item\nann,jam\n"))
    for options in (["--left", "user", "--right", "item"], ["--header"], ["--no-header"]):
        record, err = told(capfd, "enumerate", table, *options)
        assert (record["assumed"], err) == ([], "")
    record, _ = told(capfd, "enumerate", str(write(tmp_path, "1,2\n3,4\n", "numbers.csv")))
    assert record["assumed"] == []  # no line was left out


def test_what_several_files_have_in_common_is_said_once(tmp_path):
    for name in ("1.csv", "2.csv", "3.csv"):
        write(tmp_path, "user,item\nann,jam\n", name)
    summary = read_edge_table(str(tmp_path / "*.csv")).summary
    (sentence,) = summary.assumed
    assert "1.csv and 2 more: line 1 (user, item) was taken for names of columns" in sentence


def test_counts_of_what_was_noted_are_added_up(tmp_path):
    for name in ("1.csv", "2.csv"):
        write(tmp_path, "user,item\n ann,jam \n", name)
    assert read_edge_table(str(tmp_path / "*.csv")).summary.noted == {"stripped": 4}


def test_objects_of_python_have_the_account(tmp_path, caplog):
    table = write(tmp_path)
    asked: dict[str, Any] = {"nulls": "drop"}
    with caplog.at_level(logging.WARNING, "bicliq"):
        found = [
            bicliq.enumerate(table, **asked),
            bicliq.find(table, **asked),
            bicliq.estimate(table, **asked),
            bicliq.clique(table, project="left", **asked),
        ]
        bicliq.count(table, 1, 1, **asked)
    for one in found:
        assert one.account["dropped"] == {"nulls": 1}
        assert (one.account["rows_read"], one.account["edges"], one.account["duplicates"]) == (4, 2, 1)
        assert ["say header = false" in sentence for sentence in one.account["assumed"]] == [True]
    said = [record.getMessage() for record in caplog.records]
    assert len([line for line in said if "was taken for names of columns; say header = false" in line]) == 5


def test_a_frame_has_the_same_account():
    frame = pd.DataFrame({"left": ["s2", "s2", "s3"], "right": ["d2", "d2", None]})
    groups = bicliq.enumerate(frame, nulls="drop", store="memory://account-of-a-frame")
    counts = {"rows_read": 3, "edges": 1, "duplicates": 1, "dropped": {"nulls": 1}, "noted": {}, "assumed": []}
    assert groups.account == counts
    done = bicliq.update("memory://account-of-a-frame", frame.assign(left=["s2", "s4", "s4"]), nulls="drop")
    assert done.account["dropped"] == {"nulls": 1}


def test_rows_of_an_undirected_graph_are_loops_repetitions_or_edges(tmp_path):
    rows = ["a,b", "b,a", "a,a", "a,a", "b,c", "a,b"]
    found = bicliq.clique(write(tmp_path, "\n".join(["u,v", *rows, ""])), left="u", right="v").record
    assert (found["self_loops"], found["repeated"], found["n_edges"]) == (2, 2, 2)
    graph = write(
        tmp_path, "p edge 3 6\n" + "".join(f"e {row}\n" for row in ("1 2", "2 1", "1 1", "1 1", "2 3", "1 2")), "g.clq"
    )
    numbered = bicliq.clique(graph)
    assert numbered.account == {**{name: found[name] for name in numbered.account}, "assumed": []}


def test_a_look_that_finds_nothing_has_read_nothing(tmp_path):
    write(tmp_path, "user,item\nann,jam\n", "1.csv")
    watch = Watch(str(tmp_path), Settings(store="memory://account-of-a-watch", ingest=IngestSettings()), settle=0)
    assert watch.take().record()["rows_read"] == 1
    again = watch.take().record()
    assert (again["rows_read"], again["dropped"], again["assumed"]) == (0, {}, [])


def test_a_graph_that_says_so_is_of_one_set(tmp_path, capfd):
    rows = "1 2\n2 3\n1 3\n"
    for name, head in (
        ("out.sym", "% sym unweighted\n"),
        ("out.asym", "% asym unweighted\n"),
        ("g.txt", "# Nodes: 3\n"),
    ):
        path = str(write(tmp_path, head + rows, name))
        record, err = told(capfd, "clique", path)
        assert (record["size"], record["assumed"], err) == (3, [], "")
        assert invoke(["enumerate", path]) == 2
        assert "one set of vertices, not of two sides" in capfd.readouterr().err
        assert told(capfd, "enumerate", path, "--sides", "source-target")[0]["bicliques"] == 2
    record, err = told(capfd, "clique", str(write(tmp_path, "% bip unweighted\n" + rows, "out.bip")))
    assert "share 1 label; say --project left or right" in record["assumed"][0]
    assert "share 1 label; say --project left or right" in err
