"""Nothing is published that is not whole, and no version leaves out another's edges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bicliq.pipeline.errors import DamageError, InputError, StorageError
from bicliq.pipeline.repair import repair
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.results.export import export
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.stages import plan as plans
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.partition import write_partitions
from bicliq.pipeline.stages.plan import plan_run
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import last_number, number_name
from bicliq.pipeline.store.records import Commit, Numbered
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.states import latest_run
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.rollback import rollback
from bicliq.pipeline.versions.update import update
from tests.integration.killed import killed


def write_tables(path: Path) -> Settings:
    """A table, three more to join, and the settings of a store."""
    random = np.random.default_rng(5)
    rows = [f"u{u},v{v}" for u, v in zip(*np.nonzero(random.random((60, 50)) < 0.14), strict=True)]
    more = [f"u{random.integers(64)},v{random.integers(54)}" for _ in range(75)]
    for name, some in {"base": rows, "one": more[:25], "two": more[25:50], "three": more[50:]}.items():
        (path / f"{name}.csv").write_text("\n".join(["l,r", *some, ""]))
    return load_settings(store=str(path / "store"), cluster={"local": True}, plan={"partitions": 6})


def a_version(path: Path) -> tuple[Store, Settings, str, tuple[int, str]]:
    settings = write_tables(path)
    run(str(path / "base.csv"), settings)
    made = update(str(path / "one.csv"), settings)
    return Store.open(settings.store), settings, made.version, (made.bicliques, made.digest)


def answer(store: Store) -> tuple[int, str]:
    manifest = open_run(store.uri).manifest
    return manifest.bicliques, manifest.digest


def cut_off_compaction(store: Store, version: str) -> str:
    """What a kill between run.json and plan.json leaves."""
    made = compact(store, version).run
    folder = store.run(made)
    keep = {"run.json"}
    folder.remove(*(name for name in folder.files() if name not in keep))
    log = number_name(last_number(store))
    assert store.root.read(Numbered, log).run == made
    store.root.remove(log)
    return made


# ---- plans ---------------------------------------------------------------------------------------


PLAN = """
from bicliq.pipeline.stages.plan import plan_run
from tests.integration.killed import killed
plan_run(Store.open(given[0]), given[1])
"""


@pytest.mark.parametrize("mended_by", ["run", "resume", "repair"])
def test_a_plan_that_is_killed_before_it_removes_other_subgraphs_searches_none_of_them(
    tmp_path, monkeypatch, mended_by
):
    settings = write_tables(tmp_path)
    whole = run(str(tmp_path / "base.csv"), settings.model_copy(update={"store": str(tmp_path / "whole")}))
    store = Store.open(settings.store)
    graph = ingest(str(tmp_path / "base.csv"), store, settings.ingest).graph
    with monkeypatch.context() as other:
        real = plans.plan_partitions

        def reversed_plan(*asked, **how):
            found, size = real(*asked, **how)
            return replace(found, partition=found.partition.max() - found.partition), size

        other.setattr(plans, "plan_partitions", reversed_plan)
        planned = plans.plan(store, graph, settings.search, settings.plan, publish=settings.publish)
        assert write_partitions(store, planned.run) == 6
    folder = store.run(planned.run)
    folder.remove("plan.json")
    killed(PLAN, settings.store, planned.run, method="remove", file="partitions/")
    assert folder.planned.digest != planned.digest
    assert len([name for name in folder.files() if name.endswith(".arrow")]) == 6, "of the plan before"
    found = verify_store(store)
    assert any("another plan" in problem for problem in found.problems), found.problems
    if mended_by == "repair":
        repair(store, settings)
        assert verify_store(store).problems == []
    made = run(str(tmp_path / "base.csv"), settings) if mended_by == "run" else resume(planned.run, settings)
    assert (made.bicliques, made.digest) == (whole.bicliques, whole.digest)
    assert verify_store(store, roots=1 << 30).problems == []


# ---- compactions ---------------------------------------------------------------------------------


def test_a_compaction_that_meets_another_plan_searches_under_it(tmp_path):
    store, _, version, whole = a_version(tmp_path)
    made = cut_off_compaction(store, version)
    plan_run(store, made)  # as `resume` and `verify --repair` plan any run
    found = compact(store, version)
    assert (found.run, found.how) == (made, "searched")
    assert (found.bicliques, found.digest) == whole
    assert answer(store) == whole
    assert verify_store(store, roots=1 << 30).problems == []


def test_a_compaction_with_other_bicliques_is_taken_back_and_written_again(tmp_path):
    store, settings, version, whole = a_version(tmp_path)
    made = cut_off_compaction(store, version)
    compact(store, version)
    folder = store.run(made)
    folder.remove("manifest.json")
    lose_a_partition(store, made)
    assert any("and the version" in problem for problem in verify_store(store).problems)
    with pytest.raises(DamageError, match="were taken back"):
        resume(made, settings)
    assert not folder.committed()
    assert latest_run(store) == version
    assert answer(store) == whole
    resume(made, settings)
    assert answer(store) == whole
    assert verify_store(store).problems == []


def lose_a_partition(store: Store, name: str) -> None:
    """Make a partition's commit that of an empty one, sealed, as a wrong merge would."""
    folder = store.run(name)
    record, other = (folder.read(Commit, Commit.name(number)) for number in (0, 1))
    folder.write_bytes(record.file, folder.read_bytes(other.file))
    data = replace(other.data, name=record.file)
    folder.write(Commit.name(0), replace(other, partition=0, stored=(data,)))


