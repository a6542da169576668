"""`import bicliq`: answers of every question, where they lie, and what its names promise."""

from __future__ import annotations

import inspect
import typing
from functools import partial
from pathlib import Path

import dask.dataframe
import fsspec
import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bicliq
from bicliq.asking import Reading
from bicliq.pipeline.results.bicliques import Bounds
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.store.choice import Choice

DATA = Path(__file__).parents[1] / "data"
SHOP = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}


def names_in_memory() -> set[str]:
    return {name for name in fsspec.filesystem("memory").store if name.startswith("/bicliq-")}


def test_an_answer_in_memory_goes_with_the_last_who_uses_it():
    before = names_in_memory()
    groups = bicliq.enumerate(SHOP)
    chosen = groups.where(min_left=3)
    del groups
    assert names_in_memory() > before
    assert [group["right"] for group in chosen] == [["tea"]]
    del chosen
    assert names_in_memory() == before


def test_a_question_that_fails_leaves_nothing_in_memory():
    before = names_in_memory()
    with pytest.raises(bicliq.LimitReached):
        bicliq.enumerate(SHOP, max_bicliques=1, on_limit="error")
    assert names_in_memory() == before


def test_with_and_without_a_store_the_answer_is_the_same(tmp_path):
    path = DATA / "moreno_crime.parquet"
    here = bicliq.enumerate(path, min_left=2)
    stored = bicliq.enumerate(path, min_left=2, store=tmp_path)
    again = bicliq.open(tmp_path)
    assert here.digest == stored.digest == again.digest
    assert len(here) == len(again) > 0
    members = ["left", "right"]  # biclique_id names a row of one stored run
    assert here.top(5).select(members).to_pylist() == again.top(5).select(members).to_pylist()


def test_answers_come_in_every_table_library():
    groups = bicliq.enumerate(SHOP)
    expected = groups.to_arrow()
    assert isinstance(groups.to_pandas(), pd.DataFrame)
    assert pa.Table.from_pandas(groups.to_pandas())["left"].to_pylist() == expected["left"].to_pylist()
    assert isinstance(groups.to_polars(), pl.DataFrame)
    assert groups.to_polars().to_dicts() == expected.to_pylist() == list(groups)


def test_a_graph_of_networkx_says_who_is_in_what():
    groups = bicliq.enumerate(SHOP)
    graph = groups.to_networkx()
    for row in groups:
        members = {("left", label) for label in row["left"]} | {("right", label) for label in row["right"]}
        assert set(graph["biclique", row["biclique_id"]]) == members
        assert graph.nodes["biclique", row["biclique_id"]]["n_edges"] == len(row["left"]) * len(row["right"])
    assert nx.is_bipartite(graph)
    assert sum(kind == "biclique" for _, kind in graph.nodes(data="kind")) == len(groups) > 1


def test_a_limit_is_seen_in_the_answer():
    groups = bicliq.enumerate(SHOP, max_bicliques=1)
    assert not groups.complete
    assert "not all there are" in repr(groups)
    assert bicliq.enumerate(SHOP).complete


def test_counts_are_whole_numbers_of_any_size(tmp_path):
    assert bicliq.count(SHOP, 2, 1) == 4  # (ann, bob) with jam; the three pairs with tea
    assert bicliq.count(SHOP, 2, 1, store=tmp_path) == 4
    assert bicliq.count(SHOP, 2, 2, up_to=True) == {(1, 1): 5, (1, 2): 2, (2, 1): 4, (2, 2): 1}
    full = [range(64)] * 64
    assert bicliq.count(full, 16, 16) == 488526937079580**2  # C(64, 16) squared, beyond 64 bits


def test_cliques_of_a_graph_and_of_one_side(tmp_path):
    friends = {"ann": ["bob", "cid"], "bob": ["cid"], "cid": ["dan"]}
    assert bicliq.clique(friends).members == ["ann", "bob", "cid"]
    found = bicliq.clique(SHOP, project="left", all=True, store=tmp_path)
    assert (found.size, found.members, found.proven) == (3, ["ann", "bob", "cid"], True)
    assert found.cliques == [found.members]
    assert bicliq.clique(SHOP, project="left", all=True, store=tmp_path).record["found"]


