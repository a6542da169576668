"""A window of time that moves on: what enters it is joined, what leaves it goes."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from tests.real_graphs import DATA

HERE = {"cluster": {"local": True}}
COLUMNS = {"left": "user", "right": "item", "time": "day"}
JANUARY = [
    ("ann", "jam", 1), ("ann", "tea", 2), ("bob", "jam", 3), ("bob", "tea", 20), ("cid", "tea", 28), ("dan", "rum", 31),
]  # fmt: skip
"""Users, items and days of January 2026."""

LATER = [("ann", "jam", 33), ("eve", "tea", 34)]
"""The second and the third of February: 30 days before the latter, the fourth of January was."""


def table(path, rows, written="dates"):
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=day - 1) for *_, day in rows]
    if written == "parquet":
        columns = {"user": [row[0] for row in rows], "item": [row[1] for row in rows], "day": pa.array(days)}
        pq.write_table(pa.table(columns), path)
        return str(path)
    texts = {
        "dates": [day.isoformat() for day in days],
        "seconds": [str(int(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC).timestamp())) for day in days],
        "timestamps": [f"{day.isoformat()}T00:00:00Z" for day in days],
    }[written]
    lines = [f"{row[0]},{row[1]},{text}" for row, text in zip(rows, texts, strict=True)]
    path.write_text("\n".join(["user,item,day", *lines]) + "\n")
    return str(path)


def asked(tmp_path, store="store", **ingest):
    return load_settings(store=str(tmp_path / store), ingest={**COLUMNS, "window": "30d", **ingest}, **HERE)


def within(rows, first, last=99):
    return [row for row in rows if first <= row[2] <= last]


@pytest.mark.parametrize("written", ["dates", "seconds", "timestamps", "parquet"])
def test_what_enters_is_joined_and_what_leaves_goes(tmp_path, written):
    settings = asked(tmp_path)
    base = run(table(tmp_path / f"a.{written}.csv".replace(".parquet.csv", ".parquet"), JANUARY, written), settings)
    assert (base.n_edges, base.ingest["dropped_by_window"]) == (6, 0)
    new = table(tmp_path / f"b.{written}.csv".replace(".parquet.csv", ".parquet"), LATER, written)
    found = update(new, load_settings(store=settings.store, **HERE))
    assert (found.left_window, found.dropped_by_window) == (3, 0)
    assert (found.how, found.edges, found.gone, found.unchanged, found.n_edges) == ("changes", 1, 2, 1, 5)
    whole = run(table(tmp_path / "all.csv", within(JANUARY + LATER, 4)), asked(tmp_path, "scratch", window=None))
    assert (found.digest, found.bicliques) == (whole.digest, whole.bicliques)
    same = run(table(tmp_path / "every.csv", JANUARY + LATER), asked(tmp_path, "windowed"))
    assert (same.digest, same.ingest["dropped_by_window"]) == (whole.digest, 3)
    assert verify_store(Store.open(settings.store)).problems == []


def test_rows_that_leave_the_window_are_counted_by_the_version_the_log_and_diff(tmp_path, capsys, caplog):
    settings = asked(tmp_path)
    run(table(tmp_path / "a.csv", JANUARY), settings)
    files = [table(tmp_path / f"{day}.csv", [("eve", "rum", day), ("eve", "tea", 0)]) for day in (33, 36)]
    with caplog.at_level("INFO", "bicliq"):
        first, second = (update(file, settings) for file in files)
    gone = [len([row for row in JANUARY if begin <= row[2] < end]) for begin, end in ((0, 3), (3, 6))]
    assert [first.left_window, second.left_window] == gone
    assert min(gone) > 0
    version = Store.open(settings.store).run(first.version).record()
    assert version.update.left_window == gone[0]
    assert f"left_window={gone[0]}" in caplog.text
    for before, left in ((first.version, gone[1]), (first.parent, sum(gone))):
        assert invoke(["diff", before, second.version, "--store", settings.store, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["left_window"], said["dropped_by_window"]) == (left, 1 if before == first.version else 2)
    assert invoke(["diff", "--store", settings.store]) == 0
    assert f"{gone[1]} row{'s' if gone[1] > 1 else ''} left the window" in capsys.readouterr().out
    assert invoke(["update", table(tmp_path / "z.csv", [("eve", "rum", 60)]), "--store", settings.store]) == 0
    assert "left the window" in capsys.readouterr().out


def test_an_edge_that_is_seen_again_stays_by_its_latest_time(tmp_path):
    settings = asked(tmp_path)
    run(table(tmp_path / "a.csv", JANUARY), settings)
    again = update(table(tmp_path / "b.csv", [("ann", "tea", 30)]), settings)
    assert (again.how, again.edges, again.gone, again.appeared) == ("changes", 0, 0, 0)
    later = update(table(tmp_path / "c.csv", [("eve", "rum", 33)]), settings)
    assert (later.edges, later.gone) == (1, 1)
    rows = [row for row in JANUARY if row != ("ann", "jam", 1)] + [("eve", "rum", 33)]
    assert later.digest == run(table(tmp_path / "all.csv", rows), asked(tmp_path, "scratch", window=None)).digest


def test_rows_that_come_too_late_change_nothing_and_are_counted(tmp_path):
    settings = asked(tmp_path)
    base = run(table(tmp_path / "a.csv", JANUARY), settings)
    late = update(table(tmp_path / "b.csv", [("eve", "jam", 0), ("eve", "jam", -400)]), settings)
    assert (late.how, late.digest) == ("nothing", base.digest)
    assert update(str(tmp_path / "b.csv"), settings).how == "taken"
    mixed = update(table(tmp_path / "c.csv", [("eve", "jam", 0), ("eve", "tea", 2)]), settings)
    assert (mixed.edges, mixed.unchanged, mixed.gone) == (1, 0, 0)
    graph = open_run(settings.store).store.graph(mixed.graph).record()
    assert graph.summary.dropped_by_window == 1
    assert graph.n_left == base.n_left + 1


def test_edges_that_are_taken_away_leave_the_window_where_it_is(tmp_path):
    settings = asked(tmp_path)
    run(table(tmp_path / "a.csv", JANUARY), settings)
    (tmp_path / "gone.csv").write_text("user,item\ndan,rum\nbob,jam\n")
    gone = update(str(tmp_path / "gone.csv"), load_settings(store=settings.store, **HERE), delete=True)
    assert (gone.edges, gone.n_edges) == (2, 4)
    late = update(table(tmp_path / "b.csv", [("eve", "jam", 0), ("eve", "tea", 1)]), settings)
    assert (late.edges, late.gone) == (1, 0)
    later = update(table(tmp_path / "c.csv", [("bob", "jam", 33)]), settings)
    rows = [("bob", "tea", 20), ("cid", "tea", 28), ("bob", "jam", 33)]
    assert later.digest == run(table(tmp_path / "all.csv", rows), asked(tmp_path, "scratch", window=None)).digest
    assert verify_store(Store.open(settings.store)).problems == []


def test_a_full_run_is_made_of_the_window_where_that_is_cheaper(tmp_path):
    settings = asked(tmp_path)
    many = [(f"u{i}", "tea", 34) for i in range(3000)]  # over which 9 million paths lead
    run(table(tmp_path / "a.csv", JANUARY), settings)
    found = update(table(tmp_path / "b.csv", LATER + many), settings)
    assert (found.how, found.gone) == ("full run", 2)
    later = update(table(tmp_path / "c.csv", [("eve", "rum", 60)]), settings)
    whole = run(table(tmp_path / "all.csv", [*within(JANUARY + LATER + many, 30), ("eve", "rum", 60)]),
                asked(tmp_path, "scratch", window=None))  # fmt: skip
    assert (later.how, later.digest) == ("changes", whole.digest)


def test_a_window_that_moves_too_much_is_searched_whole(tmp_path):
    settings = asked(tmp_path)
    crown = [(f"c{i}", f"d{j}", 20) for i in range(17) for j in range(17) if i != j]  # with 2^17 bicliques
    to_all = [("all", f"d{j}", 34) for j in range(17)]
    run(table(tmp_path / "a.csv", JANUARY + crown), settings)
    found = update(table(tmp_path / "b.csv", LATER + to_all), settings)
    assert (found.how, found.gone) == ("full run", 2)
    assert found.reason.startswith("more than 100,000 bicliques are found around what changed")
    whole = run(
        table(tmp_path / "all.csv", within(JANUARY + crown + LATER + to_all, 4)),
        asked(tmp_path, "scratch", window=None),
    )
    assert found.digest == whole.digest


def test_a_window_holds_without_a_store_too(tmp_path, capsys):
    rows = table(tmp_path / "a.csv", JANUARY)
    line = ["enumerate", rows, "--left", "user", "--right", "item", "--time", "day", "--digest", "--json"]
    found = []
    for options in (["--window", "12d"], ["--since", "2026-01-19"]):
        assert invoke([*line, *options]) == 0
        found.append(json.loads(capsys.readouterr().out)["digest"])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--window", "30d"], "which column is the time? Name it"),
        (["--window", "30d", "--time", "day", "--since", "2026-01-01"], "window and since or until contradict"),
        (["--window", "30d", "--time", "day", "--until", "2026-01-01"], "window and since or until contradict"),
        (["--window", "a month", "--time", "day"], "'a month' is no length of time"),
        (["--window", "0d", "--time", "day"], "holds no time"),
    ],
)
def test_a_window_that_cannot_be_is_refused_in_one_line(tmp_path, capsys, options, problem):
    line = ["run", table(tmp_path / "a.csv", JANUARY), "--left", "user", "--right", "item", "--local"]
    assert invoke([*line, "--store", str(tmp_path / "store"), *options]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1


def test_formats_without_times_and_another_window_are_refused(tmp_path, capsys):
    (tmp_path / "a.adj").write_text("1: 2 3\n")
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1\n")
    for name in ("a.adj", "a.mtx"):
        assert invoke(["enumerate", str(tmp_path / name), "--window", "1d"]) == 2
        assert "window" in capsys.readouterr().err
    settings = asked(tmp_path)
    run(table(tmp_path / "a.csv", JANUARY), settings)
    new = table(tmp_path / "b.csv", LATER)
    assert invoke(["update", new, "--window", "7d", "--store", settings.store]) == 2
    assert "window '7d' (the graph has '30d')" in capsys.readouterr().err
    (tmp_path / "c.csv").write_text("user,item\neve,jam\n")
    assert invoke(["update", str(tmp_path / "c.csv"), "--store", settings.store]) == 2
    assert "no column 'day' for the time" in capsys.readouterr().err


def test_rows_may_be_joined_after_edges_of_summed_weights_were_taken_away(tmp_path):
    settings = load_settings(
        store=str(tmp_path / "s"), ingest={"left": "u", "right": "v", "weight": "n", "duplicates": "sum"}, **HERE
    )
    for name, rows in (("a", "a,x,1\nb,x,2\n"), ("b", "a,x,1\n"), ("c", "c,x,1\n")):
        (tmp_path / f"{name}.csv").write_text("u,v,n\n" + rows)
    run(str(tmp_path / "a.csv"), settings)
    update(str(tmp_path / "b.csv"), load_settings(store=settings.store, **HERE), delete=True)
    assert update(str(tmp_path / "c.csv"), load_settings(store=settings.store, **HERE)).n_edges == 2


def test_a_window_over_a_history_of_edits_moves_on_day_by_day(tmp_path):
    lines = [line.split() for line in (DATA / "out.edit-nawiki").read_text().splitlines() if line[0] != "%"]
    lines.sort(key=lambda fields: int(fields[3]))
    days = [int(fields[3]) // 86_400 for fields in lines]
    some = sorted(set(days))[900:903]

    def konect(name, first, last):
        rows = ["\t".join(fields) for day, fields in zip(days, lines, strict=True) if first <= day < last]
        (tmp_path / f"out.{name}").write_text("% bip positive\n" + "\n".join(rows) + "\n")
        return str(tmp_path / f"out.{name}")

    settings = load_settings(
        store=str(tmp_path / "s"), ingest={"window": "200d"}, search={"min_left": 2, "min_right": 2}, **HERE
    )
    run(konect("base", 0, some[0]), settings)
    gone = 0
    for day in some:
        found = update(konect(f"day{day}", day, day + 1), settings)
        whole = run(konect("all", 0, day + 1), settings.model_copy(update={"store": str(tmp_path / f"t{day}")}))
        assert (found.bicliques, found.digest, found.n_edges) == (whole.bicliques, whole.digest, whole.n_edges)
        gone += found.gone
    assert gone > 0
    assert verify_store(Store.open(settings.store)).problems == []
