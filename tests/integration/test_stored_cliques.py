"""Cliques that a store keeps: proven ones stay, damaged ones are searched again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from tests.integration.stored_graphs import flip_a_bit


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def dense(tmp_path):
    u, v = np.nonzero(np.triu(np.random.default_rng(5).random((300, 300)) < 0.9, 1))
    pq.write_table(pa.table({"u": u, "v": v}), tmp_path / "dense.parquet")
    return str(tmp_path / "dense.parquet")


def test_a_smaller_clique_that_is_not_proven_never_replaces_a_larger_one(store, dense, monkeypatch):
    import bicliq.pipeline.questions.clique as cliques

    first = answer(dense, CliqueQuestion(time_limit=0.3), store=store)
    assert not first["proven"]
    find = cliques.find_clique
    monkeypatch.setattr(
        cliques,
        "find_clique",
        lambda *a, **o: {**(f := find(*a, **o)), "size": 3, "members": f["members"][:3], "proven": False},
    )
    again = answer(dense, CliqueQuestion(time_limit=0.01), store=store)
    assert again["earlier"]
    assert (again["size"], again["members"]) == (first["size"], first["members"])
    assert verify_store(store).problems == []
    assert len(list(store.root.files("cliques"))) == 3  # record, table, lock


def test_a_damaged_clique_is_searched_again(store, tmp_path, caplog):
    (tmp_path / "square.csv").write_text("u,v\n1,2\n2,3\n3,1\n3,4\n")
    first = answer(str(tmp_path / "square.csv"), CliqueQuestion(), store=store)
    (table,) = (name for name in store.root.files("cliques") if name.endswith(".parquet"))
    flip_a_bit(store.root, table)
    again = answer(str(tmp_path / "square.csv"), CliqueQuestion(), store=store)
    assert "clique is searched again" in caplog.text
    assert again["members"] == first["members"]
    assert answer(str(tmp_path / "square.csv"), CliqueQuestion(), store=store)["found"]
    assert verify_store(store).problems == []
