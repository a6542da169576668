"""What is told of versions of groups in step, and of the files that they took."""

from __future__ import annotations

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.store.results import open_run
from tests.integration.test_in_step import SHARES
from tests.integration.test_in_step_stores import ARGUMENTS, CID_IN_TIME, put, refused, shares, store, told

__all__ = ["shares", "store"]  # fixtures

TWO_TIMES = "user,url,at,posted\ncid,y,2026-01-02T00:00:10Z,2026-01-05T00:00:00Z\n"


def test_a_file_that_was_taken_is_not_read_by_other_columns(store, tmp_path, capsys):
    late, place = put(tmp_path / "late.csv", TWO_TIMES), ["--store", store]
    taken = told(capsys, "update", late, *place)
    for same in ([], ["--time", "at"], ["--time", "2"], ["--left", "user"]):
        assert told(capsys, "update", late, *same, *place)["how"] == "taken"
    said = refused(capsys, "update", late, "--time", "posted", *place)
    assert f"version {taken['version']} took it with --time at, and 'posted' is asked for" in said
    assert "nothing was changed" in said
    assert told(capsys, "update", late, "--delete", *place)["how"] == "full run"
    again = told(capsys, "update", late, "--time", "posted", *place)
    assert (again["how"], again["edges"], again["appeared"]) == ("full run", 1, 0)
    assert "took it with --time posted, and 'at'" in refused(capsys, "update", late, "--time", "at", *place)
    assert told(capsys, "update", late, *place)["how"] == "taken"


def test_a_file_that_changed_nothing_is_taken_by_whatever_columns(store, tmp_path, capsys):
    twice = put(tmp_path / "twice.csv", "user,url,at,posted\nann,x,2026-01-01T00:00:00Z,2026-01-09T00:00:00Z\n")
    assert told(capsys, "update", twice, "--store", store)["how"] == "nothing"
    assert told(capsys, "update", twice, "--time", "posted", "--store", store)["how"] == "taken"


@pytest.mark.parametrize("again", [["--again"], ["--replace"], ["--again", "--replace"]])
def test_a_rollback_names_all_that_a_watch_needs_to_take_a_file_anew(tmp_path, capsys, again):
    place = tmp_path / "arrive"
    place.mkdir()
    here = ["--store", str(tmp_path / "store"), "--local"]
    watch = ["watch", str(place), "--once", "--settle", "0s", *here]
    put(place / "1.csv", SHARES)
    first = told(capsys, *watch, *ARGUMENTS)["run"]["run"]
    put(place / "1.csv", SHARES.replace("bob,y", "eve,y"))
    put(place / "2.csv", CID_IN_TIME)
    second = told(capsys, *watch, "--replace")["update"]["version"]
    back = ["rollback", first, "--store", str(tmp_path / "store")]
    assert invoke(back) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2.csv: watch --again takes it; 1.csv: watch --again --replace takes it" in said
    if again == ["--again"]:
        assert "in place of what it held, with --replace" in refused(capsys, *watch, *again)
    else:
        taken = told(capsys, *watch, *again)
        assert (taken["how"] != "nothing new") == (again == ["--again", "--replace"])
        if "--again" in again:
            assert open_run(str(tmp_path / "store")).manifest.digest == open_run(here[1], second).manifest.digest
    record = told(capsys, *back)
    assert sorted(record) == ["before", "held_otherwise", "rejected", "run", "set_aside", "store"]


def test_find_in_a_version_accounts_for_all_rows_of_it(store, tmp_path, capsys):
    made = told(capsys, "update", put(tmp_path / "late.csv", CID_IN_TIME), "--store", store)
    found = told(capsys, "find", "--run", made["version"], "--store", store)
    assert (found["rows_read"], found["edges"], found["duplicates"]) == (7, 6, 0)
    assert (found["noted"], found["dropped"], found["assumed"]) == ({"actions_at_other_times": 1}, {}, [])


def test_runs_tells_what_appeared_with_a_version(store, tmp_path, capsys):
    made = told(capsys, "update", put(tmp_path / "late.csv", CID_IN_TIME), "--store", store)
    assert (made["appeared"], made["vanished"]) == (1, 2)
    listed = told(capsys, "runs", "--store", store)["runs"][-1]
    assert (listed["update"]["appeared"], listed["update"]["vanished"]) == (1, 2)
    assert invoke(["runs", "--store", store]) == 0
    assert "late.csv (+1 -2)" in " ".join(capsys.readouterr().out.split())
    assert invoke(["verify", "--store", store]) == 0


def test_a_prune_keeps_runs_of_other_rows_of_a_table(shares, tmp_path, capsys):
    place = ["--store", str(tmp_path / "store")]
    read, minute = ARGUMENTS[: ARGUMENTS.index("--in-step")], ["--in-step", "60s"]
    others = (["--since", "2026-01-02"], ["--until", "2026-01-02"], ["--sample", "0.2"])
    ways = [minute, ["--in-step", "2m"], *([*minute, *more] for more in others)]
    runs = [told(capsys, "run", shares, *read, *way, *place)["run"] for way in ways]
    again = told(capsys, "run", shares, *read, "--in-step", "1m", *place)["run"]
    assert len({*runs, again}) == 6 - (again == runs[0])
    pruned = told(capsys, "prune", "--keep-last", "1", *place)
    assert sorted(pruned["kept"]) == sorted({*runs[1:], again})


def test_a_prune_keeps_windows_of_several_lengths_apart(tmp_path, capsys):
    path, place = put(tmp_path / "shares.csv", SHARES), ["--store", str(tmp_path / "store")]
    asked = ["--left", "user", "--right", "url", "--time", "at", "--nulls", "drop"]
    runs = [told(capsys, "run", path, *asked, *more, *place)["run"] for more in ([], ["--window", "1d"])]
    hours = told(capsys, "run", path, *asked, "--window", "24h", *place)["run"]
    kept = told(capsys, "prune", "--keep-last", "1", *place)["kept"]
    assert sorted(kept) == sorted({runs[0], hours})