def test_what_is_left_to_none_comes_from_the_settings(tmp_path, monkeypatch):
    table = pd.DataFrame({"user": ["ann"], "item": ["jam"], "n": [1]})
    monkeypatch.setenv("BICLIQ__INGEST__LEFT", "user")
    monkeypatch.setenv("BICLIQ__INGEST__RIGHT", "item")
    assert next(iter(bicliq.enumerate(table, left=None)))["left"] == ["ann"]


def test_every_error_is_one_of_bicliq():
    errors = (bicliq.BackendError, bicliq.CapacityError, bicliq.InputError, bicliq.LimitReached, bicliq.StorageError)
    assert all(issubclass(error, bicliq.BicliqError) for error in errors)
    assert isinstance(bicliq.clique(SHOP), bicliq.Clique)
    assert isinstance(bicliq.enumerate(SHOP), bicliq.Bicliques)


def test_an_argument_that_is_none_is_refused():
    with pytest.raises(bicliq.InputError, match=r"there is no such setting \(did you mean ingest.left\?\)"):
        bicliq.enumerate(SHOP, lft="user")
    with pytest.raises(bicliq.InputError, match="there is no min_lft"):
        bicliq.enumerate(SHOP).where(min_lft=2)


ASKED = {
    "clique": ["min_shared", "time_limit", "all"],
    "find": ["top", "max_left", "max_right_degree", "min_surprise", "time_limit", "null", "seed", "containing"],
    "estimate": ["seed"],
    "concepts": ["time_limit"],
}


@pytest.mark.parametrize(("question", "name"), [(question, name) for question in ASKED for name in ASKED[question]])
@pytest.mark.parametrize("value", [[1], 2.5j, {}])
def test_an_argument_of_another_type_is_refused_by_its_name(question, name, value):
    if name != "containing" or value == 2.5j:
        with pytest.raises(bicliq.InputError, match=name):
            getattr(bicliq, question)(SHOP, **{name: value})


@pytest.mark.parametrize("value", ["x", 2.5, None, [1]])
def test_a_number_of_rows_or_of_a_page_that_is_none_is_refused_by_its_name(value):
    groups, lattice, found = bicliq.enumerate(SHOP), bicliq.concepts(SHOP), bicliq.implications(SHOP)
    for name, ask in (
        ("k", groups.top), ("number", groups.page), ("size", partial(groups.page, 1)), ("k", lattice.top),
        ("k", found.top), ("concept", lattice.lower), ("format", partial(groups.export, "t.csv")), ("store", bicliq.open),
        ("min_support", lambda value: lattice.where(min_support="x" if value == 2.5 else value)),
        ("null", lambda value: bicliq.count(SHOP, 2, 1, null=value or [1])),
    ):  # fmt: skip
        if (name, value) != ("format", None) and (name, value) != ("store", "x"):
            with pytest.raises(bicliq.InputError, match=rf"\b{name}\b"):
                ask(value)


def test_the_options_of_reading_are_those_of_the_settings():
    hinted = typing.get_type_hints(Reading)
    assert set(hinted) == set(IngestSettings.model_fields)
    for name, entry in IngestSettings.model_fields.items():
        if name != "null_values":  # any iterable of words becomes a tuple
            assert hinted[name] == entry.annotation, name
    assert set(typing.get_type_hints(Bounds)) == set(inspect.signature(Choice).parameters)


