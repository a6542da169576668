"""Groups in step in a store: runs, versions, watches, and all that reads them."""

from __future__ import annotations

import datetime as dt
import json

import openpyxl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.flows.etl import etl
from bicliq.flows.update import watch_flow
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.repair import repair
from bicliq.pipeline.report.page import write_report
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.in_memory import project_table
from bicliq.pipeline.stages.verify import verify, verify_store
from bicliq.pipeline.stages.verify_roots import EVERY_ROOT
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.watch import Watch
from tests.integration.killed import killed
from tests.integration.test_in_step import COLUMNS, SHARES, crowd
from tests.integration.test_notify import webhook  # noqa: F401 - a fixture
from tests.integration.test_verify_deep import forge
from tests.nightly import part_of

ARGUMENTS = [*COLUMNS, "--nulls", "drop", "--in-step", "60s"]
IN_STEP = {"left": "user", "right": "url", "time": "at", "nulls": "drop", "in_step": "60s"}
HEAD = "user,url,at\n"
CID_IN_TIME = HEAD + "cid,y,2026-01-02T00:00:10Z\n"
"""With it cid shares y within the minute, too; days after that minute."""

X = {"start": "2026-01-01T00:00:00+00:00", "end": "2026-01-01T00:00:20+00:00"}
Y = {"start": "2026-01-02T00:00:00+00:00", "end": "2026-01-02T00:00:30+00:00"}


@pytest.fixture
def shares(tmp_path):
    (tmp_path / "shares.csv").write_text(SHARES)
    return str(tmp_path / "shares.csv")


def put(path, text):
    path.write_text(text)
    return str(path)


def asked(tmp_path, **more):
    ingest = IN_STEP | more.pop("ingest", {})
    search = {"min_left": 2} | more.pop("search", {})
    return load_settings(store=str(tmp_path / "store"), cluster={"local": True}, ingest=ingest, search=search, **more)


@pytest.fixture
def store(shares, tmp_path):
    settings = asked(tmp_path)
    run(shares, settings)
    return settings.store


