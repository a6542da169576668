"""Limits end a search where it is, say so, and a later call goes on; shapes that explode do not."""

from __future__ import annotations

import json
import time

import numpy as np
import pyarrow as pa
import pytest

from bicliq.flows.cli import invoke
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.limits import Cut, Limits
from bicliq.pipeline.stages.plan import plan, plan_partitions
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from tests.integration.stored_graphs import bicliques_of, brute_force, digest_of, put_graph, random_graph

GRAPH = random_graph(seed=7)
ANSWER = brute_force(GRAPH)
BATCH = 12 << 20
"""Bytes of a batch that a limit of bytes may be passed by."""


def crown(n: int) -> pa.Table:
    """K(n, n) without a perfect matching: 2^n - 2 maximal bicliques."""
    left, right = np.nonzero(~np.eye(n, dtype=bool))
    return pa.table({"l": left, "r": right})


@pytest.fixture
def planned(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    return store, plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=4)).run


@pytest.mark.parametrize(
    ("limit", "value"), [("time_limit", 0.3), ("max_bytes", 100_000), ("memory_limit", 1), ("max_bicliques", 50_000)]
)
def test_a_limit_ends_a_search_that_has_no_end(tmp_path, capsys, limit, value):
    settings = load_settings(
        store=str(tmp_path / "store"),
        cluster={"local": True},
        force=True,
        search={limit: value},
        plan={"partitions": 3},
    )
    started = time.monotonic()
    found = run(crown(44), settings)
    assert time.monotonic() - started < 60
    assert (found.complete, found.limited_by) == (False, limit)
    state = open_run(settings.store).state
    assert (state.name, state.complete, state.limited_by) == ("limited", False, limit)
    assert invoke(["runs", "--store", settings.store, "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert (listed["state"], listed["complete"]) == ("limited", False)
    checked = verify(Store.open(settings.store), found.run)
    assert (checked.problems, checked.leftovers) == ([], [])
    assert limit != "max_bytes" or found.bytes < value + BATCH
    assert limit != "max_bicliques" or found.bicliques == value


@pytest.mark.parametrize("limits", [{"time_limit": 1e-3}, {"max_bytes": 1}, {"memory_limit": 1}])
@pytest.mark.parametrize("on_cluster", [False, True])
def test_a_run_that_a_limit_ended_goes_on_without_it(planned, limits, on_cluster, cluster):
    store, run_ = planned
    client = cluster if on_cluster else None
    cut = search_run(store, run_, client, **limits)
    assert not cut.complete
    assert cut.limited_by == next(iter(limits))
    assert not publish(store, run_, limited_by=cut.limited_by).complete
    assert verify(store, run_).problems == []
    held = cut.bicliques
    again = search_run(store, run_, client, **limits)
    assert again.bicliques >= held, "what was found is not given up for less"
    whole = search_run(store, run_, client)
    assert (whole.digest, whole.limited_by) == (digest_of(ANSWER), None)
    assert publish(store, run_).complete
    found = verify(store, run_)
    assert (found.problems, found.leftovers) == ([], [])
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER


def test_a_limit_that_is_an_error_ends_with_its_exit_code(tmp_path, capsys):
    (tmp_path / "crown.csv").write_text("l,r\n" + "".join(f"{u},{v}\n" for u in range(40) for v in range(40) if u != v))
    command = ["run", str(tmp_path / "crown.csv"), "--local", "--force", "--on-limit", "error"]
    for option, words in (("--time-limit", "limit of 0.2 seconds"), ("--max-bytes", "limit of 1,000 bytes")):
        value = words.split()[2].replace(",", "")
        assert invoke([*command, "--store", str(tmp_path / option), option, value]) == 3
        assert words in capsys.readouterr().err
    assert invoke([*command, "--store", str(tmp_path / "none")]) == 2
    assert "no limit is set" in capsys.readouterr().err


def test_a_partition_that_waited_behind_another_has_less_time():
    cut = Cut(Limits(time_limit=10), time.time() - 11)
    assert cut.due(0)
    assert Cut(Limits(time_limit=10), time.time() + 1e6).due(0) is False, "a clock that is behind"
    assert Cut(Limits(max_bytes=3), time.time() - 1e9).due(0) is False, "none is set"


# ---- shapes that explode, or look as if they would -----------------------------------------------


def complete(n: int) -> pa.Table:
    return pa.table({"l": np.repeat(np.arange(n), n), "r": np.tile(np.arange(n), n)})


def star(n: int) -> pa.Table:
    return pa.table({"l": np.zeros(n, np.int32), "r": np.arange(n)})


def twins(n: int) -> pa.Table:
    return pa.table({"l": np.repeat(np.arange(n), 3), "r": np.tile(np.arange(3), n)})


def hub(n: int) -> pa.Table:
    """One left vertex that knows all of the other side, and 5,000 edges beside it."""
    random = np.random.default_rng(1)
    left = np.concatenate([np.zeros(n, np.int64), random.integers(1, 2000, 5000)])
    return pa.table({"l": left, "r": np.concatenate([np.arange(n), random.integers(0, n, 5000)])})


SHAPES = {
    "a complete graph": (complete, 1_000, 1, 60),
    "a star": (star, 100_000, 1, 30),
    "twins": (twins, 100_000, 1, 30),
    "a hub": (hub, 100_000, None, 30),
}
"""Shape, size, maximal bicliques, and the seconds that it may take on two busy cores."""


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_with_few_bicliques_takes_seconds_whatever_its_size(tmp_path, name):
    shape, size, bicliques, seconds = SHAPES[name]
    found = run(shape(size), load_settings(store=str(tmp_path / "store"), cluster={"local": True}))
    assert found.complete
    assert bicliques in (found.bicliques, None)
    assert found.seconds["total"] < seconds
    assert found.partitions == 1, "each of more would hold the whole graph"


def test_roots_that_add_nothing_to_a_partition_stay_in_it_whatever_its_size():
    graph = put_complete(40)
    found, largest = plan_partitions(graph, "left", None, memory_budget=1 << 10)
    assert largest > 1 << 10
    assert set(found.partition.tolist()) == {0}


def put_complete(n: int):
    from bicliq.pipeline.graphs.bipartite import BipartiteGraph

    return BipartiteGraph(n, n, np.arange(n + 1, dtype=np.int64) * n, np.tile(np.arange(n, dtype=np.int32), n))
