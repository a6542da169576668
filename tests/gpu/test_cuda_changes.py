"""What new edges change, searched on a GPU, against the CPU: the same bicliques, in ten runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from bicliq import kernels
from bicliq.kernels.cuda import stream as cuda_stream
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.versions.update import update
from tests.gpu.test_cuda_enumeration import random_graph
from tests.real_graphs import load

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]


def batch(graph: Any, share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ends of some of the edges; a vertex of either side has new ones only."""
    indptr, indices, _ = graph
    left = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    new = np.random.default_rng(seed).random(len(indices)) < share
    new |= (left == 3) | (indices == 5)
    return left[new], indices[new]


def found_by(graph: Any, ends: Any, backend: str, **options: Any) -> tuple[int, int, int, int]:
    """Numbers and digests of what appeared and vanished."""
    least = {name: options.pop(name) for name in ("min_left", "min_right", "min_edges") if name in options}
    found = kernels.ChangeSearch(*graph, *ends, **least).find(backend=backend, threads=4, **options)
    assert found.backend == ("cuda" if backend == "cuda" else found.backend)
    digests = [
        kernels.set_digest(lists.left_offsets, lists.left, lists.right_offsets, lists.right)
        for lists in (found.appeared, found.vanished)
    ]
    return len(found.appeared), len(found.vanished), *digests


SHAPES = [(40, 60, 0.15), (90, 45, 0.3), (400, 300, 0.05), (1600, 40, 0.2), (700, 700, 0.03)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("share", [0.002, 0.05, 0.5])
def test_what_changes_is_what_the_cpu_finds(shape: tuple[int, int, float], share: float) -> None:
    graph = random_graph(7, *shape)
    ends = batch(graph, share)
    expected = found_by(graph, ends, "cpu")
    assert expected[0] > 0
    assert found_by(graph, ends, "cuda") == expected
    least = {"min_left": 2, "min_right": 3, "min_edges": 8}
    assert found_by(graph, ends, "cuda", **least) == found_by(graph, ends, "cpu", **least)


def test_small_memory_and_small_groups_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(8, 300, 200, 0.1)
    ends = batch(graph, 0.02)
    expected = found_by(graph, ends, "cpu")
    monkeypatch.setenv(MEMORY_VARIABLE, str(256 << 20))
    monkeypatch.setattr(cuda_stream, "OUTPUT_WORDS_KEPT", 1 << 12)
    monkeypatch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", 20_000)
    assert found_by(graph, ends, "cuda") == expected


def test_ten_runs_are_alike_by_portions_as_well() -> None:
    graph = random_graph(9, 500, 200, 0.12)
    ends = batch(graph, 0.01)
    expected = found_by(graph, ends, "cpu")
    assert {found_by(graph, ends, "cuda") for _ in range(10)} == {expected}
    search = kernels.ChangeSearch(*graph, *ends)
    united = kernels.unite_changes(search.find(backend="cuda", portion=portion) for portion in search.portions(7))
    assert (len(united.appeared), len(united.vanished)) == expected[:2]


def test_a_search_that_may_meet_no_more_ends_there() -> None:
    graph = random_graph(9, 500, 200, 0.12)
    ends = batch(graph, 0.01)
    search = kernels.ChangeSearch(*graph, *ends)
    appeared = len(search.find(backend="cuda").appeared)
    assert len(search.find(backend="cuda", most=10 * appeared).appeared) == appeared
    with pytest.raises(kernels.TooManyError, match=f"more than {appeared // 2:,} bicliques"):
        search.find(backend="cuda", most=appeared // 2)


@pytest.mark.parametrize("name", ["gowalla", "YouTube", "EuAll"])
def test_a_thousandth_of_a_real_graph(name: str) -> None:
    loaded = load(name)
    order = np.random.default_rng(1).permutation(loaded.n_edges)[: loaded.n_edges // 1000]
    graph = loaded.indptr, loaded.indices, loaded.n_right
    ends = loaded.edge_left[order], loaded.indices[order]
    expected = found_by(graph, ends, "cpu")
    assert {found_by(graph, ends, "cuda") for _ in range(10)} == {expected}


@pytest.mark.parametrize("delete", [False, True])
def test_an_update_on_a_gpu_makes_the_version_of_the_cpu(tmp_path: Path, delete: bool) -> None:
    indptr, indices, _ = random_graph(11, 120, 90, 0.2)
    table = pa.table({"l": np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), "r": indices})
    new = np.arange(len(table)) % 97 == 0
    for name, some in (("base", ~new), ("new", new), ("all", np.ones(len(table), bool))):
        pa.csv.write_csv(table.filter(pa.array(some)), str(tmp_path / f"{name}.csv"))
    found = []
    for backend in ("cpu", "cuda"):
        settings = load_settings(
            store=str(tmp_path / backend), search={"backend": backend}, data_backend="cpu", cluster={"local": True}
        )
        run(str(tmp_path / ("all.csv" if delete else "base.csv")), settings)
        found.append(update(str(tmp_path / "new.csv"), settings, delete=delete))
    here, there = found
    assert (there.digest, there.appeared, there.vanished) == (here.digest, here.appeared, here.vanished)
    assert (here.how, there.how, there.backend) == ("changes", "changes", "cuda")
    record = Store.open(there.store).run(there.version).record()
    assert record.update.placement["search"].startswith("cuda: ")
