"""One wrong date does not empty a window, and rows that a window leaves out are told."""

from __future__ import annotations

import json

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.states import latest_run

DAYS = "".join(f"u{day % 5},i{day % 3},2026-01-{day:02d}\n" for day in range(1, 31))


def csv(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("user,item,day\n" + rows)
    return str(path)


def line(command, what, store, *more):
    window = ["--window", "30d", "--left", "user", "--right", "item", "--time", "day", "--local"]
    own = [] if command == "update" else window
    return [command, what, "--store", str(store), *own, *more]


def answer(capsys, *arguments):
    code = invoke([*arguments])
    captured = capsys.readouterr()
    return code, captured


def test_a_wrong_date_of_the_first_table_is_refused_with_its_row(tmp_path, capsys):
    table, store = csv(tmp_path / "a.csv", "v,j,2062-01-05\n" + DAYS), tmp_path / "s"
    code, said = answer(capsys, *line("run", table, store))
    assert code == 2
    assert "a.csv, line 2: the time 2062-01-05 would move the window of 30d on from 2026-01-30" in said.err
    assert "--window-jump 438" in said.err
    code, said = answer(capsys, *line("run", table, store, "--window-jump", "438", "--json"))
    assert (code, json.loads(said.out)["n_edges"]) == (0, 1)
    code, said = answer(capsys, "enumerate", table, *line("run", table, store)[4:-1])
    assert (code, "a.csv, line 2" in said.err) == (2, True)


def test_rows_that_are_far_too_old_are_no_jump(tmp_path, capsys):
    table = csv(tmp_path / "a.csv", "old,jam,1970-01-01\nold,tea,1970-01-01\n" + DAYS)
    code, said = answer(capsys, *line("run", table, tmp_path / "s", "--json"))
    assert (code, json.loads(said.out)["ingest"]["dropped_by_window"]) == (0, 2)


@pytest.mark.parametrize("backend", ["cpu", "auto"])
def test_an_update_with_a_wrong_date_changes_nothing(tmp_path, capsys, backend):
    store, more = tmp_path / "s", ("--data-backend", backend)
    assert invoke(line("run", csv(tmp_path / "a.csv", DAYS), store, *more)) == 0
    bad = csv(tmp_path / "b.csv", "u1,i9,2026-01-31\nu2,i9,2062-01-31\n")
    code, said = answer(capsys, *line("update", bad, store, *more))
    assert code == 2
    assert "b.csv, line 3: the time 2062-01-31 would move the window of 30d on from 2026-01-31" in said.err
    after = csv(tmp_path / "c.csv", "u1,i9,2026-02-01\n")
    code, said = answer(capsys, *line("update", after, store, "--json", *more))
    found = json.loads(said.out)
    assert (code, found["how"], found["edges"], found["dropped_by_window"]) == (0, "changes", 1, 0)
    code, said = answer(capsys, *line("update", bad, store, *more))
    advice = said.err.split("give ")[1].split()
    assert invoke(line("update", bad, store, *advice, *more)) == 0


def test_a_batch_of_several_windows_that_follow_each_other_is_no_jump(tmp_path):
    store = tmp_path / "s"
    assert invoke(line("run", csv(tmp_path / "a.csv", DAYS), store)) == 0
    months = "".join(
        f"u{year},i{month},{year}-{month:02d}-01\n" for year in range(2027, 2032) for month in (3, 6, 9, 12)
    )
    assert invoke(line("update", csv(tmp_path / "b.csv", months), store)) == 2  # February 2026 to March 2027
    months = "".join(f"u{n},i{n},202{6 + n // 4}-{3 * (n % 4) + 1:02d}-25\n" for n in range(1, 16))
    assert invoke(line("update", csv(tmp_path / "c.csv", months), store, "--window-jump", "90d")) == 2  # 92 days
    assert invoke(line("update", csv(tmp_path / "c.csv", months), store, "--window-jump", "93d")) == 0


def test_a_watch_stops_at_a_wrong_date_and_takes_the_file_once_it_is_mended(tmp_path, capsys):
    folder, store = tmp_path / "in", tmp_path / "s"
    csv(folder / "1.csv", DAYS)
    watch = line("watch", str(folder), store, "--once", "--settle", "0", "--json")
    assert invoke(watch) == 0
    csv(folder / "2.csv", "u1,i9,2062-01-31\n")
    capsys.readouterr()
    assert invoke(watch) == 2
    assert "2.csv, line 2: the time 2062-01-31" in capsys.readouterr().err
    csv(folder / "2.csv", "u1,i9,2026-01-31\n")
    assert invoke(watch) == 0
    assert json.loads(capsys.readouterr().out)["update"]["edges"] == 1


def test_rows_before_the_window_are_told_wherever_an_update_is(tmp_path, capsys):
    store = tmp_path / "s"
    assert invoke(line("run", csv(tmp_path / "a.csv", DAYS), store)) == 0
    late = csv(tmp_path / "b.csv", "u1,i9,2025-12-01\nu2,i9,2025-11-01\n")
    code, said = answer(capsys, *line("update", late, store))
    assert code == 0
    assert "2 rows lie before the window, which begins at 2025-12-31, and are left out" in said.out
    assert "there already" not in said.out
    assert "rows lie before the window" in said.err
    mixed = csv(tmp_path / "c.csv", "u1,i9,2025-12-01\nu2,i9,2026-01-31\n")
    code, said = answer(capsys, *line("update", mixed, store))
    assert (code, "1 row before the window left out" in said.out) == (0, True)
    folder = Store.open(str(store))
    version = folder.run(latest_run(folder)).record()
    assert version.update.dropped_by_window == 1
    assert folder.graph(version.graph).record().summary.dropped_by_window == 1


@pytest.mark.parametrize("jump", ["a lot", "-1", "nan", ""])
def test_a_jump_that_is_none_is_refused(tmp_path, capsys, jump):
    table = csv(tmp_path / "a.csv", DAYS)
    assert invoke(line("run", table, tmp_path / "s", "--window-jump", jump)) == 2
    assert "window_jump" in capsys.readouterr().err
