"""The data path on a GPU against the CPU: the same graph, figures and plan from the same table,
chunk by chunk too."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as drawn
from hypothesis import strategies as st

from benchmarks.generate import generate
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.settings import IngestSettings, PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages import device_ingest, device_reading
from bicliq.pipeline.stages.ingest import ingest, read_edge_table
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.profile import all_two_hop, profile
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Profile
from tests.gpu.records import without_times
from tests.integration.test_cases import CASES, ENUMERATED, Case
from tests.property.test_dirty_tables import Table, baskets, edge_files, frames, matrices
from tests.real_graphs import DATA

REASON = why_no_data_on_device()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]


@pytest.fixture(params=["whole", "in chunks"])
def chunks(request, monkeypatch):
    """Tables are read whole, or in small chunks that are kept on the host and united in many
    ranges."""
    if request.param == "in chunks":
        monkeypatch.setattr(device_reading, "TEXT_CHUNK", 5_000)
        monkeypatch.setattr(device_reading, "PARQUET_CHUNK", 1)
        monkeypatch.setattr(device_ingest, "free_bytes", lambda: 20_000)


def assert_same(source, on_device=True, **options):
    settings = IngestSettings(**options)
    expected = read_edge_table(str(source), settings)
    found = read_edge_table(str(source), settings, backend="cuda")
    assert (found.summary.backend == "cuda") == on_device, found.summary.backend
    assert np.array_equal(found.left, expected.left)
    assert np.array_equal(found.right, expected.right)
    assert (found.weight is None) == (expected.weight is None)
    assert found.weight is None or np.array_equal(found.weight, expected.weight)
    assert found.left_ids.equals(expected.left_ids)
    assert found.right_ids.equals(expected.right_ids)
    ours, theirs = (
        {k: v for k, v in table.summary.record().items() if k not in ("seconds", "backend")}
        for table in (found, expected)
    )
    assert ours == theirs


@pytest.mark.parametrize("options", [
    {}, {"duplicates": "sum"}, {"duplicates": "max"}, {"since": "2009-01-01"}, {"sample": 0.3}, {"min_weight": 1},
    {"self_labels": "drop"}, {"until": "1230768000", "duplicates": "sum", "min_weight": 1},
])  # fmt: skip
def test_konect_files_give_the_cpus_table(chunks, options):
    assert_same(DATA / "out.edit-nawiki", **options)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", ["table.parquet", "table.csv", "folder"])
def test_generated_tables_give_the_cpus_table(tmp_path, chunks, name, text, monkeypatch):
    monkeypatch.setattr("benchmarks.generate.CHUNK_EDGES", 4000)
    monkeypatch.setattr("benchmarks.generate.FILE_CHUNKS", 2)
    generate(str(tmp_path / name), 3000, 500, 20_000, seed=5, text=text)
    assert_same(tmp_path / name)


def test_text_of_any_script_is_ranked_alike(tmp_path, chunks):
    words = ["Ω", "ω", "é", "e\u0301", "Z", "a", "10", "9", "𝄞", "\uffff", "ﬁ", "zz", "-", "b", "ß"]
    rng = np.random.default_rng(0)
    lines = [f"{words[i]}{j % 7};{words[j % 15]}" for i, j in rng.integers(0, 15, (3000, 2))]
    (tmp_path / "t.csv").write_text("who;what\n" + "\n".join(lines) + "\n", encoding="utf-8")
    assert_same(tmp_path / "t.csv", left="who", right="what")


def test_numbers_that_turn_to_text_late_are_text(tmp_path, chunks):
    lines = [f"{i},{i % 50}" for i in range(4000)] + ["x7,3", "007,3"]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(lines))
    assert_same(tmp_path / "t.csv", left="a", right="b")


@pytest.mark.parametrize("body", [
    "a,b\n1,2\n 3,4\n", 'a,b\n1,"2,3"\n', "a,b\r\n1,2\r\n3,4\r\n",
    "a,b\n1,2\n\n3,4\n", 'a,b\n"x ""y""",1\n"x",2\n',
    "\ufeffa,b\n1,2\n", "\ufeff1,2\n3,4\n", "a,b\n01,2\n1,2\n", "a,b\n-1,2\n-0,2\n", "a,b\n1,2\n+5,2\n0x1F,3\n",
    'a,b\n"NA",1\nx,2\n', 'a,b\n5" pipe,1\nx,2\n', "a,b\n12345678901234567890,1\n7,2\n", "a,b\n1, 2\n", "a,b\nx,1e3\n",
    "a,b\n1,2\n1,99999999999999999999\n", "a,b\n1,99999999999999999999\n1,x\n", "a,b\n10,07\n10,7\n",
])  # fmt: skip
def test_what_the_device_is_not_sure_of_is_read_all_the_same(tmp_path, body):
    (tmp_path / "t.csv").write_text(body, newline="", encoding="utf-8")
    settings = IngestSettings(left="a", right="b") if "a" in body else IngestSettings(header=False)
    expected = read_edge_table(str(tmp_path / "t.csv"), settings)
    found = read_edge_table(str(tmp_path / "t.csv"), settings, backend="cuda")
    assert found.left_ids.equals(expected.left_ids)
    assert found.right_ids.equals(expected.right_ids)
    assert np.array_equal(found.left, expected.left)


