"""What bicliques are worth, as columns: equal to the definition, to `find`, and to no columns."""

from __future__ import annotations

import io
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels import RowGroupLayout, SurpriseTerms, encode_bicliques, stream_maximal_bicliques, top_bicliques
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter
from bicliq.pipeline.store.bicliques import OBJECTIVE_COLUMNS
from tests.nightly import drawn
from tests.property.graphs import Graph, random_graphs, tall_graphs
from tests.reference.chance import cost, worth

OBJECTIVES = ("edges", "surprise", "balanced", "vertices")
COLUMNS = [OBJECTIVE_COLUMNS[by].name for by in OBJECTIVES]


def degrees_of(graph: Graph) -> tuple[list[int], list[int]]:
    left, right = [0] * graph.n_left, [0] * graph.n_right
    for u, v in graph.edges:
        left[u] += 1
        right[v] += 1
    return left, right


def file_of(graph: Graph, columns: Any, threads: int = 1, objectives: Any = OBJECTIVES) -> io.BytesIO:
    """A data file of all maximal bicliques, with columns of what they are worth."""
    publish = PublishSettings(columns=columns, objectives=objectives)
    terms = SurpriseTerms.of_degrees(*degrees_of(graph))
    file = io.BytesIO()
    with stream_maximal_bicliques(*graph.csr) as stream, BicliqueWriter(file, threads, publish, terms) as writer:
        for batch in stream:
            writer.write(batch)
    return file


@settings(max_examples=drawn(120), deadline=None)
@given(st.one_of(random_graphs(), tall_graphs()))
def test_columns_are_what_the_definitions_say(graph: Graph) -> None:
    terms = SurpriseTerms.of_degrees(*degrees_of(graph))
    rows = pq.read_table(file_of(graph, "both")).to_pylist()
    assert len(rows) == kernels.enumerate_maximal_bicliques(*graph.csr).bicliques
    for row in rows:
        n, k = len(row["left"]), len(row["right"])
        assert (row["n_edges"], row["n_vertices"], row["balanced"]) == (n * k, n + k, min(n, k))
        pairs = ((u, v) for u in row["left"] for v in row["right"])
        costs = (cost(np.count_nonzero(of), size) for of, size in zip(degrees_of(graph), (n, k), strict=True))
        exact = worth(terms, pairs) - sum(costs)
        assert abs(row["surprise"] - exact * terms.unit) <= 4 * terms.unit  # costs are sums of logarithms


@settings(max_examples=drawn(60), deadline=None)
@given(random_graphs(), st.sampled_from(["both", "smaller"]), st.sampled_from(OBJECTIVES))
def test_values_are_those_that_find_gives_to_the_last_bit(graph: Graph, columns: str, by: Any) -> None:
    rows = pq.read_table(file_of(graph, columns)).to_pylist()
    best = top_bicliques(*graph.csr, k=5, objective=by)
    values = sorted((row[OBJECTIVE_COLUMNS[by].name] for row in rows), reverse=True)[:5]
    assert [group.value for group in best.groups] == values


@settings(max_examples=40, deadline=None)
@given(random_graphs())
def test_terms_give_batches_the_surprise_that_is_stored(graph: Graph) -> None:
    terms = SurpriseTerms.of_degrees(*degrees_of(graph))
    with stream_maximal_bicliques(*graph.csr) as stream:
        values = [terms.of(batch) for batch in stream]
    stored = pq.read_table(file_of(graph, "both"))["surprise"].to_numpy()
    assert np.array_equal(np.concatenate([np.zeros(0), *values]), stored)


RANDOM = np.random.default_rng(5)
CROWDED = Graph(40, 40, tuple((u, v) for u in range(40) for v in range(40) if RANDOM.random() < 0.4))


@pytest.mark.parametrize("columns", ["both", "smaller"])
def test_every_reader_reads_the_columns_and_their_statistics(tmp_path, columns: str) -> None:
    path = tmp_path / "groups.parquet"
    path.write_bytes(file_of(CROWDED, columns, threads=2).getvalue())
    table = pq.read_table(path, columns=COLUMNS)
    assert table.num_rows > 1000
    assert table.schema.types == [pa.int64(), pa.float64(), pa.int64(), pa.int64()]
    expected = table.to_pylist()
    assert pl.read_parquet(path, columns=COLUMNS).to_dicts() == expected
    names = ", ".join(COLUMNS)
    assert duckdb.sql(f"select {names} from read_parquet('{path}')").to_arrow_table().to_pylist() == expected
    best = duckdb.sql(f"select surprise from read_parquet('{path}') where surprise > -30 order by 1 desc").fetchall()
    assert [value for (value,) in best] == sorted(row["surprise"] for row in expected if row["surprise"] > -30)[::-1]
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        values = file.read_row_group(group, columns=COLUMNS)
        for place, name in enumerate(file.schema_arrow.names):
            if name in COLUMNS:
                leaf = file.metadata.row_group(group).column(place).statistics
                assert (leaf.min, leaf.max) == (min(values[name].to_pylist()), max(values[name].to_pylist()))


def one_by_one() -> kernels.BicliqueBatch:
    return kernels.BicliqueBatch(*(np.array(x, np.int32) for x in ([0, 1], [3], [0, 1], [0], [3])))


def test_an_id_without_a_term_is_refused() -> None:
    terms = SurpriseTerms.of_degrees([1, 1, 1], [1])
    with pytest.raises(ValueError, match="holds the id 3; there are terms for 3"):
        terms.of(one_by_one())
    with pytest.raises(ValueError, match="holds the id 3; there are terms for 3"):
        encode_bicliques(one_by_one(), RowGroupLayout("none", objectives=["surprise"], terms=terms))
    negative = one_by_one()
    negative.left[0] = -1
    with pytest.raises(ValueError, match="holds the id -1"):
        terms.of(negative)


def test_surprise_needs_terms_and_an_objective_a_name_that_is_known() -> None:
    with pytest.raises(ValueError, match="needs terms"):
        encode_bicliques(one_by_one(), RowGroupLayout("none", objectives=["surprise"]))
    with pytest.raises(ValueError, match="objective"):
        encode_bicliques(one_by_one(), RowGroupLayout("none", objectives=["weight"]))  # type: ignore[list-item]
