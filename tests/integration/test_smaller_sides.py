"""A run that stores the smaller sides alone answers as one that stores both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.kernels.cuda import stream
from bicliq.kernels.cuda.search_program import Tuning, tuned
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.placement import device
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import PlanSettings, PublishSettings, Settings
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.biclique_reader import GRAPHS_HELD, LargerSides
from bicliq.pipeline.store.bicliques import SCHEMA, SMALLER_SCHEMA, table_of_rows
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.results import Run, open_run
from tests import host_cupy, host_kernels, host_row_groups
from tests.host_cupy import HostCupy

RANDOM = np.random.default_rng(11)
BASKETS = {f"u{u:02}": [v * 10 for v in range(20) if RANDOM.random() < 0.45] for u in range(26)}
SMALLER = PublishSettings(columns="smaller")


def made(store: Any, publish: PublishSettings, **search: Any) -> Run:
    settings = Settings(store=store, plan=PlanSettings(partitions=4), publish=publish, search=search)
    run(BASKETS, settings)
    return open_run(settings.store)


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order of their own: two runs find them in another one."""
    return sorted(
        ({name: value for name, value in row.items() if name != "biclique_id"} for row in rows),
        key=lambda row: (row["left"], row["right"]),
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("both"), PublishSettings(), threads=1)


@pytest.fixture(scope="module", params=["zstd", "lz4_raw", "none"])
def smaller(request, tmp_path_factory) -> Run:
    publish = PublishSettings(columns="smaller", compression=request.param)
    return made(tmp_path_factory.mktemp("smaller"), publish, threads=1)


def test_files_hold_the_smaller_sides_in_the_codec_that_is_asked_for(both, smaller) -> None:
    asked = smaller.folder.record().publish
    expected = {(row["n_left"], row["n_right"], row["root"]) for row in both.table(ids=False).to_pylist()}
    ids = 0
    for commit in smaller.commits.values():
        with smaller.folder.open_parquet(commit.data) as file:
            assert file.schema_arrow.equals(SMALLER_SCHEMA)
            codec = file.metadata.row_group(0).column(0).compression if file.num_row_groups else None
            assert codec in (None, {"zstd": "ZSTD", "lz4_raw": "LZ4", "none": "UNCOMPRESSED"}[asked.compression])
            for row in file.read().to_pylist():
                assert len(row["smaller"]) == min(row["n_left"], row["n_right"])
                assert (row["n_left"], row["n_right"], row["root"]) in expected
                ids += len(row["smaller"])
    assert ids < sum(row["n_left"] + row["n_right"] for row in both.table(ids=False).to_pylist()) / 2


@pytest.mark.parametrize("columns", ["both", "smaller"])
@pytest.mark.parametrize("objectives", [[], ["edges"], ["surprise"]])
def test_what_a_gpu_finds_and_the_host_writes_is_the_same(tmp_path, monkeypatch, both, columns, objectives) -> None:
    monkeypatch.setattr(stream, "OUTPUT_WORDS", 1 << 12)
    gpu = host_cupy.installed(HostCupy(host_kernels.ENUMERATION), monkeypatch)
    with host_cupy.nvcomp_at(monkeypatch, None), gpu, tuned(Tuning(most_multiprocessors=1)):
        publish = PublishSettings(columns=columns, objectives=objectives)
        settings = Settings(
            store=tmp_path, data_backend="cpu", plan=PlanSettings(partitions=4), publish=publish,
            search={"backend": "cuda", "threads": 2}, cluster={"local": True},
        )  # fmt: skip
        run(BASKETS, settings)
    found = open_run(settings.store)
    assert {commit.backend for commit in found.commits.values()} == {"cuda"}
    assert found.manifest.digest == both.manifest.digest
    assert found.manifest.largest == both.manifest.largest
    names = [field.name for field in SCHEMA]
    assert ordered(found.table().select(names).to_pylist()) == ordered(both.table().select(names).to_pylist())


