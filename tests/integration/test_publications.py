"""The order in which runs were published: found without reading all of them, and right whatever was
killed, removed, published again, or damaged."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.questions.count import count_run
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.repair import repair
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import CheckSettings, PlanSettings, PublishSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.stale import last_published
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import (
    PLACE,
    last_number,
    last_of_source,
    latest_published,
    make_next,
    number_counts,
    tell_source,
)
from bicliq.pipeline.store.records import Checks, Manifest, Numbered, RunRecord
from bicliq.pipeline.store.states import latest_run
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.rollback import make_latest
from bicliq.pipeline.versions.update import update
from tests.system_calls import read_below

SECONDS = [f"2026-11-22T18:00:{second:02}+00:00" for second in range(10)]


def published(path: Path, number: int) -> str:
    """Run a small table of its own."""
    left, right = np.nonzero(np.random.default_rng(number).random((6, 6)) < 0.5)
    table = path / f"{number}.csv"
    table.write_text("".join(["l,r\n", *(f"u{u},v{v}\n" for u, v in zip(left, right, strict=True))]))
    return run(str(table), settings_of(path)).run


def settings_of(path: Path):
    return load_settings(store=str(path / "store"), cluster={"local": True})


def as_scanned(store: Store) -> str | None:
    """The latest run by the manifests of all."""
    moments = {}
    for name in store.runs():
        manifest = store.run(name).manifest()
        if manifest is not None:
            moments[manifest.created, store.run(name).record().created, name] = name
    return moments[max(moments)] if moments else None


def asked_of(run: str, created: str) -> RunRecord:
    """What is asked of a run of no graph."""
    how = {"search": SearchSettings(), "plan": PlanSettings(), "publish": PublishSettings()}
    return RunRecord(run=run, graph="g", asks="bicliques", created=created, **how)


def manifest_of(run: str, created: str) -> Manifest:
    """The manifest of a run of nothing."""
    numbers = dict.fromkeys(("n_left", "n_right", "n_edges", "bicliques", "partitions", "bytes", "threads"), 0)
    lists = {name: [] for name in ("left_histogram", "right_histogram", "files")}
    about = {"run": run, "graph": "g", "side": "left", "digest": "0" * 16, "backend": "none", "seconds": {}}
    return Manifest(**numbers, **lists, **about, complete=True, limit=None, largest=None, created=created)


STEPS = st.tuples(
    st.sampled_from(["publish", "is killed first", "take back", "remove", "count"]),
    st.integers(0, 3),
    st.sampled_from(SECONDS),
)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_the_latest_run_is_the_last_numbered_one_that_is_there_whatever_happened(steps):
    """Clocks jump: moments come in any order, and are shared."""
    store, numbered = Store.open(f"memory://publications-{uuid.uuid4()}"), []
    for step, number, moment in steps:
        folder = store.run(f"run{number}")
        folder.write(RunRecord.at, asked_of(folder.run, SECONDS[number]))
        if step in ("publish", "is killed first"):
            folder.write(Manifest.at, manifest_of(folder.run, moment))
        if step == "publish":
            make_next(folder, moment)
            numbered.append(folder.run)
        if step == "count":
            number_counts(folder, moment)
            numbered += [latest] if (latest := latest_published(store)) else []
        if step == "take back":
            folder.unpublish()
        if step == "remove":
            folder.remove("manifest.json", "run.json")
        there = [run for run in numbered if store.run(run).manifest() is not None]
        assert latest_published(store) == (there[-1] if there else as_scanned(store))


def test_a_run_that_is_made_the_latest_again_and_again_takes_one_number(tmp_path):
    name = published(tmp_path, 0)
    store = Store.open(settings_of(tmp_path).store)
    before = store.run(name).read_bytes("manifest.json")
    for _ in range(3):
        make_latest(store, name)
    assert (last_number(store), latest_run(store)) == (1, name)
    assert store.run(name).read_bytes("manifest.json") == before, "what is published stays as it is"


def test_a_record_that_was_half_written_goes_with_the_next(tmp_path):
    first = published(tmp_path, 1)
    store = Store.open(str(tmp_path / "store"))
    half = tmp_path / "store" / PLACE / f".begun.json.{'0' * 32}.tmp"
    half.write_text("{")
    assert [path.rsplit("/", 1)[-1] for path in verify_store(store).leftovers] == [half.name]
    assert {first, published(tmp_path, 2)} == set(store.runs())
    assert verify_store(store).leftovers == []


def test_what_reads_for_the_last_run_does_not_grow_with_the_number_of_runs(tmp_path):
    taken = []
    for number in range(12):
        with read_below(tmp_path / "store", listed=True) as in_run:
            name = published(tmp_path, number)
        store = Store.open(settings_of(tmp_path).store)
        with read_below(tmp_path / "store", listed=True) as later:
            assert latest_run(store) == name
        taken.append((len(in_run), len(later)))
    assert len(set(taken[1:])) == 1, "the first one finds no entry"


def test_the_last_run_of_a_source_is_found_among_others(tmp_path):
    first, second = published(tmp_path, 0), published(tmp_path, 1)
    store = Store.open(settings_of(tmp_path).store)
    for name, number in ((first, 0), (second, 1)):
        summary = store.run(name).graph.record().summary
        check_input(store, name, replace(summary, rows_read=2 * summary.rows_read), CheckSettings())
        found = store.run(name).read(Checks)
        assert (found.last, found.checks[0].value) == (name, 1.0)
        assert summary.source.uri.endswith(f"{number}.csv")


def test_nothing_of_the_log_is_written_again(tmp_path):
    """Of two publications at once the later one is the last of its table, whoever writes last."""
    first, asked = published(tmp_path, 0), settings_of(tmp_path)
    store = Store.open(asked.store)
    source = store.run(first).graph.record().summary.source.uri
    before = {path: path.read_bytes() for path in (Path(store.path) / PLACE).iterdir()}
    (tmp_path / "0.csv").write_text("l,r\nu0,v0\nu0,v1\n")
    second = run(str(tmp_path / "0.csv"), asked).run
    assert last_of_source(store, source).run == second
    tell_source(store, 1, Numbered(run=first, created=SECONDS[0]))  # one that was held up
    assert last_of_source(store, source).run == second
    prune(store, keep_last=1, remove=True)
    make_next(store.run(second), SECONDS[9])
    assert {path: path.read_bytes() for path in before} == before


def test_a_run_that_is_asked_for_again_adds_an_entry_of_the_log_and_writes_nothing_else(tmp_path):
    first, store = published(tmp_path, 0), tmp_path / "store"
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    moment = last_published(Store.open(str(store)))
    assert published(tmp_path, 0) == first
    after = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before
    assert [path.name for path in after if path not in before] == ["number-00000002.json"]
    assert last_published(Store.open(str(store))) > moment, "it is not stale"
    assert verify_store(Store.open(str(store))).problems == []


def test_a_process_that_was_killed_before_it_said_of_which_table_the_run_is_is_made_up_for(tmp_path):
    first, store = published(tmp_path, 0), Store.open(settings_of(tmp_path).store)
    (of_source,) = (Path(store.path) / PLACE).glob("source-*")
    before = of_source.read_bytes()
    of_source.unlink()
    assert published(tmp_path, 0) == first
    assert of_source.read_bytes() == before
    assert verify_store(store).problems == []


def test_versions_rollback_and_prune_keep_the_order(tmp_path):
    base, asked = published(tmp_path, 0), settings_of(tmp_path)
    store = Store.open(asked.store)
    (tmp_path / "more.csv").write_text("l,r\nu0,v9\nu1,v9\n")
    version = update(str(tmp_path / "more.csv"), asked).version
    assert latest_run(store) == version
    make_latest(store, base)
    assert latest_run(store) == base
    make_latest(store, version)
    assert latest_run(store) == version
    other = published(tmp_path, 1)
    assert latest_run(store) == other == as_scanned(store)
    prune(store, keep_last=1, remove=True)
    assert latest_run(store) == other
    assert verify_store(store).problems == []


def test_a_compaction_that_was_overtaken_is_not_missed_in_the_log(tmp_path):
    base, asked = published(tmp_path, 0), settings_of(tmp_path)
    store, versions = Store.open(asked.store), []
    for vertex in ("v8", "v9"):
        (tmp_path / f"{vertex}.csv").write_text(f"l,r\nu0,{vertex}\nu1,{vertex}\n")
        versions.append(update(str(tmp_path / f"{vertex}.csv"), asked).version)
    make_latest(store, versions[0])
    assert compact(store, versions[1]).how == "merged", "it holds what is no longer the latest"
    whole = compact(store, versions[0]).run
    assert latest_run(store) == whole
    assert verify_store(store).problems == []
    assert base in store.runs()


def test_counts_leave_the_latest_run_what_it_is(tmp_path):
    name, asked = published(tmp_path, 0), settings_of(tmp_path)
    store = Store.open(asked.store)
    before = last_published(store)
    count_run(str(tmp_path / "0.csv"), CountAsked(2, 2), asked)
    assert (latest_run(store), last_number(store)) == (name, 2)
    assert last_published(store) > before
    assert verify_store(store).problems == []


@pytest.mark.parametrize("asks", ["bicliques", "counts"])
def test_what_is_done_and_not_published_yet_is_no_damage_and_what_was_published_is(tmp_path, asks):
    name, asked = published(tmp_path, 0), settings_of(tmp_path)
    store, record = Store.open(asked.store), "manifest.json"
    if asks == "counts":
        count_run(str(tmp_path / "0.csv"), CountAsked(2, 2), asked)
        (name,) = set(store.runs()) - {name}
        record = "counts.json"
    store.run(name).remove(record)
    (problem,) = verify_store(store, name).problems
    assert problem.startswith(f"runs/{name}/{record}: it is missing")
    shutil.rmtree(Path(store.path) / PLACE)  # as before its process took a number
    found = verify_store(store, name)
    assert (found.problems, found.runs[0].complete) == ([], False)


def test_a_store_without_its_log_is_read_as_it_is_and_numbered_by_the_next_run(tmp_path):
    runs = [published(tmp_path, number) for number in range(3)]
    store = Store.open(settings_of(tmp_path).store)
    shutil.rmtree(Path(store.path) / PLACE)
    assert (latest_run(store), verify_store(store).problems) == (runs[2], [])
    assert published(tmp_path, 3) == latest_run(store)


@pytest.mark.parametrize("which", ["number-00000001", "number-00000002", "source"])
@pytest.mark.parametrize("how", ["gone", "flipped"])
def test_what_is_damaged_of_it_is_named_and_written_again(tmp_path, how, which):
    runs = [published(tmp_path, number) for number in range(2)]
    store = Store.open(settings_of(tmp_path).store)
    path = next((Path(store.path) / PLACE).glob(f"{which}*"))
    before = path.read_bytes()
    if how == "flipped":
        path.write_bytes(bytes([*before[:-20], before[-20] ^ 1, *before[-19:]]))
    else:
        path.unlink()
    found = verify_store(store)
    assert any(problem.startswith(f"{PLACE}/{path.name}: ") for problem in found.problems)
    repair(store, settings_of(tmp_path))
    assert verify_store(store).problems == []
    assert latest_run(store) == runs[1]
    if (how == "flipped" and which != "number-00000001") or which == "source":
        assert path.read_bytes() == before
