"""One table, written in every format and held in every library, has the same bicliques."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bicliq
from tests.nightly import drawn

Matrix = np.ndarray
Groups = set[tuple[frozenset[int], frozenset[int]]]
Door = Callable[[Matrix, Path], tuple[Any, dict[str, Any]]]

DOORS: dict[str, Door] = {}

MATRIX, BASKETS = {"format": "matrix"}, {"format": "baskets"}


def door(make: Door) -> Door:
    """Add a way in: what it makes of a table is a source, and how it is read.

    Labels end on their position, as r0 and c0, or are positions; those from 1 are in `FROM_1`.
    """
    DOORS[make.__name__] = make
    return make


def rows(table: Matrix) -> list[str]:
    return [f"r{at}" for at in range(table.shape[0])]


def columns(table: Matrix) -> list[str]:
    return [f"c{at}" for at in range(table.shape[1])]


def edges(table: Matrix) -> list[tuple[str, str]]:
    return [(f"r{left}", f"c{right}") for left, right in np.argwhere(table)]


def neighbours(table: Matrix) -> dict[str, list[str]]:
    return {f"r{at}": [f"c{column}" for column in np.flatnonzero(row)] for at, row in enumerate(table)}


def lines(path: Path, *texts: str) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def one_hot(table: Matrix) -> pd.DataFrame:
    return pd.DataFrame(table.astype(bool), index=rows(table), columns=columns(table))


# ---- edges ---------------------------------------------------------------------------------------


@door
def edge_csv(table, folder):
    return lines(folder / "edges.csv", "user,item", *map(",".join, edges(table))), {}


@door
def edges_of_objects(table, folder):
    return lines(folder / "t.jsonl", *(json.dumps({"u": u, "v": v}) for u, v in edges(table))), {}


@door
def lists_of_objects(table, folder):
    return lines(folder / "t.jsonl", *(json.dumps({"u": u, "v": v}) for u, v in neighbours(table).items())), {}


@door
def duckdb_file(table, folder):
    (folder / "t.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.execute("create table edges (u varchar, v varchar); create table other (x int)")
        database.executemany("insert into edges values (?, ?)", edges(table))
    return f"{folder / 't.duckdb'}::edges", {}


@door
def sheet_of_edges(table, folder):
    pd.DataFrame(edges(table), columns=["u", "v"]).to_excel(folder / "t.xlsx", index=False)
    return folder / "t.xlsx", {}


@door
def folders_with_keys(table, folder):
    for name, items in neighbours(table).items():
        (folder / "hive" / f"row={name}").mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"item": pa.array(items, pa.string())}), folder / "hive" / f"row={name}" / "0.parquet")
    return folder / "hive", {"left": "row", "right": "item"}


# ---- matrices ------------------------------------------------------------------------------------


@door
def matrix_csv(table, folder):
    one_hot(table).astype(int).to_csv(folder / "m.csv")
    return folder / "m.csv", MATRIX


@door
def matrix_of_truth_values(table, folder):
    one_hot(table).to_csv(folder / "m.tsv", sep="\t")
    return folder / "m.tsv", MATRIX


@door
def matrix_of_marks(table, folder):
    marks = one_hot(table).map(lambda there: "X" if there else "")
    marks.to_csv(folder / "m.csv", index_label="name")
    return folder / "m.csv", MATRIX


@door
def matrix_of_digits(table, folder):
    return lines(folder / "m.txt", *(" ".join(map(str, map(int, row))) for row in table)), MATRIX


@door
def otu_table(table, folder):
    counts = ("\t".join([name, *(f"{n * 3.0}" for n in row)]) for name, row in zip(rows(table), table, strict=True))
    return lines(folder / "m.txt", "# from a biom file", "\t".join(["#OTU ID", *columns(table)]), *counts), MATRIX


@door
def parquet_matrix(table, folder):
    one_hot(table).reset_index(names="name").to_parquet(folder / "m.parquet")
    return folder / "m.parquet", MATRIX


@door
def sheet_of_a_matrix(table, folder):
    one_hot(table).astype(int).to_excel(folder / "m.xlsx")
    return folder / "m.xlsx", MATRIX


@door
def pandas_one_hot(table, folder):
    return one_hot(table), MATRIX


@door
def pandas_sparse(table, folder):
    return one_hot(table).astype(int).astype(pd.SparseDtype(int, 0)), MATRIX


@door
def polars_one_hot(table, folder):
    return pl.from_pandas(one_hot(table).reset_index(names="name")), MATRIX


@door
def dense_array(table, folder):
    return table, MATRIX


@door
def scipy_with_zeros(table, folder):
    every = np.indices(table.shape).reshape(2, -1)
    return sp.coo_array((table.ravel(), tuple(every)), table.shape), {}


@door
def labelled_matrix(table, folder):
    return bicliq.from_matrix(table, rows(table), columns(table)), {}


@door
def matrix_market(table, folder):
    scipy.io.mmwrite(folder / "m.mtx", scipy_with_zeros(table, folder)[0], symmetry="general")
    return folder / "m.mtx", {}


# ---- baskets -------------------------------------------------------------------------------------


@door
def baskets_with_blanks(table, folder):
    return lines(folder / "b.dat", *map(" ".join, neighbours(table).values())), BASKETS


@door
def baskets_with_commas(table, folder):
    return lines(folder / "b.csv", *map(", ".join, neighbours(table).values())), BASKETS


@door
def gene_sets(table, folder):
    return lines(folder / "b.gmt", *("\t".join([name, "na", *some]) for name, some in neighbours(table).items())), {}


@door
def context(table, folder):
    crosses = ("".join("X" if there else "." for there in row) for row in table)
    return lines(folder / "b.cxt", "B", "", *map(str, table.shape), "", *rows(table), *columns(table), *crosses), {}


@door
def dict_of_baskets(table, folder):
    return neighbours(table), {}


@door
def dict_of_numbers(table, folder):
    return {
        name: dict(zip(columns(table), map(int, row), strict=True))
        for name, row in zip(rows(table), table, strict=True)
    }, {}


@door
def series_of_lists(table, folder):
    return pd.Series(neighbours(table)), {}


@door
def pandas_lists(table, folder):
    return pd.Series(neighbours(table)).rename_axis("u").reset_index(name="v"), {}


@door
def polars_lists(table, folder):
    return pl.DataFrame(
        {"u": rows(table), "v": list(neighbours(table).values())}, {"u": pl.String, "v": pl.List(pl.String)}
    ), {}


@door
def parquet_lists(table, folder):
    pl.DataFrame(polars_lists(table, folder)[0]).write_parquet(folder / "l.parquet")
    return folder / "l.parquet", {}


# ---- networks ------------------------------------------------------------------------------------


@door
def pajek(table, folder):
    n, m = table.shape
    vertices = (f'{at} "{name}"' for at, name in enumerate(rows(table) + columns(table), 1))
    ties = (f"{left + 1} {n + right + 1} 1" for left, right in np.argwhere(table))
    return lines(folder / "p.net", f"*Vertices {n + m} {n}", *vertices, "*Edges", *ties), {}


@door
def dl_matrix(table, folder):
    head = f"dl nr={table.shape[0]} nc={table.shape[1]} format=fullmatrix", "row labels:", ",".join(rows(table))
    cells = (" ".join(map(str, map(int, row))) for row in table)
    return lines(folder / "d.dl", *head, "column labels:", ",".join(columns(table)), "data:", *cells), {}


@door
def dl_edges(table, folder):
    head = f"dl nr={table.shape[0]}, nc={table.shape[1]}", "format = edgelist2", "labels embedded", "data:"
    return lines(folder / "d.dl", *head, *map(" ".join, edges(table))), {}


# ---- what they have in common --------------------------------------------------------------------


FROM_1 = {"baskets_with_blanks": ("left",), "baskets_with_commas": ("left",), "matrix_market": ("left", "right")}
"""Sides that are numbered from 1, by the door."""


def groups_of(found: bicliq.Bicliques, from_1: tuple[str, ...]) -> Groups:
    """Bicliques by positions of rows and columns: numbers, or ends of labels."""
    return {
        (frozenset(positions(group["left"], "left" in from_1)), frozenset(positions(group["right"], "right" in from_1)))
        for group in found
    }


def positions(labels: list[str] | list[int], from_1: bool) -> list[int]:
    return [label - from_1 if isinstance(label, int) else int(label[1:]) for label in labels]


def brute_force(table: Matrix) -> Groups:
    """Closed pairs of rows and columns, from every set of columns."""
    found = set()
    for mask in range(1, 1 << table.shape[1]):
        wanted = [at for at in range(table.shape[1]) if mask >> at & 1]
        left = np.flatnonzero(table[:, wanted].all(axis=1))
        if len(left):
            found.add((frozenset(left.tolist()), frozenset(np.flatnonzero(table[left].all(axis=0)).tolist())))
    return found


tables = (
    st.integers(2, 5)
    .flatmap(
        lambda n: st.integers(2, 4).flatmap(
            lambda m: st.lists(st.integers(0, 1), min_size=n * m, max_size=n * m).map(
                lambda cells: np.array(cells, np.int64).reshape(n, m)
            )
        )
    )
    .filter(lambda table: table.any())
)


@pytest.mark.parametrize("name", DOORS)
@given(table=tables)
@settings(max_examples=drawn(30), deadline=None)
def test_a_table_has_the_same_bicliques_from_every_door(tmp_path_factory, name, table):
    source, asked = DOORS[name](table, tmp_path_factory.mktemp(name))
    assert groups_of(bicliq.enumerate(source, **asked), FROM_1.get(name, ())) == brute_force(table)