@pytest.fixture(scope="module")
def row_groups(tmp_path_factory):
    return host_row_groups.row_group_kernels(tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("columns", ["both", "smaller"])
@pytest.mark.parametrize("compression", ["zstd", "lz4_raw", "none"])
def test_what_a_gpu_finds_and_encodes_is_the_same(
    tmp_path, monkeypatch, both, row_groups, columns, compression
) -> None:
    publish = PublishSettings(columns=columns, compression=compression)
    gpu, found = found_by_a_gpu(tmp_path, monkeypatch, row_groups, publish)
    assert "lay_pages" in gpu.launches
    assert verify(found.store, found.run).problems == []
    assert found.manifest.digest == both.manifest.digest
    assert found.manifest.largest == both.manifest.largest
    names = [field.name for field in SCHEMA]
    assert ordered(found.table().select(names).to_pylist()) == ordered(both.table().select(names).to_pylist())


def found_by_a_gpu(tmp_path, monkeypatch, row_groups, publish, partitions=4) -> tuple[HostCupy, Run]:
    """A run on a GPU that is this processor, which encodes as well."""
    monkeypatch.setattr(stream, "OUTPUT_WORDS_KEPT", 1 << 12)
    host_row_groups.use_host(monkeypatch)
    gpu = HostCupy({**host_kernels.ENUMERATION, **row_groups})
    with host_cupy.installed(gpu, monkeypatch), tuned(Tuning(most_multiprocessors=1)):
        settings = Settings(
            store=tmp_path, data_backend="cpu", plan=PlanSettings(partitions=partitions), publish=publish,
            search={"backend": "cuda", "threads": 2}, cluster={"local": True},
        )  # fmt: skip
        run(BASKETS, settings)
    return gpu, open_run(settings.store)


@pytest.mark.parametrize("columns", ["both", "smaller"])
def test_the_cpu_encodes_where_a_side_may_be_too_long_for_a_gpu(
    tmp_path, monkeypatch, both, row_groups, columns
) -> None:
    degrees = [len(basket) for basket in BASKETS.values()]
    buyers = [sum(item in basket for basket in BASKETS.values()) for item in range(0, 200, 10)]
    longest = max(degrees + buyers)
    assert longest < len(BASKETS)
    for most, where in ((longest, "device"), (longest - 1, "host")):
        monkeypatch.setattr(device, "LONGEST_SIDE", most)
        publish = PublishSettings(columns=columns)
        gpu, found = found_by_a_gpu(tmp_path / where, monkeypatch, row_groups, publish, partitions=1)
        assert ("lay_pages" in gpu.launches) == (where == "device")
        assert found.manifest.digest == both.manifest.digest


def test_every_reader_restores_the_other_side(both, smaller) -> None:
    expected = ordered(both.table().to_pylist())
    assert len(expected) > 300
    assert smaller.manifest.digest == both.manifest.digest
    assert ordered(smaller.table().to_pylist()) == expected
    assert ordered(smaller.to_pandas().to_dict("records")) == ordered(both.to_pandas().to_dict("records"))
    assert len(smaller.to_dask().compute()) == len(expected)
    frame = smaller.to_dask(ids=False).compute()
    assert ordered(frame[frame.n_left == 2].to_dict("records")) == ordered(
        both.to_dask(ids=False).compute().query("n_left == 2").to_dict("records")
    )
    parts = [smaller.read_partition(number).to_pylist() for number in smaller.partitions]
    assert ordered([row for part in parts for row in part]) == expected
    dense = smaller.table(ids=False).schema
    assert dense.equals(both.table(ids=False).schema)


def test_choices_pages_and_exports_are_the_same(both, smaller, tmp_path) -> None:
    mine, theirs = Bicliques(smaller), Bicliques(both)
    for bounds in (
        {"min_left": 3, "max_right": 5},
        {"with_left": ["u03"], "with_right": [20]},
        {"min_edges": 12, "with_right": [30, 50]},
        {"min_left": 100},
    ):
        assert ordered(list(mine.where(**bounds))) == ordered(list(theirs.where(**bounds)))
        assert len(mine.where(**bounds)) == len(theirs.where(**bounds))
    for by in ("edges", "left", "right"):
        drop = lambda table: [{**row, "biclique_id": 0} for row in table.to_pylist()]  # noqa: E731
        assert drop(mine.page(2, 30, by)) == drop(theirs.page(2, 30, by))
    mine.export(tmp_path / "mine.parquet")
    theirs.export(tmp_path / "theirs.parquet")
    assert ordered(pq.read_table(tmp_path / "mine.parquet").to_pylist()) == ordered(
        pq.read_table(tmp_path / "theirs.parquet").to_pylist()
    )


def test_it_is_verified_and_resumed_as_any_other(tmp_path) -> None:
    settings = Settings(store=tmp_path, plan=PlanSettings(partitions=4), publish=SMALLER, search={"max_bicliques": 100})
    cut = run(BASKETS, settings)
    assert (cut.bicliques, cut.complete) == (100, False)
    found = verify(open_run(tmp_path).store, cut.run)
    assert (found.ok, found.bicliques, found.sampled > 0) == (True, 100, True)
    whole = run(
        BASKETS, settings.model_copy(update={"search": settings.search.model_copy(update={"max_bicliques": None})})
    )
    assert (whole.run, whole.complete) == (cut.run, True)
    assert whole.digest == bicliq.enumerate(BASKETS).digest
    found = verify(open_run(tmp_path).store, whole.run)
    assert (found.ok, found.digest) == (True, whole.digest)


def test_duckdb_finds_the_other_sides_as_the_documentation_says(both, smaller) -> None:
    query = Path("docs/store.md").read_text().partition("```sql\n")[2].partition("```")[0]
    graph = smaller.store.graph(smaller.manifest.graph).path
    query = query.replace("<run>", smaller.folder.path).replace("<graph>", graph)
    found: dict[int, list[int]] = {}
    for number, right in duckdb.sql(query).fetchall():
        found.setdefault(number, []).append(right)
    rows = both.table(ids=False).to_pylist()
    assert sorted(map(sorted, found.values())) == sorted(
        row["right"] for row in rows if row["n_left"] <= row["n_right"]
    )


def test_layouts_are_runs_of_their_own_and_the_default_keeps_its_name(tmp_path) -> None:
    names = {
        columns + compression: made(tmp_path, PublishSettings(columns=columns, compression=compression)).run
        for columns in ("both", "smaller")
        for compression in ("zstd", "none")
    }
    assert len(set(names.values())) == 4
    assert made(tmp_path, PublishSettings()).run == names["bothzstd"]


def test_sides_that_are_not_those_of_the_graph_are_an_error(tmp_path) -> None:
    opened = made(tmp_path, SMALLER)
    commit = next(iter(opened.commits.values()))
    table = opened.folder.read_table(commit.data)
    sizes = np.array(table["n_left"]) + 1
    wrong = table.set_column(1, SMALLER_SCHEMA.field("n_left"), [sizes.astype(np.int32)])
    stored: StoredFile = opened.folder.write_table(commit.file, wrong)
    opened.folder.write(Commit.name(commit.partition), replace(commit, stored=(stored,)))
    opened.folder.unpublish()
    with pytest.raises(DamageError, match="is not the graph of these bicliques"):
        open_run(tmp_path).table()
    assert any("cannot be read" in problem for problem in verify(opened.store, opened.run).problems)


def test_a_process_holds_few_graphs_and_restores_by_all(both) -> None:
    rows = both.parts[0].read().slice(0, 50).to_pylist()
    smaller = [{**row, "smaller": min(row["left"], row["right"], key=len)} for row in rows]
    table = table_of_rows(smaller, SMALLER_SCHEMA)
    several = [LargerSides(both.graph) for _ in range(GRAPHS_HELD + 3)]
    for sides in [*several, several[0]]:
        assert sides.restored(table).to_pylist() == rows
    assert sum("_known" in vars(sides) for sides in several) == GRAPHS_HELD
    assert "_known" in vars(several[0])
