"""The order in which runs were published: found without reading all of them, and right whatever was
killed, removed, published again, or damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.repair import repair
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import CheckSettings, PlanSettings, PublishSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.publications import PLACE, announce, forget, publications
from bicliq.pipeline.store.records import Begun, Checks, Manifest, RunRecord
from bicliq.pipeline.store.states import latest_published, latest_run
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.rollback import make_latest
from bicliq.pipeline.versions.update import update

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
    st.sampled_from(["publish", "is killed first", "take back", "remove", "remove, and is killed", "earlier bicliq"]),
    st.integers(0, 3),
    st.sampled_from(SECONDS),
)


@settings(deadline=None)
@given(st.lists(STEPS, max_size=12), st.uuids())
def test_the_latest_run_is_that_of_the_manifests_whatever_happened(steps, name):
    """Clocks jump: moments come in any order, and are shared."""
    store = Store.open(f"memory://publications-{name}")
    for step, number, moment in steps:
        folder = store.run(f"run{number}")
        folder.write(RunRecord.at, asked_of(folder.run, SECONDS[number]))
        if step in ("publish", "is killed first"):
            announce(folder, moment)
        if step == "publish":
            folder.write(Manifest.at, manifest_of(folder.run, moment))
        if step == "take back":
            folder.unpublish()
        if step.startswith("remove"):
            folder.remove("manifest.json", "run.json")
            if step == "remove":
                forget(store, folder.run)
        if step == "earlier bicliq" and publications(store) is None:  # which wrote nothing down
            folder.write(Manifest.at, manifest_of(folder.run, moment))
        assert latest_published(store) == as_scanned(store)


def test_a_run_that_is_published_again_and_again_is_written_down_twice_at_most(tmp_path):
    name = published(tmp_path, 0)
    store = Store.open(settings_of(tmp_path).store)
    for _ in range(3):
        make_latest(store, name)
    assert len(list(publications(store))) == 2
    assert latest_run(store) == name


def test_a_record_that_was_half_written_goes_with_the_next(tmp_path):
    first = published(tmp_path, 1)
    store = Store.open(str(tmp_path / "store"))
    half = tmp_path / "store" / PLACE / f".begun.json.{'0' * 32}.tmp"
    half.write_text("{")
    assert [path.rsplit("/", 1)[-1] for path in verify_store(store).leftovers] == [half.name]
    assert {first, published(tmp_path, 2)} == set(store.runs())
    assert verify_store(store).leftovers == []


def test_what_reads_for_the_last_run_does_not_grow_with_the_number_of_runs(tmp_path, monkeypatch):
    reads = []
    read_bytes, files_of = Folder.read_bytes, Folder.files
    monkeypatch.setattr(
        Folder, "read_bytes", lambda self, name, *most: reads.append(name) or read_bytes(self, name, *most)
    )
    monkeypatch.setattr(Folder, "files", lambda self, under="": reads.append(under) or files_of(self, under))
    taken = []
    for number in range(12):
        reads.clear()
        name = published(tmp_path, number)
        in_run = len(reads)
        store = Store.open(settings_of(tmp_path).store)
        reads.clear()
        assert latest_run(store) == name
        taken.append((in_run, len(reads)))
    assert len(set(taken[1:])) == 1, "the first one begins to write down what was published"


def test_the_last_run_of_a_source_is_found_among_others(tmp_path):
    first, second = published(tmp_path, 0), published(tmp_path, 1)
    store = Store.open(settings_of(tmp_path).store)
    for name, number in ((first, 0), (second, 1)):
        summary = store.run(name).graph.record().summary
        check_input(store, name, {**summary, "rows_read": 2 * summary["rows_read"]}, CheckSettings())
        found = store.run(name).read(Checks)
        assert (found.last, found.checks[0]["value"]) == (name, 1.0)
        assert summary["source"]["uri"].endswith(f"{number}.csv")


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
    assert {one.run for one in publications(store)} == set(store.runs())
    assert verify_store(store).problems == []


def test_a_store_of_an_earlier_bicliq_is_read_as_it_is_and_written_down_by_the_next_run(tmp_path):
    runs = [published(tmp_path, number) for number in range(3)]
    store = Store.open(settings_of(tmp_path).store)
    shutil.rmtree(Path(store.path) / PLACE)
    assert (latest_run(store), verify_store(store).problems) == (runs[2], [])
    runs.append(published(tmp_path, 3))
    assert [one.run for one in publications(store)] == runs[::-1]


@pytest.mark.parametrize("how", ["gone", "mark gone", "flipped"])
def test_what_is_damaged_of_it_is_named_and_written_again(tmp_path, how):
    runs = [published(tmp_path, number) for number in range(2)]
    store = Store.open(settings_of(tmp_path).store)
    last = next(publications(store))
    path = Path(store.path) / (Begun.at if how == "mark gone" else last.name)
    before = path.read_bytes()
    if how == "flipped":
        path.write_bytes(bytes([*before[:-20], before[-20] ^ 1, *before[-19:]]))
    else:
        path.unlink()
    assert latest_run(store) == runs[1], "its number says so"
    found = verify_store(store)
    assert not found.ok
    assert any(problem.startswith(f"{PLACE}/{path.name}: ") for problem in found.problems)
    repair(store, settings_of(tmp_path))
    assert verify_store(store).problems == []
    assert (path.read_bytes(), latest_run(store)) == (before, runs[1])