def told(capsys, *arguments):
    assert invoke([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *arguments):
    assert invoke(list(arguments)) == 2
    said = capsys.readouterr().err.strip().splitlines()
    return said[-1]


def groups(store, name=None):
    return sorted((row["left"], row["right"]) for row in bicliq.open(store, name))


def test_a_run_says_what_was_read_and_show_top_and_find_tell_the_windows(shares, tmp_path, capsys):
    place = ["--store", str(tmp_path / "store")]
    made = told(capsys, "run", shares, *ARGUMENTS, "--min-left", "2", *place)
    assert (made["bicliques"], made["in_step"], made["complete"]) == (2, "60s", True)
    assert (made["rows_read"], made["edges"], made["dropped"]) == (7, 6, {"nulls": 1})
    assert made["assumed"] == []
    counted = told(capsys, "enumerate", shares, *ARGUMENTS, "--min-left", "2", "--digest")
    assert made["digest"] == counted["digest"]
    found = told(capsys, "find", shares, *ARGUMENTS, "--min-left", "2")["groups"]
    for command in (["top"], ["show"], ["find", "--run", made["run"]]):
        record = told(capsys, *command, *place)
        rows = record.get("bicliques") or record["groups"]
        assert [(row["left"], row["right"], row["windows"]) for row in rows] == [
            (["ann", "bob"], ["x", "y"], [X, Y]),
            (["ann", "bob", "cid"], ["x"], [X | {"end": "2026-01-01T00:01:00+00:00"}]),
        ]
        assert [row["windows"] for row in rows] == [group["windows"] for group in found]
    assert invoke(["run", shares, *ARGUMENTS, "--min-left", "2", *place]) == 0
    assert "groups in step (60s)" in capsys.readouterr().out
    assert invoke(["show", *place]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "x (2026-01-01 00:00:00 UTC + 20 s)" in shown


def test_another_length_is_another_run_and_the_same_length_is_the_same(shares, tmp_path, capsys):
    first, longer = (run(shares, asked(tmp_path, ingest={"in_step": length})) for length in ("60s", "1h"))
    assert (first.bicliques, longer.bicliques) == (2, 1)
    assert first.run != longer.run
    again = run(shares, asked(tmp_path, ingest={"in_step": "1m"}))
    assert (again.run, again.searched) == (first.run, 0)
    plain = run(shares, asked(tmp_path, ingest={"in_step": None}))
    assert invoke(["runs", "--store", first.store]) == 0
    assert "in step 1h" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    write_report(open_run(first.store, plain.run), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "There is no earlier run of this table" in page, "groups in step are no bicliques"
    assert invoke(["prune", "--keep-last", "1", "--yes", "--store", first.store]) == 0
    assert set(Store.open(first.store).runs()) == {first.run, longer.run, plain.run}, "another question each"


def test_the_order_of_the_rows_makes_no_other_run(tmp_path):
    head, *rows = SHARES.splitlines()
    tables = [put(tmp_path / f"{n}.csv", "\n".join([head, *some]) + "\n") for n, some in enumerate((rows, rows[::-1]))]
    assert len({run(table, asked(tmp_path)).run for table in tables}) == 1


def test_exports_have_start_and_end_of_each_right_member(store, tmp_path, capsys):
    for kind in ("csv", "parquet", "xlsx", "jsonl", "graphml", "duckdb", "delta"):
        assert invoke(["export", str(tmp_path / f"groups.{kind}"), "--store", store]) == 0
    rows = csv.read_csv(tmp_path / "groups.csv").to_pylist()
    x = [row for row in rows if row["label"] == "x"]
    assert [row["start"].isoformat() for row in x] == [X["start"]] * 2
    assert {(row["start"], row["end"]) for row in rows if row["side"] == "left"} == {(None, None)}
    table = pq.read_table(tmp_path / "groups.parquet").to_pylist()
    assert [row["windows"][0]["end"].isoformat() for row in table if row["right"] == ["x", "y"]] == [X["end"]]
    sheet = openpyxl.load_workbook(tmp_path / "groups.xlsx").active
    cells = [row for row in sheet.iter_rows(values_only=True) if row[2] == "y"]
    assert [str(cell)[:19] for cell in cells[0][3:]] == ["2026-01-02 00:00:00", "2026-01-02 00:00:30"]
    lines = [json.loads(line) for line in (tmp_path / "groups.jsonl").read_text().splitlines()]
    assert [line["windows"] for line in lines if line["n_right"] == 2] == [[X, Y]]
    assert f'<data key="end">{Y["end"]}</data>' in (tmp_path / "groups.graphml").read_text()
    network = bicliq.open(store).to_networkx()
    ends = [edge["end"] for *_, edge in network.edges(("right", "y"), data=True)]
    assert ends == [dt.datetime.fromisoformat(Y["end"])]
    assert bicliq.open(store).to_pandas()["windows"].tolist()


def test_the_page_draws_when_the_members_acted(tmp_path, capsys):
    made = bicliq.enumerate(
        crowd(1, ring=True), left="account", right="link", time="at", in_step="60s", min_left=2, min_right=2,
        store=tmp_path / "store",
    )  # fmt: skip
    assert invoke(["report", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert f"{len(made)} group" in text
    assert "A window is 60s long" in text
    assert "which all of them acted within one window" in text
    assert 'class="tick member"' in text
    assert "when its members acted in its windows" in text
    (best, *_) = made.top(1, "surprise").to_pylist()
    assert best["left"] == list(range(7000, 7005))
    found = bicliq.find(
        crowd(1, ring=True), left="account", right="link", time="at", in_step="60s", by="surprise", min_left=2
    )
    assert best["surprise"] == pytest.approx(found.record["groups"][0]["value"])
    assert len(made.where(min_surprise=1.0)) == 1


def test_late_rows_and_deleted_ones_make_versions_that_can_be_compared(store, tmp_path, capsys):
    first = open_run(store).run
    late = told(capsys, "update", put(tmp_path / "late.csv", CID_IN_TIME), "--store", store)
    assert (late["how"], late["edges"], late["appeared"], late["vanished"]) == ("full run", 1, 1, 2)
    assert (late["rows_read"], late["in_step"]) == (1, "60s")
    assert groups(store) == [(["ann", "bob", "cid"], ["x", "y"])]
    changes = told(capsys, "diff", "--store", store)
    assert (changes["n_appeared"], changes["n_vanished"], changes["before"]) == (1, 2, first)
    gone = put(tmp_path / "gone.csv", CID_IN_TIME)
    back = told(capsys, "update", gone, "--delete", "--in-step", "1m", "--store", store)
    assert (back["edges"], back["digest"]) == (1, open_run(store, first).manifest.digest)
    assert verify_store(Store.open(store), roots=EVERY_ROOT).problems == []
    assert [each["state"] for each in told(capsys, "runs", "--store", store)["runs"]] == ["published"] * 3
    assert "nothing to do" in " ".join(told_in_words(capsys, "compact", "--store", store))
    assert invoke(["rollback", late["version"], "--store", store]) == 0
    assert groups(store) == [(["ann", "bob", "cid"], ["x", "y"])]
    assert invoke(["prune", "--keep-last", "1", "--yes", "--store", store]) == 0
    assert groups(store) == [(["ann", "bob", "cid"], ["x", "y"])]
    assert verify_store(Store.open(store)).problems == []


def told_in_words(capsys, *arguments):
    capsys.readouterr()
    assert invoke(list(arguments)) == 0
    return capsys.readouterr().out.split()


def test_what_changes_nothing_is_said(store, tmp_path, capsys):
    never = put(tmp_path / "never.csv", HEAD + "zoe,x,2026-01-01T00:00:00Z\nann,x,2026-01-05T00:00:00Z\n")
    gone = told(capsys, "update", never, "--delete", "--store", store)
    assert (gone["how"], gone["edges"], gone["unchanged"]) == ("nothing", 0, 2)
    assert gone["reason"] == "none of its edges is there"
    known = put(tmp_path / "known.csv", HEAD + "ann,x,2026-01-01T00:00:00Z\n")
    assert told(capsys, "update", known, "--store", store)["reason"] == "all of its edges are there already"
    assert told(capsys, "update", known, "--store", store)["how"] == "taken"
    again = put(tmp_path / "again.csv", HEAD + "ann,x,2026-01-01T09:00:00Z\n")
    assert told(capsys, "update", again, "--store", store)["edges"] == 1, "an edge that is there, at another time"


def test_what_an_update_cannot_be_is_refused_in_a_sentence(store, shares, tmp_path, capsys):
    place = ["--store", store]
    assert "in_step '5m' (the graph has '60s')" in refused(capsys, "update", shares, "--in-step", "5m", *place).replace(
        "--in-step", "in_step"
    )
    fresh = put(tmp_path / "fresh.csv", CID_IN_TIME)
    assert "contradict each other: leave window out" in refused(capsys, "update", fresh, "--window", "3d", *place)
    timeless = put(tmp_path / "timeless.csv", "user,url\ncid,y\n")
    for delete in ([], ["--delete"]):
        assert "there is no column 'at' for the time" in refused(capsys, "update", timeless, *delete, *place)
    assert "no edge of the graph would be left" in refused(capsys, "update", shares, "--delete", *place)
    assert groups(store) == [(["ann", "bob"], ["x", "y"]), (["ann", "bob", "cid"], ["x"])]
    plain = str(tmp_path / "plain")
    run(shares, load_settings(store=plain, ingest={"left": "user", "right": "url"}))
    assert "(the graph has None)" in refused(capsys, "update", shares, *ARGUMENTS, "--store", plain)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--window", "3d"], "contradict each other"),
        (["--side", "right"], "searched from the left side"),
        (["--columns", "smaller"], "both sides of groups in step are stored"),
        (["--objectives", "surprise"], "is no column of a run"),
        (["--backend", "cuda"], "on the CPU"),
    ],
)
def test_what_a_run_cannot_be_is_refused_before_anything_is_written(shares, tmp_path, capsys, options, problem):
    assert problem in refused(capsys, "run", shares, *ARGUMENTS, *options, "--store", str(tmp_path / "store"))
    assert not (tmp_path / "store" / "graphs").exists()


def test_questions_that_no_run_of_groups_in_step_answers_say_so(store, tmp_path, capsys):
    run_name, place = open_run(store).run, ["--store", store]
    assert "an action that is missing has no time" in refused(
        capsys, "find", "--run", run_name, "--missing", "1", *place
    )
    assert "does not hold all itemsets" in refused(capsys, "rules", *place)
    assert "is of groups in step" in refused(capsys, "lattice", *place)
    with pytest.raises(InputError, match="whose times a projection would lose"):
        project_table(open_run(store).manifest.graph, "left", 1, store=Store.open(store))


SEARCH = """
from bicliq.pipeline.run import run
run(given[0], load_settings(store=given[1], cluster={"local": True}, plan={"partitions": 3},
    ingest={"left": "account", "right": "link", "time": "at", "in_step": "1h"}, search={"min_left": 2}))
"""


@pytest.mark.parametrize("at", part_of([2, 1], 2))
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path, at):
    table, store = str(tmp_path / "shares.parquet"), str(tmp_path / "store")
    pq.write_table(crowd(2, ring=True), table)
    killed(SEARCH, table, store, method="commit_partition", when="after", at=at)
    (name,) = Store.open(store).runs()
    assert open_run(store, name).partitions
    done = resume(name, load_settings(store=store, cluster={"local": True}))
    assert (done.partitions, done.searched) == (3, 3 - at)
    ingest = {"left": "account", "right": "link", "time": "at", "in_step": "1h"}
    whole = run(
        table,
        load_settings(store=str(tmp_path / "whole"), ingest=ingest, search={"min_left": 2}, plan={"partitions": 1}),
    )
    assert (done.digest, done.bicliques) == (whole.digest, whole.bicliques)
    assert done.bicliques > 100
    assert verify(Store.open(store), name, roots=EVERY_ROOT).problems == []


UPDATE = """
from bicliq.pipeline.versions.update import update
update(given[0], load_settings(store=given[1], cluster={"local": True}))
"""


@pytest.mark.parametrize(("method", "when"), [("commit_partition", "before"), ("commit_partition", "after")])
def test_an_update_that_is_killed_leaves_the_version_before_and_goes_on(store, tmp_path, method, when):
    before, late = open_run(store).run, put(tmp_path / "late.csv", CID_IN_TIME)
    killed(UPDATE, late, store, method=method, when=when)
    assert open_run(store).run == before
    assert update(late, load_settings(store=store, cluster={"local": True})).bicliques == 1
    assert groups(store) == [(["ann", "bob", "cid"], ["x", "y"])]


def test_a_limit_counts_groups_and_the_next_call_goes_on(tmp_path):
    table, ingest = crowd(3, ring=True), {"left": "account", "right": "link", "time": "at", "nulls": "error"}
    whole = run(table, asked(tmp_path / "whole", ingest=ingest))
    short = run(table, asked(tmp_path, ingest=ingest, search={"max_bicliques": 7}))
    assert (short.bicliques, short.complete, short.limited_by) == (7, False, "max_bicliques")
    assert verify(Store.open(short.store), short.run).problems == []
    rest = run(table, asked(tmp_path, ingest=ingest))
    assert (rest.run, rest.complete, rest.digest) == (short.run, True, whole.digest)


def test_verify_finds_a_group_that_is_none(store):
    opened = open_run(store)
    checker = verify(Store.open(store), opened.run, roots=EVERY_ROOT)
    assert (checker.sampled, checker.roots, checker.problems) == (2, 3, [])
    commit = opened.folder.read_commit(0)
    assert commit is not None
    shifted = store + "/graphs/" + opened.manifest.graph + "/rows.parquet"
    table = pq.read_table(shifted)
    pq.write_table(table.set_column(2, "time", [[float(100 * n) for n in range(len(table))]]), shifted)
    assert any("rows.parquet" in problem for problem in verify(Store.open(store), opened.run).problems)


def test_a_watch_takes_files_as_they_arrive_and_sets_aside_those_without_times(shares, tmp_path, webhook):  # noqa: F811
    place = tmp_path / "arrive"
    place.mkdir()
    settings = asked(tmp_path, notify={"webhook": webhook.url, "webhook_edges": 2})
    watch = Watch(str(place), settings, settle=0, quarantine=True)
    put(place / "1.csv", SHARES)
    assert watch.take().run.bicliques == 2
    put(place / "2.csv", CID_IN_TIME)
    assert (made := watch.take().update).appeared == 1
    put(place / "3.csv", "user,url\ncid,y\n")
    (aside,) = watch.take().quarantined
    assert "there is no column 'at'" in aside["reason"]
    assert groups(settings.store) == [(["ann", "bob", "cid"], ["x", "y"])]
    began, came, set_aside = webhook.told
    assert "2 groups in step" in began["text"]
    assert began["groups"][0]["windows"] == [X, Y]
    assert (came["appeared"], came["vanished"], came["run"]) == (1, 2, made.version)
    assert [(g["left"], g["windows"]) for g in came["groups"]] == [
        (["ann", "bob", "cid"], [X | {"end": "2026-01-01T00:01:00+00:00"}, Y])
    ]
    assert "in step from 2026-01-01T00:00:00+00:00 to 2026-01-02T00:00:30+00:00" in came["text"]
    assert set_aside["event"] == "quarantined"
    put(place / "1.csv", SHARES.replace("bob,y", "eve,y"))
    anew = Watch(str(place), settings, settle=0, quarantine=True, replace=True).take().update
    assert (anew.edges, anew.gone, anew.appeared) == (1, 1, 3)
    assert groups(settings.store) == [
        (["ann", "bob", "cid"], ["x"]),
        (["ann", "cid"], ["x", "y"]),
        (["ann", "cid", "eve"], ["y"]),
    ]


def test_without_a_rule_groups_beyond_chance_alone_are_told(tmp_path, webhook):  # noqa: F811
    ingest = {"left": "account", "right": "link", "time": "at", "nulls": "error"}
    for ring in (False, True):
        run(crowd(1, ring=ring), asked(tmp_path / str(ring), ingest=ingest, notify={"webhook": webhook.url}))
    nothing, ring = webhook.told
    assert nothing["groups"] == []
    assert [group["left"] for group in ring["groups"]] == [list(range(7000, 7005))]
    assert ring["groups"][0]["surprise"] > 50


def test_the_flows_run_and_watch(shares, tmp_path, prefect_server):
    settings = asked(tmp_path)
    given = settings.model_dump(mode="json", exclude_unset=True)
    found = etl(shares, given)
    assert found["bicliques"] == 2
    place = tmp_path / "arrive"
    place.mkdir()
    put(place / "late.csv", CID_IN_TIME)
    state = watch_flow(str(place), given, settle=0, return_state=True)
    assert "1 appeared, 2 vanished; now 1 group in step" in state.message


def test_settings_of_a_file_and_of_variables_are_taken(shares, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bicliq.toml").write_text(
        '[ingest]\nin_step = "60s"\nnulls = "drop"\ntime = "at"\n[search]\nmin_left = 2\n'
    )
    made = told(capsys, "run", shares, "--left", "user", "--right", "url", "--store", str(tmp_path / "store"))
    assert (made["bicliques"], made["in_step"]) == (2, "60s")


def test_a_row_without_a_time_is_refused_where_it_is(store, tmp_path):
    with pytest.raises(InputError, match=r"line 3, column at \(time\): the time is missing"):
        update(
            put(tmp_path / "late.csv", CID_IN_TIME + "dan,y,\n"), load_settings(store=store, ingest={"nulls": "error"})
        )


def test_verify_finds_what_a_search_without_the_filter_would_have_stored(tmp_path):
    rows = [(0, 0, 2), (1, 0, 2), (2, 0, 0), (3, 0, 4), (2, 1, 0), (0, 1, 0), (1, 1, 0)]
    columns = map(list, zip(*rows, strict=True))
    table = pa.table(dict(zip(("user", "url", "at"), columns, strict=True)))
    settings = asked(tmp_path, ingest={"in_step": "2s"}, search={"min_left": 1})
    made = run(table, settings)
    wrong = {"left": [0, 1], "right": [0, 1], "n_left": 2, "n_right": 2, "root": 0}
    forge(Store.open(settings.store), made.run, 0, lambda rows: [wrong, *rows])
    problems = verify(Store.open(settings.store), made.run, roots=EVERY_ROOT).problems
    assert any("another left vertex is in step with the left side at the whole right side" in each for each in problems)
    assert any("left [0, 1], right [0, 1]" in each for each in problems)
    assert repair(Store.open(settings.store), settings, made.run, EVERY_ROOT)
    assert verify(Store.open(settings.store), made.run, roots=EVERY_ROOT).problems == []


@pytest.mark.parametrize("name", ["windows.parquet", "reduced.parquet", "plan.parquet"])
def test_a_damaged_plan_is_named_and_made_again(store, name):
    folder, before = open_run(store).folder, open_run(store).manifest.digest
    path = store + f"/runs/{folder.run}/{name}"
    with open(path, "r+b") as file:
        file.write(b"PAR9")
    assert any(name in problem for problem in verify(Store.open(store), folder.run).problems)
    repair(Store.open(store), load_settings(store=store, cluster={"local": True}))
    assert verify_store(Store.open(store), roots=EVERY_ROOT).problems == []
    assert open_run(store).manifest.digest == before


def test_another_window_is_refused_for_files_that_were_taken_too(store, tmp_path):
    late = put(tmp_path / "late.csv", CID_IN_TIME)
    assert update(late, load_settings(store=store)).how == "full run"
    assert update(late, load_settings(store=store, ingest={"in_step": "1m"})).how == "taken"
    with pytest.raises(InputError, match="by the policies of its graph, but in_step '61s'"):
        update(late, load_settings(store=store, ingest={"in_step": "61s"}))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("3000000d", "is too long"),
        (1e12, "is too long"),
        ("0.0000001", "is too short"),
        ("abc", "is no length of time"),
    ],
)
def test_a_window_that_cannot_be_is_refused_in_a_sentence(given, problem):
    with pytest.raises(InputError, match=problem):
        load_settings(ingest={"in_step": given})


def test_a_window_may_be_a_number_of_seconds():
    assert [load_settings(ingest={"in_step": each}).ingest.in_step for each in (60, 0.5, 0)] == ["60", "0.5", "0"]


def test_seconds_and_dates_in_one_column_are_called_that(tmp_path):
    mixed = put(tmp_path / "mixed.csv", "user,url,at\nann,x,2026-01-01T10:00\nbob,x,1704067230\n")
    with pytest.raises(
        InputError, match=r"line 3, .* write all of the column as 2026-01-31T12:00, or all as Unix seconds"
    ):
        bicliq.find(mixed, left="user", right="url", time="at", in_step=60)
