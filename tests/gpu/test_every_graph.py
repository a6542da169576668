"""Every real graph on the GPU: the digest of the CPU, with every shape of the launch, ten times
each (one that moves is a race)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from bicliq import kernels
from bicliq.kernels.cuda.device import current_device
from bicliq.kernels.cuda.search_program import Tuning, compiled_search, tuned
from tests.real_graphs import COUNTS, DIGESTS, load

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

LAYOUTS = {
    "as shipped": Tuning(),
    "many small blocks": Tuning(warps_a_block=1, blocks_a_multiprocessor=8),
    "few large blocks": Tuning(warps_a_block=8, blocks_a_multiprocessor=1),
    "few registers, much given": Tuning(blocks_a_multiprocessor=6, nodes_a_poll=4, most_given=8),
    "all of a level given": Tuning(shares=1, most_given=1),
    "nothing given": Tuning(most_given=0),
}
RUNS = 10
LONG = {"fimi-chess"}  # seconds a run: it is repeated less


@pytest.fixture(scope="module", autouse=True)
def compiled_side_by_side() -> None:
    with ThreadPoolExecutor() as pool:
        device = current_device()
        list(pool.map(lambda tuning: compiled_search("search_members", tuning, device), LAYOUTS.values()))


@pytest.mark.parametrize("name", DIGESTS)
def test_the_digest_is_that_of_the_cpu_in_every_run(name: str) -> None:
    graph = load(name)
    moved = set()
    for layout, tuning in LAYOUTS.items():
        for run in range(2 if name in LONG else RUNS):
            with tuned(tuning):
                found = kernels.enumerate_maximal_bicliques(
                    graph.indptr, graph.indices, graph.n_right, mode="digest", backend="cuda"
                )
            if (found.bicliques, found.digest) != (COUNTS[name], DIGESTS[name]):
                moved.add((layout, run, found.bicliques, found.digest))
    assert not moved
