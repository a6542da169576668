"""The same rows as a file and as every kind of table in memory: one graph, one account, one
answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bicliq
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from tests.nightly import drawn
from tests.reference.brute_force import maximal_bicliques

WORDS = st.sampled_from(["ann", "bob", "cid", "Ünï", "a,b", 'say "hi"', "7", "007", "</script>"])
NUMBERS = st.integers(-3, 9)


@st.composite
def columns(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Rows with a weight, some of whose values are missing."""
    n = draw(st.integers(1, 12))
    side = st.sampled_from([WORDS, NUMBERS])
    left, right = draw(side), draw(side)
    hole = draw(st.sampled_from([False, False, True]))
    maybe = (lambda values: st.one_of(values, st.none())) if hole else (lambda values: values)
    rows = st.lists(st.tuples(maybe(left), maybe(right), st.integers(1, 4).map(float)), min_size=n, max_size=n)
    drawn = draw(rows)
    return {name: [row[at] for row in drawn] for at, name in enumerate(("user", "item", "n"))}


def kinds_of(table: pa.Table) -> dict[str, Any]:
    frame = pl.from_arrow(table)
    return {
        "arrow": table,
        "stream": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "polars": frame,
        "lazy": frame.lazy(),
        "pandas": table.to_pandas(types_mapper=pd.ArrowDtype),
        "objects": table.to_pandas().astype({"user": object, "item": object}),
        "duckdb": duckdb.from_arrow(table),
        "dask": dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2),
    }


def outcome(source: Any, asked: IngestSettings) -> Any:
    """What ingest makes of a table: the graph and the account of its rows, or what is wrong."""
    try:
        found = read_edge_table(source, asked)
    except InputError as error:
        return str(error).split(", row", 1)[-1].split(": ", 1)[-1]
    summary = {name: value for name, value in found.summary.record().items() if name not in ("source", "seconds")}
    return *_graph(found), summary | {"assumed": [said.split(": ", 1)[1] for said in summary["assumed"]]}


def _graph(table: EdgeTable) -> tuple[Any, ...]:
    weight = None if table.weight is None else table.weight.tolist()
    ids = [(str(each.type), each.to_pylist()) for each in (table.left_ids, table.right_ids)]
    return table.left.tolist(), table.right.tolist(), weight, ids


@settings(deadline=None, max_examples=drawn(60))
@given(
    columns(),
    st.fixed_dictionaries(
        {"left": st.just("user"), "right": st.just("item")},
        optional={
            "weight": st.just("n"),
            "duplicates": st.sampled_from(["first", "error"]),
            "nulls": st.just("drop"),
            "self_labels": st.sampled_from(["drop", "error"]),
            "ids": st.just("text"),
            "sample": st.just(0.5),
        },
    ),
    st.booleans(),
)
def test_a_table_in_memory_is_read_as_the_file_with_the_same_rows(tmp_path_factory, data, asked, summed):
    table = pa.table(data)
    if summed:
        asked = {**asked, "weight": "n", "min_weight": 2.0, "duplicates": "sum"}
    if asked.get("self_labels") == "error":  # of two problems, the one of an earlier piece is met first
        asked = {**asked, "nulls": "drop"}
    path = tmp_path_factory.getbasetemp() / "same.parquet"
    pq.write_table(table, path)
    of_file = outcome(path, IngestSettings(**asked))
    for kind, given_table in kinds_of(table).items():
        assert outcome(given_table, IngestSettings(**asked)) == of_file, kind


