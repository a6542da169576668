"""The benchmark of growth: generated tables of several sizes, all the way, each stage a process."""

from __future__ import annotations

import json
import multiprocessing
import threading
import time

import pytest

from benchmarks.generate import generate
from benchmarks.growth import CORNERS, SEED, STAGES, draw_growth, growth_exponents, measure_growth
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.search import enumerate_table
from tests.benches import bench
from tests.nightly import by_night


@by_night
def test_tables_of_two_sizes_are_measured_and_found_again(tmp_path, capsys):
    picture = tmp_path / "growth.svg"
    words = ["growth", str(tmp_path / "g"), "--edges", "400", "--edges", "1600", "--min-left", "2", "--json"]
    assert bench(*words, "--picture", str(picture)) == 0
    first = json.loads(capsys.readouterr().out)
    rows = first["stages"]
    assert [(row["edges"], row["stage"]) for row in rows] == [(n, stage) for n in (400, 1600) for stage in STAGES]
    assert all(row["cpu_seconds"] > 0 and row["seconds"] > 0 and row["peak"] > 2**24 for row in rows)
    assert set(first["exponents"]) == {*STAGES, "all"}
    assert "edges^" in picture.read_text()

    generate(str(tmp_path / "table"), 160, 40, 1600, SEED, CORNERS)
    alone = enumerate_table(str(tmp_path / "table"), load_settings(search={"min_left": 2}), "digest")
    assert rows[-1]["found"] == {"bicliques": alone["bicliques"], "digest": alone["digest"]}
    assert not list(tmp_path.glob("g/*/table")), "a table goes when it has been read"

    assert bench(*words) == 0
    assert json.loads(capsys.readouterr().out)["stages"] == rows, "what was measured is not measured again"


@by_night
def test_a_measurement_that_was_ended_goes_on(tmp_path):
    settings = load_settings()
    whole = measure_growth(tmp_path, [300], settings)
    begun = [next(whole) for _ in range(2)]
    whole.close()
    again = list(measure_growth(tmp_path, [300], settings))
    assert again[:2] == begun
    assert [one.stage for one in again] == list(STAGES)
    other = settings.model_copy(update={"search": settings.search.model_copy(update={"min_left": 3})})
    with pytest.raises(InputError, match="measured with other settings"):
        next(measure_growth(tmp_path, [300], other))
    threading.Thread(target=_kill_a_process, daemon=True).start()  # as a system short of memory
    with pytest.raises(BicliqError, match="the process of generate was killed"):
        next(measure_growth(tmp_path / "other", [300], settings))


def _kill_a_process() -> None:
    while not (begun := multiprocessing.active_children()):
        time.sleep(0.001)
    begun[0].kill()


def test_exponents_are_those_of_powers_and_a_single_size_has_none(tmp_path):
    rows = [{"stage": s, "edges": n, "cpu_seconds": 3.0 * n**1.25} for n in (10, 100, 1000) for s in ("plan", "search")]
    assert growth_exponents(rows) == {"plan": 1.25, "search": 1.25, "all": 1.25}
    assert growth_exponents(rows[:2]) == {}
    draw_growth(rows[:2], tmp_path / "one.svg")
    draw_growth(rows, tmp_path / "other.svg")
    assert (tmp_path / "one.svg").read_text() != (tmp_path / "other.svg").read_text()
