"""A `bicliq watch` that is killed at any moment, and goes on."""

from __future__ import annotations

import pytest

from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.versions.watch import Watch
from tests.integration.killed import killed
from tests.integration.test_watch import MORE, SHOP, asked, from_scratch, latest, put, watched

WATCH = """
from bicliq.pipeline.versions.watch import Watch
asked = {"ingest": {"left": "user", "right": "item"}, "cluster": {"local": True}, "plan": {"partitions": 2}}
Watch(given[0], load_settings(store=given[1], **asked), settle=0).take()
"""

MOMENTS = {
    "plan": ("write_table", "before", "plan.parquet"),
    "search": ("commit_partition", "after", ""),
    "manifest": ("write", "before", "manifest.json"),
    "publish": ("write", "after", "manifest.json"),
    "commit": ("commit", "before", "run.json"),
    "committed": ("commit", "after", "run.json"),
}
"""Methods of a run's folder before or after which a process is killed, and the file in question."""


@pytest.fixture
def orders(tmp_path):
    (tmp_path / "orders").mkdir()
    return tmp_path / "orders"


def kill_at(moment, tmp_path, orders):
    method, when, file = MOMENTS[moment]
    killed(WATCH, str(orders), str(tmp_path / "store"), method=method, when=when, file=file)


@pytest.mark.parametrize("moment", ["plan", "search", "manifest", "publish"])
def test_a_watch_that_is_killed_in_its_first_run_goes_on_and_takes_nothing_twice(tmp_path, orders, moment):
    put(orders, "1.csv", SHOP)
    kill_at(moment, tmp_path, orders)
    searched = Store.open(str(tmp_path / "store")).runs()
    put(orders, "2.csv", MORE)
    settings = asked(tmp_path, plan={"partitions": 2})
    first = Watch(str(orders), settings, settle=0).take()
    second = Watch(str(orders), settings, settle=0).take()
    if moment in ("search", "manifest"):  # what was begun is finished, as it was begun
        assert [first.run.run] == searched
        assert first.run.searched == (1 if moment == "search" else 0)
    assert Watch(str(orders), settings, settle=0).take().anything is False
    taken = [uri for one in (first, second) for uri in one.files]
    assert len(taken) == len(set(taken)) == (1 if moment == "publish" else 2)
    assert latest(tmp_path).manifest.digest == from_scratch(tmp_path, SHOP + MORE).digest
    assert verify_store(Store.open(str(tmp_path / "store"))).problems == []


@pytest.mark.parametrize("moment", ["commit", "committed"])
def test_a_watch_that_is_killed_in_an_update_takes_nothing_twice(tmp_path, orders, moment):
    put(orders, "1.csv", SHOP)
    Watch(str(orders), asked(tmp_path, plan={"partitions": 2}), settle=0).take()
    put(orders, "2.csv", MORE)
    kill_at(moment, tmp_path, orders)
    again = watched(tmp_path, orders).take()
    assert again.update.how == ("changes" if moment == "commit" else "taken"), "it had no number yet"
    assert len(Store.open(str(tmp_path / "store")).runs()) == 2
    assert latest(tmp_path).manifest.digest == from_scratch(tmp_path, SHOP + MORE).digest
    assert verify_store(Store.open(str(tmp_path / "store"))).problems == []
