"""A cluster of GPUs, of which there may be one: the digest of the CPU, busy ratios, and the
device's Parquet writer."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.scaling import measure_scaling
from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import read_graph
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import (
    ClusterSettings,
    IngestSettings,
    PlanSettings,
    PublishSettings,
    SearchSettings,
    load_settings,
)
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.biclique_file import BicliqueWriter
from bicliq.pipeline.store.device_bicliques import DeviceBicliqueWriter
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.sizes import Sizes
from tests.integration.server import wait_for
from tests.real_graphs import COUNTS, DATA

REASON = kernels.why_not("cuda") or (
    None if importlib.util.find_spec("dask_cuda") else "dask_cuda is not installed: pip install 'bicliq[gpu]'"
)
DATA_REASON = why_no_data_on_device()
pytestmark = pytest.mark.gpu


@pytest.mark.skipif(REASON is not None, reason=REASON or "")
def test_workers_on_gpus_find_the_digest_of_the_cpu(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    graph = ingest(str(DATA / "marvel.parquet"), store, IngestSettings(left="u", right="v")).graph
    planned = plan(store, graph, SearchSettings(), PlanSettings(partitions=5)).run
    whole = read_graph(store.graph(graph))
    expected = kernels.enumerate_maximal_bicliques(whole.indptr, whole.indices, whole.n_right, mode="digest")
    for found in measure_scaling(store, planned, [1], "cuda"):
        assert found.bicliques == expected.bicliques == COUNTS["marvel"]
        assert found.digest == f"{expected.digest:016x}"
        assert 0 < found.busy["0"] <= 1


@pytest.mark.skipif(REASON is not None, reason=REASON or "")
def test_the_page_of_searches_shows_each_workers_gpu():
    from bokeh.client import pull_session
    from bokeh.models import Div

    with open_cluster(ClusterSettings(workers=1), "cuda") as client:
        page = client.dashboard_link.removesuffix("/status") + "/bicliq"

        def seen():
            with pull_session(url=page) as session:
                text = " ".join(each.text for each in session.document.select({"type": Div}))
            return re.search(r">(\d+) %</td><td[^>]*>([\d.]+) of (\d+) GiB<", text)

        load, used, total = map(float, wait_for(seen, 60).groups())
    assert 0 <= load <= 100
    assert 0 < used < total


@pytest.mark.skipif(DATA_REASON is not None, reason=DATA_REASON or "")
@pytest.mark.parametrize("compression", ["zstd", "lz4_raw", "none"])
@pytest.mark.parametrize("largest_id", [99, 60_000, 1_000_000_000])
def test_row_groups_of_the_device_are_what_pyarrow_and_cudf_read(compression, largest_id, tmp_path):
    import cudf
    import cupy

    rng, publish = np.random.default_rng(0), PublishSettings(compression=compression)
    on_device, on_host = tmp_path / "device.parquet", tmp_path / "host.parquet"
    with (
        open(on_device, "wb") as sink, DeviceBicliqueWriter(sink, publish) as writer,
        open(on_host, "wb") as other, BicliqueWriter(other, threads=1, publish=publish) as expected,
    ):  # fmt: skip
        for n, longest in ((0, 2), (700, 9), (1, 2), (5000, 900), (400_000, 20), (3, 700_000)):
            offsets = [np.concatenate([[0], rng.integers(1, longest, n).cumsum()]).astype(np.int32) for _ in range(2)]
            lists = [np.sort(rng.integers(0, largest_id, ends[-1]).astype(np.int32)) for ends in offsets]
            arrays = [offsets[0], lists[0], offsets[1], lists[1], np.arange(n, dtype=np.int32)]
            writer.write(kernels.BicliqueBatch(*map(cupy.asarray, arrays)))
            expected.write(kernels.BicliqueBatch(*arrays))
    host = pq.read_table(on_host)
    assert host.num_rows == 405_704
    assert pq.read_table(on_device).equals(host)
    assert writer.sizes.counts() == expected.sizes.counts()
    group = pq.read_metadata(on_device).row_group(1).column(0)
    assert group.compression == {"zstd": "ZSTD", "lz4_raw": "LZ4", "none": "UNCOMPRESSED"}[compression]
    read = cudf.read_parquet(on_device).to_arrow()
    assert all(read[name].cast(host[name].type).equals(host[name]) for name in host.column_names)


@pytest.mark.skipif(DATA_REASON is not None, reason=DATA_REASON or "")
@pytest.mark.parametrize("compression", ["zstd", "lz4_raw", "none"])
@pytest.mark.parametrize("largest_id", [99, 60_000, 1_000_000])
def test_cudf_reads_the_pages_of_the_extension(compression, largest_id, tmp_path):
    import cudf

    rng = np.random.default_rng(1)
    publish = PublishSettings(compression=compression)
    with open(tmp_path / "x.parquet", "wb") as sink, BicliqueWriter(sink, threads=2, publish=publish) as writer:
        for n in (0, 1, 700, 50_000):
            offsets = [np.concatenate([[0], rng.integers(1, 40, n).cumsum()]).astype(np.int32) for _ in range(2)]
            values = [rng.integers(0, largest_id, ends[-1]).astype(np.int32) for ends in offsets]
            roots = np.arange(n, dtype=np.int32)
            writer.write(kernels.BicliqueBatch(offsets[0], values[0], offsets[1], values[1], roots))
    expected = pq.read_table(tmp_path / "x.parquet")
    read = cudf.read_parquet(tmp_path / "x.parquet").to_arrow()
    assert expected.num_rows == 50_701
    assert all(read[name].to_pylist() == expected[name].to_pylist() for name in expected.column_names)


@pytest.mark.skipif(DATA_REASON is not None, reason=DATA_REASON or "")
@pytest.mark.parametrize("largest", [40, 30_000])
def test_sizes_that_the_device_counts_are_those_of_the_host(largest):
    import cupy

    sides = np.random.default_rng(3).zipf(1.5, (2, 200_000)).clip(1, largest).astype(np.int32)
    on_device, on_host = Sizes(), Sizes()
    on_device.add(*map(cupy.asarray, sides))
    on_host.add(*sides)
    assert on_device.counts() == on_host.counts()


@pytest.mark.skipif((REASON or DATA_REASON) is not None, reason=REASON or DATA_REASON or "")
@pytest.mark.parametrize("columns", ["both", "smaller"])
@pytest.mark.parametrize("codec", ["zstd", "lz4_raw"])
def test_a_run_that_stays_on_the_gpu_publishes_what_the_cpu_does(codec, columns, tmp_path):
    records, files = {}, {}
    for backend in ("cpu", "cuda"):
        settings = load_settings(
            store=str(tmp_path / backend), data_backend=backend, cluster={"local": True}, search={"backend": backend},
            plan={"partitions": 3}, publish={"compression": codec, "columns": columns},
        )  # fmt: skip
        found = run(str(DATA / "out.edit-nawiki"), settings)
        records[backend] = found.bicliques, found.digest
        files[backend] = next((tmp_path / backend).glob("**/partition=00000/*.parquet"))
        assert verify(Store.open(settings.store), found.run, sample=1000).problems == []
    assert records["cuda"] == records["cpu"]
    names = {backend: pq.read_schema(file).names for backend, file in files.items()}
    assert names["cuda"] == names["cpu"]
    assert pq.ParquetFile(files["cuda"]).schema[0].path.endswith("element")  # cuDF's name: it was encoded there
