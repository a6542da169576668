"""Each batch of an update or a watch is checked before it is joined; bad files are set aside."""

from __future__ import annotations

import json

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.states import latest_run

FEW = "".join(f"u{n},i{n % 3}\n" for n in range(10))


def put(path, rows, head="user,item\n"):
    path.parent.mkdir(exist_ok=True)
    path.write_text(head + rows)
    return str(path)


def asked(command, what, tmp_path, *more):
    columns = ["--left", "user", "--right", "item", "--header"]
    look = ["--once", "--settle", "0"] if command == "watch" else []
    return [command, str(what), "--store", str(tmp_path / "s"), *columns, *look, "--local", *more]


def record_of(tmp_path):
    store = Store.open(str(tmp_path / "s"))
    return store.run(latest_run(store)).record()


MANY = "".join(f"u{n % 10},i{n % 7}\n" for n in range(100))
STRANGE = "".join(f"x{n},y{n}\n" for n in range(10))
MISSING = FEW + "u0,i1\n" + "u1,\n" * 5
HUB = "".join(f"u{n},hub\n" for n in range(10))

BAD = [
    (MANY, ["--rows-fail", "0.5"], "rows: 9 is above 0.5"),
    (STRANGE, ["--labels-fail", "0.5"], "labels: 1 is above 0.5"),
    (MISSING, ["--nulls", "drop", "--dropped-fail", "0.2"], "dropped: 0.3125"),
    (HUB, ["--degree-fail", "8"], "degree: 10 is above 8"),
    (MANY, ["--paths-fail", "10"], "paths: "),
]


@pytest.mark.parametrize(("rows", "threshold", "said"), BAD)
def test_a_watch_checks_every_batch(tmp_path, capsys, rows, threshold, said):
    folder = tmp_path / "in"
    put(folder / "1.csv", FEW)
    assert invoke(asked("watch", folder, tmp_path, *threshold[:-2])) == 0
    put(folder / "2.csv", FEW.replace("u9,i0", "u9,i1"))
    assert invoke(asked("watch", folder, tmp_path, *threshold)) == 0
    before = record_of(tmp_path)
    assert before.update is not None
    put(folder / "3.csv", rows)
    capsys.readouterr()
    assert invoke(asked("watch", folder, tmp_path, *threshold)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "nothing was joined" in error
    assert record_of(tmp_path) == before
    assert invoke(asked("watch", folder, tmp_path, *threshold, "--on-fail", "flag")) == 0
    states = {check.name: check.state for check in record_of(tmp_path).update.checks}
    assert states[said.split(":")[0]] == "fail"
    assert verify_store(Store.open(str(tmp_path / "s"))).problems == []


@pytest.mark.parametrize(("rows", "threshold", "said"), BAD[1:])
def test_an_update_checks_its_table(tmp_path, capsys, rows, threshold, said):
    assert invoke(asked("run", put(tmp_path / "a.csv", FEW), tmp_path, *threshold[:-2])) == 0
    before, table = record_of(tmp_path), put(tmp_path / "b.csv", rows)
    assert invoke(asked("update", table, tmp_path, *threshold)) == 2
    assert said in capsys.readouterr().err
    assert record_of(tmp_path) == before
    assert invoke(asked("update", table, tmp_path, *threshold, "--on-fail", "flag")) == 0
    assert "checks: " in capsys.readouterr().out
    assert invoke(asked("update", put(tmp_path / "c.csv", FEW), tmp_path, *threshold[:-2])) == 0


def test_the_settings_file_holds_for_updates_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bicliq.toml").write_text("[checks]\nlabels_above = ':0.5'\n")
    assert invoke(asked("run", put(tmp_path / "a.csv", FEW), tmp_path)) == 0
    assert invoke(asked("update", put(tmp_path / "b.csv", STRANGE), tmp_path)) == 2
    assert "labels: 1 is above 0.5" in capsys.readouterr().err
    gone = put(tmp_path / "gone.csv", "u1,i1\n")
    assert invoke(asked("update", gone, tmp_path, "--delete")) == 0


def test_a_first_update_of_a_run_is_compared_with_no_batch(tmp_path):
    assert invoke(asked("run", put(tmp_path / "a.csv", MANY), tmp_path)) == 0
    for name, rows, code in (("b", "u1,new\n", 0), ("c", "u2,new\n", 0), ("d", MANY.replace("u", "w"), 2)):
        table = put(tmp_path / f"{name}.csv", rows)
        assert invoke(asked("update", table, tmp_path, "--rows-fail", "0.5")) == code


def answers(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_bad_files_are_set_aside_and_the_others_are_taken(tmp_path, capsys):
    folder = tmp_path / "in"
    put(folder / "1.csv", FEW)
    put(folder / "2.csv", "u1,i1,too,many\n")
    put(folder / "3.csv", STRANGE)
    put(folder / "4.csv", "a,b\n", head="buyer,product\n")
    watch = asked("watch", folder, tmp_path, "--labels-fail", "0.9", "--quarantine", "--json")
    assert invoke(watch) == 0
    found = answers(capsys)
    assert [one["how"] for one in found] == ["run", "set aside", "set aside", "set aside"]
    assert [one["quarantined"][0]["file"].rsplit("/", 1)[-1] for one in found[1:]] == ["2.csv", "3.csv", "4.csv"]
    reasons = [one["quarantined"][0]["reason"] for one in found[1:]]
    assert "2.csv, line 2" in reasons[0]
    assert "3.csv: the batch fails its checks: labels: 1 is above 0.9" in reasons[1]
    assert "user" in reasons[2]
    assert invoke(watch) == 0
    assert [one["how"] for one in answers(capsys)] == ["nothing new"]
    assert verify_store(Store.open(str(tmp_path / "s"))).problems == []
    put(folder / "2.csv", "u1,i2\n")  # mended: it is looked at again
    put(folder / "5.csv", "u2,i2\n")
    assert invoke(watch) == 0
    [taken] = answers(capsys)
    assert [name.rsplit("/", 1)[-1] for name in taken["files"]] == ["2.csv", "5.csv"]
    assert invoke(watch[:-2]) == 2  # without --quarantine a look stops as it did
    assert "4.csv" in capsys.readouterr().err


def test_a_file_that_changed_is_set_aside_or_taken_anew(tmp_path, capsys):
    folder = tmp_path / "in"
    put(folder / "1.csv", FEW)
    put(folder / "2.csv", "u1,i2\n")
    watch = asked("watch", folder, tmp_path, "--quarantine", "--json")
    assert invoke(watch) == 0
    put(folder / "1.csv", FEW + "u5,i5\n")
    put(folder / "3.csv", "u9,i9\n")
    capsys.readouterr()
    assert invoke(watch) == 0
    [taken] = answers(capsys)
    assert "has changed since" in taken["quarantined"][0]["reason"]
    assert [name.rsplit("/", 1)[-1] for name in taken["files"]] == ["3.csv"]


def test_options_that_no_file_is_to_blame_for_set_nothing_aside(tmp_path, capsys):
    folder = tmp_path / "in"
    put(folder / "1.csv", FEW)
    watch = asked("watch", folder, tmp_path, "--quarantine")
    assert invoke(watch) == 0
    put(folder / "2.csv", "u1,i2\n")
    assert invoke([*watch, "--nulls", "drop"]) == 2
    assert "its run has --nulls error" in capsys.readouterr().err
    assert invoke(watch) == 0
    assert "1 edge joined" in capsys.readouterr().out
