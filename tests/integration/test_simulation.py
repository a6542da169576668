"""What many workers would take: bounds that hold for every order, and the pieces of a real run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulation import CUTS, makespan
from bicliq.flows.cli import invoke
from tests.benches import bench
from tests.nightly import by_night
from tests.real_graphs import DATA

SECONDS = st.lists(st.floats(0, 100), min_size=1, max_size=60)


@given(SECONDS, st.integers(1, 80), st.floats(0, 0.5))
def test_no_end_is_before_what_must_be_done_or_after_what_graham_proved(seconds, workers, price):
    end, enough = makespan(seconds, workers, price), 1e-9
    least = max(sum(seconds) / workers, max(seconds), price * len(seconds))
    assert end >= least - enough
    assert end <= sum(seconds) / workers + max(seconds) + price * len(seconds) + enough
    assert makespan(seconds, 1) == pytest.approx(sum(seconds))
    assert makespan(seconds, len(seconds)) == pytest.approx(max(seconds))


@by_night
def test_a_run_is_simulated_from_its_own_times_and_only_when_it_is_finished(tmp_path, capsys):
    store, picture = str(tmp_path / "store"), tmp_path / "simulated.svg"
    table = [str(DATA / "UCforum.adj"), "--store", store, "--local", "--threads", "1", "--partitions", "4"]
    assert invoke(["run", *table, "--max-bicliques", "10", "--json"]) == 0
    simulate = ["scale", "--store", store, "--simulate", "1000"]
    assert bench(*simulate) == 2
    assert "resume the run first" in capsys.readouterr().err
    assert invoke(["run", *table, "--json"]) == 0
    capsys.readouterr()
    assert bench(*simulate, "--picture", str(picture), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    rows = {(row["cut"], row["workers"]): row for row in found["simulated"]}
    assert {cut for cut, _ in rows} == set(CUTS)
    assert {size for _, size in rows} == {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
    longest = [rows[cut, 1]["longest"] for cut in CUTS]
    assert longest == sorted(longest, reverse=True)
    pieces = [rows[cut, 1]["pieces"] for cut in CUTS]
    assert pieces == sorted(pieces)
    assert pieces[0] == 4 < pieces[1]
    for row in rows.values():
        assert row["seconds"] >= max(row["longest"], row["pieces"] * found["hand_out"] * 0.999) - 1e-4
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--picture", "x.svg"], "--simulate"),
        (["--simulate", "10", "--backend", "cuda"], "--backend"),
        (["--simulate", "10", "--threads", "2"], "--threads"),
        (["--simulate", "10", "--picture", "x.doc"], "--picture"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options, words, capsys):
    assert bench("scale", *options) == 2
    assert words in capsys.readouterr().err