QUESTIONS = ["clique", "count", "enumerate", "estimate", "find", "from_matrix", "open", "update"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_has_hints_and_says_what_it_takes(name):
    function = getattr(bicliq, name)
    signature = inspect.signature(function)
    assert all(each.annotation is not inspect.Parameter.empty for each in signature.parameters.values())
    assert signature.return_annotation is not inspect.Signature.empty
    for part in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"{part}\n" in inspect.getdoc(function)


def test_the_best_groups_come_in_every_table_library():
    best = bicliq.find(SHOP, top=5, by="surprise", min_surprise=-9)
    assert isinstance(best, bicliq.Groups)
    assert best.proven
    expected = best.to_arrow()
    assert expected.schema == best.schema
    assert len(best) == 2
    assert pa.Table.from_pandas(best.to_pandas())["left"].to_pylist() == expected["left"].to_pylist()
    assert best.to_polars().to_dicts() == expected.to_pylist() == list(best)
    assert "2 groups by surprise" in repr(best)


def test_no_group_is_a_table_without_rows_of_the_same_schema():
    none = bicliq.find([["jam"], ["tea"]], min_left=2, diverse=True)
    assert (len(none), none.to_arrow().schema, none.to_arrow().num_rows) == (0, none.schema, 0)
    assert none.schema.field("left").type == pa.list_(pa.int64())
    assert none.schema.field("right").type == pa.list_(pa.string())


def test_members_and_weights_are_named_by_their_labels():
    assert [group["left"] for group in bicliq.find(SHOP, containing=["cid"])] == [["ann", "bob", "cid"]]
    assert [group["right"] for group in bicliq.find(SHOP, within=["jam"])] == [["jam"]]
    heavy = bicliq.find(SHOP, top=1, by="weight", left_weights={"cid": 2.5})
    assert [(group["left"], group["value"]) for group in heavy] == [(["ann", "bob", "cid"], 2.5)]
    with pytest.raises(bicliq.InputError, match="'dan' is no left label"):
        bicliq.find(SHOP, by="weight", left_weights={"dan": 1})
    with pytest.raises(bicliq.InputError, match="'dan' is no label of either side"):
        bicliq.find(SHOP, within=["dan"])


def test_an_estimate_says_what_the_search_finds():
    path = DATA / "moreno_crime.parquet"
    expected = bicliq.estimate(path, min_left=2)
    assert isinstance(expected, bicliq.Estimate)
    assert expected.low == expected.bicliques == expected.high == len(bicliq.enumerate(path, min_left=2))
    assert expected.to_pandas()["bicliques"].max() == expected.bicliques
    assert expected.to_polars().to_dicts() == expected.to_arrow().to_pylist()


def bought(baskets):
    """Edges of baskets as rows."""
    return pd.DataFrame([(who, what) for who, items in baskets.items() for what in items], columns=["user", "item"])


TODAY = {"cid": ["jam"], "dan": ["jam", "tea"]}
BOTH = {name: SHOP.get(name, []) + TODAY.get(name, []) for name in SHOP | TODAY}


@pytest.mark.parametrize("kind", ["pandas", "polars", "stream", "dask", "file"])
def test_an_update_takes_every_kind_of_table_and_gives_what_a_full_run_gives(tmp_path, kind):
    frame = bought(TODAY)
    frame.to_csv(tmp_path / "today.csv", index=False)
    table = {
        "pandas": frame.assign(note=object()),
        "polars": pl.from_pandas(frame),
        "stream": pa.table(frame).to_reader(),
        "dask": dask.dataframe.from_pandas(frame, npartitions=2),
        "file": tmp_path / "today.csv",
    }[kind]
    bicliq.enumerate(bought(SHOP), left="user", right="item", store=tmp_path / "store")
    done = bicliq.update(tmp_path / "store", table)
    expected = bicliq.enumerate(bought(BOTH), left="user", right="item")
    assert (done.digest, done.bicliques) == (expected.digest, len(expected))
    assert bicliq.open(tmp_path / "store").changes().count("appeared") == done.appeared


def test_a_table_in_memory_may_be_joined_taken_away_and_joined_again(tmp_path):
    first = bicliq.enumerate(SHOP, store=tmp_path).digest
    joined = bicliq.update(tmp_path, TODAY)
    assert bicliq.update(tmp_path, TODAY).how == "nothing"
    assert bicliq.update(tmp_path, TODAY, delete=True).digest == first
    assert bicliq.update(tmp_path, TODAY).digest == joined.digest == bicliq.enumerate(BOTH).digest


def test_an_update_says_what_is_wrong_with_a_table_in_memory(tmp_path):
    bicliq.enumerate(bought(SHOP), left="user", right="item", store=tmp_path)
    with pytest.raises(bicliq.InputError, match="pandas DataFrame: there is no column 'user'"):
        bicliq.update(tmp_path, bought(TODAY).rename(columns={"user": "buyer"}))
    with pytest.raises(bicliq.InputError, match="pandas DataFrame, row 0, column user"):
        bicliq.update(tmp_path, bought(TODAY).assign(user=None))
    renamed = bought(TODAY).rename(columns={"user": "buyer"})
    assert bicliq.update(tmp_path, renamed, left="buyer").edges == 3
