"""A cluster of GPUs, of which there may be one: the digest of the CPU, busy ratios, and the device's Parquet writer."""

from __future__ import annotations

import importlib.util

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kernels
from pipeline.bicliques import SCHEMA
from pipeline.device import DeviceParquetWriter, why_no_data_on_device
from pipeline.graph import read_graph
from pipeline.ingest import ingest
from pipeline.plan import plan
from pipeline.scaling import measure_scaling
from pipeline.settings import IngestSettings, PlanSettings, SearchSettings
from pipeline.store import Store
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
    run = plan(store, graph, SearchSettings(), PlanSettings(partitions=5)).run
    whole = read_graph(store.graph(graph))
    expected = kernels.enumerate_maximal_bicliques(whole.indptr, whole.indices, whole.n_right, mode="digest")
    for found in measure_scaling(store, run, [1], "cuda"):
        assert found.bicliques == expected.bicliques == COUNTS["marvel"]
        assert found.digest == f"{expected.digest:016x}"
        assert 0 < found.busy["0"] <= 1


@pytest.mark.skipif(DATA_REASON is not None, reason=DATA_REASON or "")
def test_the_devices_writer_leaves_what_pyarrow_reads(tmp_path):
    rng = np.random.default_rng(0)
    sizes = [rng.integers(1, 9, 5000) for _ in range(2)]
    lists = [
        pa.ListArray.from_arrays(np.concatenate([[0], n.cumsum()]).astype(np.int32), rng.integers(0, 99, n.sum()).astype(np.int32))
        for n in sizes
    ]  # fmt: skip
    columns = [*lists, *(n.astype(np.int32) for n in (*sizes, np.arange(5000)))]
    table = pa.table(dict(zip(SCHEMA.names, columns, strict=True))).cast(SCHEMA)
    with open(tmp_path / "x.parquet", "wb") as sink, DeviceParquetWriter(sink) as writer:
        for batch in table.to_batches(max_chunksize=700):
            writer.write_batch(batch)
    assert pq.read_table(tmp_path / "x.parquet").cast(SCHEMA).equals(table)
