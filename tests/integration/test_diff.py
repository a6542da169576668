"""`bicliq diff`: what appeared and vanished between versions, and what it was or became."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.questions.find import FindAsked, find_in_run
from bicliq.pipeline.results.changes import Changes, changes_between
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from tests.integration.test_update import HERE, SHOP, csv, said, shop

__all__ = ["shop"]


def test_groups_that_grew_shrank_came_and_went_are_told_apart(tmp_path, shop, capsys):
    update(csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")]), shop)
    record = said(capsys, "diff", "--store", shop.store)
    ways = {(*group["left"], *group["right"]): group["how"] for group in record["appeared"]}
    assert ways == {("ann", "bob", "cid", "jam", "tea"): "grown", ("dan", "rum"): "new"}
    was = record["appeared"][0]["other"]
    assert (was["left"], was["right"], was["shared_edges"]) == (["ann", "bob"], ["jam", "tea"], 4)
    update(csv(tmp_path / "old.csv", [("ann", "jam"), ("ann", "tea"), ("dan", "rum")]), shop, delete=True)
    record = said(capsys, "diff", "--store", shop.store)
    assert [(group["left"], group["how"]) for group in record["appeared"]] == [(["bob", "cid"], "shrunk")]
    assert {tuple(group["left"]): group["how"] for group in record["vanished"]} == {
        ("ann", "bob", "cid"): "shrunk",
        ("dan",): "gone",
    }


def test_sizes_choose_and_objectives_rank(tmp_path, shop, capsys):
    more = [(user, item) for user in ("x", "y", "z") for item in ("p", "q")] + [("w", item) for item in "abcdefgh"]
    update(csv(tmp_path / "new.csv", more), shop)
    record = said(capsys, "diff", "--by", "balanced", "--limit", "1", "--store", shop.store)
    assert (record["n_appeared"], record["appeared"][0]["left"], record["appeared"][0]["value"]) == (
        2,
        ["x", "y", "z"],
        2,
    )
    changes = bicliq.open(shop.store).where(max_left=1, min_edges=8).changes()
    assert isinstance(changes, Changes)
    assert (changes.count("appeared"), changes.count("vanished")) == (1, 0)
    assert changes.top("appeared", by="vertices")[0]["value"] == 9
    with pytest.raises(InputError, match="by 'size'"):
        changes.top("appeared", by="size")


def test_surprise_ranks_what_changed_as_find_does_in_either_graph(tmp_path, shop, capsys):
    update(csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum"), ("eve", "rum"), ("eve", "tea")]), shop)
    record = said(capsys, "diff", "--by", "surprise", "--store", shop.store)
    for kind, run_ in (("appeared", record["after"]), ("vanished", record["before"])):
        every = find_in_run(run_, FindAsked(top=99, by="surprise", min_surprise=-99), load_settings(store=shop.store))[
            "groups"
        ]
        worth = {(*group["left"], *group["right"]): group["value"] for group in every}
        shown = {(*group["left"], *group["right"]): group["value"] for group in record[kind]}
        assert shown == pytest.approx({members: worth[members] for members in shown}, abs=1e-4)
        assert list(shown.values()) == sorted(shown.values(), reverse=True)
        assert len(shown) == record[f"n_{kind}"] > 1


def test_weights_of_members_rank_what_changed(tmp_path, shop, capsys):
    update(csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")]), shop)
    (tmp_path / "left").write_text("dan,7.5\nann,1\n")
    (tmp_path / "right").write_text("tea\t0.25\n")
    files = ["--left-weights", str(tmp_path / "left"), "--right-weights", str(tmp_path / "right")]
    record = said(capsys, "diff", "--by", "weight", *files, "--store", shop.store)
    assert [(group["left"], group["value"]) for group in record["appeared"]] == [
        (["dan"], 7.5),
        (["ann", "bob", "cid"], 1.25),
    ]
    (tmp_path / "bad").write_text("nobody,1\n")
    (tmp_path / "twice").write_text("ann,1\nann,2\n")
    (tmp_path / "none").write_text("ann\n")
    for options, problem in (
        (["--by", "weight"], "needs some"),
        (["--by", "edges", *files], "weights are for by 'weight'"),
        (["--by", "weight", "--left-weights", str(tmp_path / "bad")], "'nobody' is no left label of either run"),
        (["--by", "weight", "--left-weights", str(tmp_path / "twice")], "line 2: 'ann,2' is listed twice"),
        (["--by", "weight", "--left-weights", str(tmp_path / "none")], "line 1: 'ann' is no label and its weight"),
    ):
        assert invoke(["diff", *options, "--store", shop.store]) == 2
        assert problem in capsys.readouterr().err
    with pytest.raises(InputError, match="name the side"):
        bicliq.open(shop.store).changes().top("appeared", by="weight", weights={"up": {"ann": 1}})


def test_all_changes_go_to_a_file(tmp_path, shop, capsys):
    update(csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")]), shop)
    for name in ("c.parquet", "c.jsonl"):
        record = said(capsys, "diff", "--out", str(tmp_path / name), "--store", shop.store)
        assert record["rows"] == 4
    rows = pq.read_table(tmp_path / "c.parquet").to_pylist()
    assert rows == [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert [row["change"] for row in rows] == ["appeared", "appeared", "vanished", "vanished"]
    assert invoke(["diff", "--out", str(tmp_path / "c.jsonl"), "--store", shop.store]) == 2
    assert invoke(["diff", "--out", str(tmp_path / "c.txt"), "--store", shop.store]) == 2
    assert "is there already" in (error := capsys.readouterr().err)
    assert "which format?" in error
    assert invoke(["diff", "--store", shop.store]) == 0
    assert "2 groups appeared" in capsys.readouterr().out


def test_a_run_that_is_no_version_needs_another_to_be_compared_with(tmp_path, shop, capsys):
    assert invoke(["diff", "--store", shop.store]) == 2
    assert "name the run to compare it with" in capsys.readouterr().err


def test_any_two_runs_are_compared_by_their_labels(tmp_path, shop):
    settings = load_settings(store=shop.store, ingest={"left": "user", "right": "item"}, **HERE)
    other = run(csv(tmp_path / "other.csv", [("aaa", "tea"), *SHOP[:4]]), settings)
    before = next(name for name in open_run(shop.store).store.runs() if name != other.run)
    changes = changes_between(open_run(shop.store, other.run), before)
    assert [row["left"] for row in changes.appeared.to_pylist()] == [["aaa", "ann", "bob"]]
    assert [row["left"] for row in changes.vanished.to_pylist()] == [["ann", "bob", "cid"]]