@pytest.mark.parametrize(
    "options", [{"ids": "text"}, {"quotes": False}, {"multiline": True}, {"null_values": ["7"], "nulls": "drop"}]
)
def test_options_of_labels_give_the_cpus_table(tmp_path, options):
    (tmp_path / "t.csv").write_text("a,b\n10,7\n010,8\n9,NA\n9,8\n")
    expected, found = (
        read_edge_table(
            str(tmp_path / "t.csv"),
            IngestSettings(**{"left": "a", "right": "b", "nulls": "drop", **options}),
            backend=backend,
        )
        for backend in ("cpu", "cuda")
    )
    assert found.left_ids.equals(expected.left_ids)
    assert found.right_ids.equals(expected.right_ids)
    assert np.array_equal(found.left, expected.left)
    assert found.summary.dropped_nulls == expected.summary.dropped_nulls


@pytest.mark.parametrize("ids", [
    pa.array([5, -3, 7]), pa.array([5, 3, 7], pa.uint64()), pa.array([5, 2**63, 7], pa.uint64()), pa.array([5.0, 3.0, 7.0]),
    pa.array(["b", "a", "10"]), pa.array(["b", "a", "10"]).dictionary_encode(), pa.array(["b", "a", "10"], pa.large_string()),
    pa.array([5, 3, 7], pa.int8()), pa.array([True, False, True]), pa.array([5, 3, 7], pa.date32()), pa.array([b"b", b"a", b"c"]),
    pa.array([5, 3, 7]).dictionary_encode(), pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("1.50")]),
])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"ids": "text"}])
def test_parquet_ids_of_any_type_give_the_cpus_table(tmp_path, ids, options):
    pq.write_table(pa.table({"a": ids, "b": [1, 2, 3]}), tmp_path / "t.parquet")
    settings = IngestSettings(**options)
    expected = read_edge_table(str(tmp_path / "t.parquet"), settings)
    found = read_edge_table(str(tmp_path / "t.parquet"), settings, backend="cuda")
    assert found.left_ids.equals(expected.left_ids)
    assert found.right_ids.equals(expected.right_ids)
    assert np.array_equal(found.left, expected.left)
    assert np.array_equal(found.right, expected.right)


@pytest.mark.parametrize("body", [
    "a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n", "a,b\n1,2\n3\n4,5,6\n", "a,b\n1,\n", "a,b\n1,2\nnan,2\n",
    "a,b\nx,\xff\n", "a,b\n1,NA\n", "a,b\nnull,2\n", 'a,b\n"x\ny",1\nz,2\n', 'a,b\n"x,1\n', 'a,b\n"x"y,1\n', "a,b\n1,2\r3,4\n",
])  # fmt: skip
def test_bad_input_gives_the_cpus_error(tmp_path, body):
    (tmp_path / "t.csv").write_bytes(body.encode("latin-1"))
    settings = IngestSettings(left="a", right="b")
    with pytest.raises(InputError) as expected:
        read_edge_table(str(tmp_path / "t.csv"), settings)
    with pytest.raises(InputError) as found:
        read_edge_table(str(tmp_path / "t.csv"), settings, backend="cuda")
    assert str(found.value) == str(expected.value)


def what_was_read(source, asked, backend):
    """Everything about a table that was read, or the sentence that refused it."""
    try:
        table = read_edge_table(source, load_settings(ingest=asked).ingest, backend=backend)
    except BicliqError as error:
        return str(error)
    told = {name: value for name, value in table.summary.record().items() if name not in ("seconds", "backend")}
    weight = None if table.weight is None else table.weight.tolist()
    sides = table.left.tolist(), table.right.tolist(), table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return told, weight, *sides


@pytest.mark.parametrize("case", ENUMERATED, ids=str)
def test_files_that_were_read_wrong_once_are_the_cpus(case: Case):
    source = str(CASES / case.name)
    assert what_was_read(source, case.asked, "cuda") == what_was_read(source, case.asked, "cpu")