def test_a_compaction_that_is_resumed_after_another_version_is_not_the_latest(tmp_path):
    store, settings, version, _ = a_version(tmp_path)
    made = cut_off_compaction(store, version)
    second = update(str(tmp_path / "two.csv"), settings)
    resume(made, settings)
    assert latest_run(store) == second.version
    assert answer(store) == (second.bicliques, second.digest)


def test_a_limit_publishes_no_part_of_a_version(tmp_path):
    store, settings, version, whole = a_version(tmp_path)
    made = cut_off_compaction(store, version)
    limited = settings.model_copy(update={"search": settings.search.model_copy(update={"max_bicliques": 10})})
    with pytest.raises(StorageError, match="not committed, or cut off"):
        resume(made, limited)
    assert answer(store) == whole
    resume(made, settings)
    assert answer(store) == whole


def test_what_a_killed_compaction_began_goes_with_a_prune_when_another_version_came(tmp_path):
    store, settings, version, _ = a_version(tmp_path)
    made = cut_off_compaction(store, version)
    assert "not finished" in prune(store, 1, remove=True).kept[made]
    update(str(tmp_path / "two.csv"), settings)
    gone = prune(store, 5, remove=True)
    assert f"runs/{made}" in {one.what for one in gone.removed}
    found = verify_store(store)
    assert (found.problems, found.leftovers) == ([], [])


def test_a_prune_keeps_what_an_unfinished_compaction_is_made_of(tmp_path):
    store, _, version, _ = a_version(tmp_path)
    cut_off_compaction(store, version)
    kept = prune(store, 1, remove=True).kept
    assert version in kept
    compact(store)
    assert verify_store(store).problems == []


# ---- the log -------------------------------------------------------------------------------------


def test_the_log_is_what_says_which_run_is_the_latest(tmp_path):
    store, settings, version, _ = a_version(tmp_path)
    first = store.run(version).asked.parent
    assert last_number(store) == 2
    rollback(store, first)
    assert (latest_run(store), last_number(store)) == (first, 3)
    update(str(tmp_path / "one.csv"), settings)  # the same version, made the latest again
    assert (latest_run(store), last_number(store)) == (version, 4)


@pytest.mark.parametrize("number", [1, 3])
def test_a_number_that_is_gone_is_named_and_written_again(tmp_path, number):
    store, settings, _, _ = a_version(tmp_path)
    second = update(str(tmp_path / "two.csv"), settings).version
    store.root.remove(number_name(number))
    assert any(number_name(number) in problem for problem in verify_store(store).problems)
    repair(store, settings)
    assert verify_store(store).problems == []
    assert latest_run(store) == second


# ---- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize("nights", [0, 1])
def test_diff_says_that_the_last_update_changed_nothing(tmp_path, nights):
    settings = write_tables(tmp_path)
    run(str(tmp_path / "base.csv"), settings)
    if nights:
        update(str(tmp_path / "one.csv"), settings)
    (tmp_path / "again.csv").write_bytes((tmp_path / "base.csv").read_bytes())
    assert update(str(tmp_path / "again.csv"), settings).how == "nothing"
    found = changes_between(open_run(settings.store)).record()
    assert (found["n_appeared"], found["n_vanished"]) == (0, 0)
    assert [Path(name).name for name in found["unchanged"]] == ["again.csv"]
    update(str(tmp_path / "two.csv"), settings)
    found = changes_between(open_run(settings.store)).record()
    assert found["n_appeared"]
    assert not found["unchanged"]


def test_a_run_that_is_not_published_is_not_exported(tmp_path):
    store, settings, version, _ = a_version(tmp_path)
    made = cut_off_compaction(store, version)
    plan_run(store, made)
    groups = Bicliques(open_run(store.uri, made))
    with pytest.raises(InputError, match=f"bicliq resume {made}"):
        export(groups, tmp_path / "groups.csv")
    assert not (tmp_path / "groups.csv").exists()
    resume(made, settings)
    assert export(Bicliques(open_run(store.uri, made)), tmp_path / "groups.csv").bicliques
