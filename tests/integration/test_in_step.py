"""Groups in step at the doors that people take: what is found, told, counted and refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq import kernels
from bicliq.flows.cli.app import invoke
from bicliq.kernels import available_memory
from bicliq.pipeline.errors import CapacityError, InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.dealt import Dealer
from tests.memory_room import room
from tests.nightly import by_night

SHARES = """user,url,at
ann,x,2026-01-01T00:00:00Z
bob,x,2026-01-01T00:00:20Z
cid,x,2025-12-31T19:01:00-05:00
ann,y,2026-01-02T00:00:00Z
bob,y,2026-01-02T01:00:30+01:00
cid,y,2026-01-02T00:05:30Z
dan,y,
"""
"""cid shares x just within the minute, and y minutes later; written in three zones."""

COLUMNS = ["--left", "user", "--right", "url", "--time", "at"]
READ = {"left": "user", "right": "url", "time": "at", "nulls": "drop"}


@pytest.fixture
def shares(tmp_path):
    path = tmp_path / "shares.csv"
    path.write_text(SHARES)
    return str(path)


def record(capsys, *arguments):
    assert invoke([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_find_tells_the_groups_and_when_they_were_in_step(shares, capsys):
    said = record(capsys, "find", shares, *COLUMNS, "--nulls", "drop", "--in-step", "60s", "--min-left", "2")
    both, three = said["groups"]
    assert (both["left"], both["right"], both["value"]) == (["ann", "bob"], ["x", "y"], 4)
    assert both["windows"] == [
        {"start": "2026-01-01T00:00:00+00:00", "end": "2026-01-01T00:00:20+00:00"},
        {"start": "2026-01-02T00:00:00+00:00", "end": "2026-01-02T00:00:30+00:00"},
    ]
    assert (three["left"], three["right"]) == (["ann", "bob", "cid"], ["x"])
    assert said["proven"]
    assert (said["rows_read"], said["edges"], said["dropped"]) == (7, 6, {"nulls": 1})
    assert said["assumed"] == []  # each time has a zone
    assert said["in_step"]["seconds"] == 60


def test_a_window_of_a_second_less_holds_one_less(shares):
    assert [group["n_left"] for group in bicliq.find(shares, in_step="59.999999s", min_left=3, **READ)] == []


def test_people_read_when_each_began_and_how_long_it_took(shares, capsys):
    assert invoke(["find", shares, *COLUMNS, "--nulls", "drop", "--in-step", "1m", "--top", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "x (2026-01-01 00:00:00 UTC + 20 s)" in shown


def test_enumerate_counts_what_find_lists(shares, capsys):
    arguments = [shares, *COLUMNS, "--nulls", "drop", "--in-step", "60s"]
    counted = record(capsys, "enumerate", *arguments, "--digest")
    assert counted["bicliques"] == len(record(capsys, "find", *arguments)["groups"]) == 3
    assert counted["complete"]
    assert record(capsys, "enumerate", *arguments, "--side", "right", "--digest")["digest"] == counted["digest"]
    assert invoke(["enumerate", *arguments]) == 0
    assert "3 groups in step" in capsys.readouterr().out
    short = record(capsys, "enumerate", *arguments, "--max-bicliques", "2")
    assert (short["bicliques"], short["complete"]) == (2, False)
    assert invoke(["enumerate", *arguments, "--max-bicliques", "2", "--on-limit", "error"]) == 3
    assert "raise --max-bicliques" in capsys.readouterr().err


def test_an_estimate_says_where_it_is_a_bound(shares):
    several = bicliq.estimate(shares, in_step="60s", **READ)
    assert (several.exact, several.low) == (False, 0)
    assert several.high >= 3
    assert any("at most" in each for each in several.record["assumed"])
    one_each = bicliq.estimate(shares, in_step="60s", min_left=2, **READ)
    assert (one_each.exact, one_each.bicliques) == (True, 2)


def test_restrictions_and_objectives_hold(shares, tmp_path):
    assert [g["left"] for g in bicliq.find(shares, in_step="60s", within=["ann", "cid"], min_left=2, **READ)] == [
        ["ann", "cid"]
    ]
    assert [g["left"] for g in bicliq.find(shares, in_step="60s", max_left=1, **READ)] == [["cid"]]
    heavy = bicliq.find(shares, in_step="60s", by="weight", left_weights={"cid": 5.5}, top=1, **READ)
    assert [(g["left"], g["value"]) for g in heavy] == [(["ann", "bob", "cid"], 5.5)]
    assert [g["value"] for g in bicliq.find(shares, in_step="60s", by="vertices", **READ)] == [4, 4, 3]
    assert bicliq.find(shares, in_step="60s", by="balanced", top=1, **READ).to_arrow()["value"].to_pylist() == [2]


def crowd(seed, *, ring=False):
    """Shares without structure, and a link that two thousand share within an hour."""
    draw = np.random.default_rng(seed)
    n = 20_000
    accounts = np.r_[draw.zipf(1.6, n) % 2000, draw.choice(2000, 1500, replace=False)]
    links = np.r_[draw.zipf(1.5, n) % 1500, np.full(1500, 5000)]
    at = np.r_[draw.uniform(0, 30 * 86400, n), draw.uniform(1e6, 1e6 + 3600, 1500)]
    if ring:
        pairs = np.argwhere(np.ones((5, 5)))
        accounts = np.r_[accounts, 7000 + pairs[:, 0]]
        links = np.r_[links, 6000 + pairs[:, 1]]
        at = np.r_[at, 2e6 + 5e4 * pairs[:, 1] + draw.uniform(0, 50, len(pairs))]
    return pa.table({"account": accounts, "link": links, "at": at})


BY_CHANCE = {"left": "account", "right": "link", "time": "at", "in_step": "60s", "by": "surprise", "min_left": 2}


@pytest.mark.parametrize("seed", range(5))
def test_a_link_that_everybody_shares_is_no_ring_and_a_ring_is_one(seed):
    nothing = bicliq.find(crowd(seed), **BY_CHANCE)
    assert (len(nothing), nothing.proven) == (0, True)
    assert "nothing is beyond what chance gives" in nothing.record["why_none"]
    none = bicliq.find(crowd(seed), **BY_CHANCE, min_surprise=1e6)
    assert none.record["why_none"] == "there is none of these sizes that has a surprise of at least 1e+06"
    largest = bicliq.find(crowd(seed), **BY_CHANCE | {"by": "edges"}, top=1)
    assert [group["right"] for group in largest] == [[5000]]
    (group,) = bicliq.find(crowd(seed, ring=True), **BY_CHANCE)
    assert (group["left"], group["right"]) == (list(range(7000, 7005)), list(range(6000, 6005)))
    assert group["value"] > 50
    assert group["expected"] < 1


@by_night
def test_a_ring_is_beyond_all_random_tables_and_what_is_largest_by_chance_is_not():
    (ring,) = bicliq.find(crowd(1, ring=True), **BY_CHANCE, null=19, seed=3)
    assert (ring["n_left"], ring["p"]) == (5, 1 / 20)
    (largest,) = bicliq.find(crowd(1), **BY_CHANCE | {"by": "edges"}, top=1, null=9)
    assert largest["p"] > 0.1
    below = bicliq.find(crowd(1), **BY_CHANCE, min_surprise=-50, top=3, null=9)
    assert all(group["p"] > 0.1 for group in below)


@pytest.mark.parametrize("seed", range(8))
def test_a_table_whose_actions_are_dealt_anew_has_no_group_beyond_chance(seed):
    rows = [column.to_numpy() for column in crowd(seed % 2, ring=True).columns]
    (who, left), (what, right) = (np.unique(side, return_inverse=True) for side in rows[:2])
    graph = BipartiteGraph.from_edges(*np.unique([left, right], axis=1), len(who), len(what))
    columns = kernels.rewire_rows(graph.indptr, graph.indices, graph.n_right, seed)
    dealt = who[Dealer(left.astype(np.int32), right.astype(np.int32), graph)(columns, seed)]
    random = pa.table({"account": dealt, "link": rows[1], "at": rows[2]})
    assert list(bicliq.find(random, **BY_CHANCE)) == []


def test_groups_of_a_run_have_the_p_of_find(tmp_path, capsys):
    csv.write_csv(crowd(1, ring=True), path := str(tmp_path / "shares.csv"))
    store = ["--store", str(tmp_path / "store")]
    asked = ["--time", "at", "--in-step", "60s", "--min-left", "3", "--min-right", "3"]
    record(capsys, "run", path, *asked, *store)
    for by in ("surprise", "edges"):
        found = record(capsys, "find", path, *asked, "--by", by, "--null", "19", "--top", "2")
        shown = record(capsys, "show", "--by", by, "--null", "19", "--top", "2", *store)
        assert [group["p"] for group in shown["bicliques"]][: len(found["groups"])] == [
            group["p"] for group in found["groups"]
        ]
        assert shown["null"] == found["null"]
        assert found["null"]["tables"] == 19
    assert invoke(["find", path, *asked, "--null", "19", "--top", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "p: the share of 19 random tables of the same degrees and times at each right vertex" in said


def test_the_command_says_what_chance_gives_in_step(tmp_path, capsys):
    csv.write_csv(crowd(1, ring=True), path := str(tmp_path / "shares.csv"))
    asked = ["find", path, "--time", "at", "--in-step", "60s", "--by", "surprise", "--min-left", "2"]
    assert invoke([*asked, "--report", str(tmp_path / "page.html")]) == 0
    assert "every vertex has as many edges, at times of others;" in (tmp_path / "page.html").read_text()
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "1 group by surprise" in shown
    assert "chance" in shown
    assert record(capsys, *asked, "--containing", "left:7001")["groups"][0]["n_left"] == 5
    none = record(capsys, *asked, "--containing", "left:1", "--containing", "right:6001")
    assert (none["groups"], none["why_none"]) == (
        [],
        "'left:1' is not joined to all of 'right:6001', so no group holds these members",
    )


def test_numbers_are_seconds_and_frames_keep_their_zone():
    base = {"who": ["a", "b"], "what": ["x", "x"]}
    asked = {"left": "who", "right": "what", "time": "at", "in_step": "0", "min_left": 2}
    numbers = bicliq.find(pa.table({**base, "at": [1.7e9 + 0.1, 1.7e9 + 0.1]}), **asked)
    assert numbers.to_arrow()["windows"].to_pylist()[0][0]["start"].isoformat() == "2023-11-14T22:13:20.100000+00:00"
    zoned = pa.array([10**15, 10**15], pa.timestamp("us", "Asia/Tokyo"))
    assert len(bicliq.find(pa.table({**base, "at": zoned}), **asked)) == 1


WITH_AND_WITHOUT = {
    "numbers are Unix seconds": [1_767_225_600, 1_767_225_610.5],
    "dates without a zone are UTC": ["2026-01-01", "2026-01-01T00:00:10Z"],
    "dates without a zone are UTC ": pa.array([0, 10**6], pa.timestamp("us")),
    "dates without a zone are UTC  ": pa.array([20_000, 20_001], pa.date32()),
    "": ["2026-01-01T00:00:00-05:00", "2026-01-01T00:00:10Z"],
    " ": pa.array([0, 10**9], pa.timestamp("us", "Asia/Tokyo")),
}


@pytest.mark.parametrize("sentence", WITH_AND_WITHOUT)
@pytest.mark.parametrize("kind", ["csv", "parquet", "in memory"])
def test_what_times_were_taken_for_is_said_where_there_is_a_doubt(tmp_path, kind, sentence):
    times = WITH_AND_WITHOUT[sentence]
    table = pa.table({"user": ["a", "b"], "url": ["x", "x"], "at": times})
    path = tmp_path / f"shares.{kind}"
    if kind == "csv":
        rows = zip(("a", "b"), pa.array(times).cast(pa.string()).to_pylist(), strict=True)
        path.write_text("user,url,at\n" + "".join(f"{user},x,{at}\n" for user, at in rows))
    elif kind == "parquet":
        pq.write_table(table, path)
    found = bicliq.find(
        table if kind == "in memory" else path, left="user", right="url", time="at", in_step="1d", min_left=2
    )
    assert found.record["assumed"] == ([f"times of column at: {sentence.strip()}"] if sentence.strip() else [])
    assert found.record["noted"] == {}


def test_rows_at_other_times_are_no_repetitions(tmp_path, capsys):
    path = tmp_path / "again.csv"
    path.write_text("user,url,at\nann,x,1.0\nann,x,2\nann,x,2.0000001\nbob,x,2\nbob,y,2\nbob,y,2\n")
    asked = [str(path), "--time", "at", "--in-step", "1s"]
    said = record(capsys, "find", *asked)
    assert (said["rows_read"], said["edges"], said["duplicates"]) == (6, 3, 2)
    assert said["noted"] == {"actions_at_other_times": 1}
    assert invoke(["find", *asked]) == 0
    shown = capsys.readouterr()
    assert "6 rows read: 2 repeat an action; nothing dropped; 1 actions at other times" in shown.out + shown.err
    assert invoke(["find", *asked, "--duplicates", "error"]) == 2
    assert (
        "2 of 6 rows repeat an action, at the same time; unite them with --duplicates first" in capsys.readouterr().err
    )
    path.write_text("user,url,at\nann,x,1\nann,x,2\nbob,x,2\n")
    assert record(capsys, "find", *asked, "--duplicates", "error")["duplicates"] == 0
    assert invoke(["find", str(path), *COLUMNS, "--duplicates", "error"]) == 2
    assert "1 of 3 rows repeat an edge" in capsys.readouterr().err


def test_times_with_and_without_a_zone_stand_in_one_column(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text(
        "user,url,at\nann,x,2026-01-01T00:00:00Z\nbob,x,2026-01-01 00:00:20\ncid,x,2026-01-01T01:00:10+01:00\n"
    )
    (group,) = bicliq.find(path, left="user", right="url", time="at", in_step="20s", min_left=3)
    assert group["windows"] == [{"start": "2026-01-01T00:00:00+00:00", "end": "2026-01-01T00:00:20+00:00"}]


def test_a_page_of_the_answer_is_written(shares, tmp_path, capsys):
    page = tmp_path / "page.html"
    record(capsys, "find", shares, *COLUMNS, "--nulls", "drop", "--in-step", "60s", "--report", str(page))
    text = page.read_text()
    assert "which all of them acted within one window" in text
    assert 'class="tick member"' in text
    assert text.count("<title>first seen 2026-01-01 00:00:20</title>") == 2, "bob at x, in the groups with ann"
    assert "<title>first seen 2026-01-02 00:00:30</title>" in text
    assert "from 2026-01-01 00:00:00 to 2026-01-02 00:00:30" in text
    assert "surprise" in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--left", "user", "--right", "url", "--in-step", "60s"], "which column is the time? Name it"),
        ([*COLUMNS, "--in-step", "60s"], "line 8, column at (time): the time is missing"),
        ([*COLUMNS, "--in-step", "-5s"], "in_step '-5s'"),
        ([*COLUMNS, "--in-step", "a minute"], "is no length of time"),
        ([*COLUMNS, "--in-step", "60s", "--window", "3d"], "--in-step and window contradict each other"),
        ([*COLUMNS, "--in-step", "60s", "--diverse", "--by", "balanced"], "--diverse is for edges, surprise"),
        ([*COLUMNS, "--in-step", "60s", "--null", "9", "--within", "left:ann"], "compares a whole table with random"),
        ([*COLUMNS, "--in-step", "60s", "--missing", "2"], "an action that is missing has no time"),
        ([*COLUMNS, "--in-step", "60s", "--backend", "cuda"], "leave out --backend cuda"),
    ],
)
def test_what_contradicts_is_refused_in_one_line(shares, capsys, options, problem):
    assert invoke(["find", shares, *options]) == 2
    said = capsys.readouterr().err
    assert problem in said
    assert len(said.strip().splitlines()) == 1


def test_what_has_no_times_is_refused(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("user,a,b\nann,1,0\nbob,1,1\n")
    (tmp_path / "baskets.txt").write_text("a b\na\n")
    for name, kind in (("rows.csv", "matrix"), ("baskets.txt", "baskets")):
        assert invoke(["find", str(tmp_path / name), "--format", kind, "--in-step", "1m"]) == 2
        assert "in_step" in capsys.readouterr().err.replace("in-step", "in_step")


def test_questions_without_groups_in_step_say_who_has_them(shares, tmp_path, capsys):
    arguments = [*COLUMNS, "--nulls", "drop", "--in-step", "60s"]
    for command in (
        ["count", shares, "2", "2"],
        ["clique", shares],
        ["count", shares, "2", "2", "--store", str(tmp_path)],
    ):
        assert invoke([*command, *arguments]) == 2
        assert "is for runs, find, estimate" in capsys.readouterr().err


def test_a_time_before_dates_is_refused():
    table = pa.table({"who": ["a"], "what": ["x"], "at": [-1e11]})
    with pytest.raises(InputError, match="a time before the year 1"):
        bicliq.find(table, left="who", right="what", time="at", in_step="60s")


def test_windows_that_do_not_fit_in_memory_are_refused_before_they_are_made():
    n = 20_000  # at as many times: half as many windows, each of half of them
    crowd = pa.table({"who": range(n), "what": [0] * n, "at": range(n)})
    with room(1 << 30):
        assert available_memory() < 1 << 31
        with pytest.raises(CapacityError, match=r"windows hold 100,010,000 vertices together.* a shorter in_step"):
            bicliq.find(crowd, left="who", right="what", time="at", in_step="9999s")