@given(table=st.one_of(edge_files(), edge_files(), edge_files(), matrices(), baskets(), frames()))
@drawn(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_tables_as_people_have_them_are_the_cpus(tmp_path_factory, table: Table):
    source = table.put(tmp_path_factory.mktemp("dirty"))
    source = str(source) if table.name else source
    assert what_was_read(source, table.asked, "cuda") == what_was_read(source, table.asked, "cpu")


def test_repeated_edges_are_refused_where_that_is_asked(tmp_path, chunks):
    with pytest.raises(InputError, match="44778 of 70695 rows repeat an edge"):
        read_edge_table(str(DATA / "out.edit-nawiki"), IngestSettings(duplicates="error"), backend="cuda")


def test_weights_are_united_exactly_or_by_the_cpu(tmp_path, chunks):
    rng = np.random.default_rng(1)
    rows = [f"{a},{b},{w}" for a, b, w in rng.integers(0, 60, (3000, 3))]
    (tmp_path / "whole.csv").write_text("a,b,w\n" + "\n".join(rows))
    (tmp_path / "parts.csv").write_text("a,b,w\n" + "\n".join(f"{row}.1" for row in rows))
    columns = {"left": "a", "right": "b", "weight": "w"}
    for policy in ("first", "sum", "max"):
        assert_same(tmp_path / "whole.csv", duplicates=policy, **columns)
        assert_same(tmp_path / "parts.csv", duplicates=policy, on_device=policy != "sum", **columns)


@pytest.mark.parametrize("name", ["marvel.parquet", "out.edit-nawiki"])
def test_graph_profile_and_plan_are_those_of_the_cpu(tmp_path, name, monkeypatch):
    monkeypatch.setattr("bicliq.pipeline.stages.ingest.ROWS_WORTH_THE_DEVICE", 0)
    options = IngestSettings(left="u", right="v") if name.endswith("parquet") else IngestSettings()
    found = {}
    for backend in ("cpu", "cuda"):
        store = Store.open(str(tmp_path / backend))
        graph = ingest(str(DATA / name), store, options, backend=backend)
        figures = without_times(profile(store, graph.graph, backend))
        folder = store.graph(graph.graph)
        stored = {**folder.record().named, **folder.read(Profile).named}
        tables = [folder.read_table(stored[f"{n}.parquet"]) for n in ("profile", "edges", "left_ids", "right_ids")]
        records = []
        for search, cut in ((SearchSettings(), PlanSettings()), (SearchSettings(min_left=3, min_right=2, side="left"), PlanSettings(partitions=9)),
                            (SearchSettings(side="right"), PlanSettings(memory_budget=1 << 18))):  # fmt: skip
            planned = plan(store, graph.graph, search, cut, backend)
            records.append(without_times(planned))
            run = store.run(planned.run)
            tables.append(run.read_table(run.planned.named["plan.parquet"]))
        found[backend] = graph.graph, figures, records, tables
    for ours, theirs in zip(found["cuda"][:3], found["cpu"][:3], strict=True):
        assert ours == theirs
    for ours, theirs in zip(found["cuda"][3], found["cpu"][3], strict=True):
        assert ours.to_pylist() == theirs.to_pylist() if ours.num_rows < 1000 else ours.equals(theirs.cast(ours.schema))


def test_cores_and_two_hop_neighbourhoods_are_those_of_the_cpu(tmp_path):
    import cupy
    from scipy.sparse import csr_array

    from benchmarks.two_hop import two_hop_by_cugraph, two_hop_by_merge
    from bicliq.pipeline.graphs.paths import two_hop_sizes

    store = Store.open(str(tmp_path / "store"))
    graph = ingest(str(DATA / "marvel.parquet"), store, IngestSettings(left="u", right="v")).graph
    host, device = (read_graph(store.graph(graph), backend) for backend in ("cpu", "cuda"))
    for bounds in ((1, 1), (2, 2), (5, 3)):
        ours, theirs = reduce(device, *bounds), reduce(host, *bounds)
        assert np.array_equal(ours.left_kept.get(), theirs.left_kept)
        assert np.array_equal(ours.graph.indices.get(), theirs.graph.indices)
    matrix = csr_array((np.ones(host.n_edges, np.int32), host.indices, host.indptr), (host.n_left, host.n_right))
    expected = np.diff((matrix @ matrix.T).tocsr().indptr) - (host.left_degrees > 0)
    assert np.array_equal(all_two_hop(device), expected)
    starts = cupy.arange(host.n_left, dtype=cupy.int32)
    for count in (two_hop_sizes, two_hop_by_merge, two_hop_by_cugraph):
        for pairs in (1_000, 1 << 30):
            assert np.array_equal(count(device, starts, pairs).get(), expected), count.__name__


def test_a_graph_without_edges_has_components_of_one(tmp_path):
    import cupy

    from bicliq.pipeline.stages.profile import components

    empty = BipartiteGraph(2, 3, cupy.zeros(3, cupy.int64), cupy.zeros(0, cupy.int32))
    assert [side.tolist() for side in components(empty)] == [[0, 1], [2, 3, 4]]