@settings(deadline=None, max_examples=drawn(60))
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_every_kind_of_table_gives_the_bicliques_of_brute_force(edges):
    left, right = (np.array(side) for side in zip(*sorted(edges), strict=True))
    people, things = [f"u{n}" for n in range(6)], [f"v{n}" for n in range(6)]
    matrix = sp.coo_array((np.ones(len(left)), (left, right)), shape=(6, 6))
    graph = nx.Graph()
    graph.add_nodes_from(people, bipartite=0)
    graph.add_nodes_from(things, bipartite=1)
    graph.add_edges_from((things[v], people[u]) for u, v in edges)
    expected = {
        (tuple(people[u] for u in sorted(us)), tuple(things[v] for v in sorted(vs)))
        for us, vs in maximal_bicliques(edges, 6)
    }
    baskets = {person: [things[v] for u, v in edges if people[u] == person] for person in people}
    for kind in (bicliq.from_matrix(matrix, people, things), graph, baskets):
        found = bicliq.enumerate(kind)
        assert {(tuple(group["left"]), tuple(group["right"])) for group in found} == expected
        assert len(found) == len(expected)
    numbered = bicliq.enumerate(sp.csr_array(matrix))
    assert {(tuple(people[u] for u in g["left"]), tuple(things[v] for v in g["right"])) for g in numbered} == expected


SHOP = pd.DataFrame({"user": ["ann", "bob"], "item": ["jam", "tea"], "n": [1, 2]})


@pytest.mark.parametrize(
    ("table", "asked", "said"),
    [
        (SHOP, {}, "which of them are the left and right is not said"),
        (SHOP.iloc[:0], {"left": "user", "right": "item"}, "has no rows"),
        (SHOP, {"left": "user", "right": "item", "format": "csv"}, "is of no format 'csv'"),
        (SHOP.assign(item=["jam", 7]), {"left": "user", "right": "item"}, "row 1, column item: 7 is of type int"),
        (SHOP.assign(item=[1.5, 2]), {"left": "user", "right": "item"}, "is a fraction"),
        (SHOP.assign(item=["jam", None]), {"left": "user", "right": "item"}, "row 1, column item (right)"),
        ([["jam"], "tea"], {}, "basket 1 is 'tea'"),
        ([["jam"], 7], {}, "basket 1 is 7"),
        ([("ann", "jam"), ("bob", "tea")], {}, "may be a basket of two items or an edge"),
        ([], {}, "has no rows"),
        ([[]], {}, "has no rows"),
        (nx.path_graph(3), {}, "give each node the attribute bipartite"),
        (np.eye(3), {}, "format = 'matrix' takes rows as left"),
        (dd.from_pandas(SHOP, npartitions=2), {}, "Dask DataFrame: has 3 columns, and which of them"),
        (7, {}, "builtins.int is no edge table"),
        (b"edges.csv", {}, "builtins.bytes is no edge table"),
    ],
)
def test_what_is_no_edge_table_is_refused_with_what_to_do(table, asked, said):
    with pytest.raises(InputError) as caught:
        bicliq.enumerate(table, **asked)
    assert said in str(caught.value)


def test_labels_of_a_matrix_must_be_as_many_as_its_rows_and_different():
    matrix = sp.coo_array(np.eye(2))
    with pytest.raises(InputError, match="3 left labels for 2"):
        bicliq.from_matrix(matrix, ["a", "b", "c"], ["x", "y"])
    with pytest.raises(InputError, match="right labels are there twice"):
        bicliq.from_matrix(matrix, ["a", "b"], ["x", "x"])


def test_weights_and_times_of_a_network_are_attributes_of_its_edges():
    graph = nx.Graph()
    graph.add_nodes_from(["ann", "bob"], bipartite=0)
    graph.add_nodes_from(["jam"], bipartite=1)
    graph.add_edge("ann", "jam", n=3, seen="2026-01-02")
    graph.add_edge("jam", "bob", n=1, seen="2026-01-01")
    heavy = bicliq.enumerate(graph, weight="n", min_weight=2)
    late = bicliq.enumerate(graph, time="seen", since="2026-01-02")
    assert [next(iter(groups))["left"] for groups in (heavy, late)] == [["ann"], ["ann"]]


def test_a_table_of_one_batch_and_of_many_is_the_same(tmp_path: Path):
    table = pa.table({"left": np.arange(3000) % 50, "right": np.arange(3000) % 70})
    cut = pa.Table.from_batches(table.to_batches(max_chunksize=7))
    assert outcome(cut, IngestSettings()) == outcome(table, IngestSettings())
