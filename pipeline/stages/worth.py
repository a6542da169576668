"""What a partition is worth: how much work one should hold, for those who search."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bicliq import kernels
from bicliq.pipeline.errors import BackendError
from bicliq.pipeline.placement.device import gpu_count
from bicliq.pipeline.placement.where import place_run
from bicliq.pipeline.settings import ClusterSettings, SearchSettings
from bicliq.pipeline.store.entries import Expected

WEDGES_PER_PARTITION = 50_000
"""Work worth a partition of its own. A wedge is an estimate that knows nothing of how many
bicliques there are (605,000 of them give edit-nawiki 8.9 million), so small graphs are cut as well;
a partition more costs about 10 ms."""

WEDGES_ALONE = 1 << 27
"""The same where one process searches them one after the other, on all threads at once, or on a
GPU: partitions are then only what a run resumes from, and small ones keep threads waiting (YouTube
on 16 threads: 32 of them 0.83 s, one 0.22 s)."""

FOUND_BY_A_GPU = 16
"""Times as much that a GPU alone may find in one, to which a partition costs some 60 ms beside its
search: six partitions of gowalla took an H200 0.78 s, one 0.50."""

PARTITIONS_A_GPU = 4
"""Partitions for each of several GPUs; each works on all roots of a partition at once."""

SPARE_PARTITIONS = 32
"""With no number asked for, work is cut in up to so many partitions, to keep that many cores
busy."""

FOUND_A_PARTITION, IDS_A_PARTITION, NODES_A_PARTITION = 8 << 20, 256 << 20, 32 << 20
"""What a partition may be expected to find, so that a long run commits as it goes: bicliques, ids
in their lists (some 200 MB of Parquet), and nodes of the search, also of what thresholds leave out.
A second or two of two cores, and no file that is awkward to read."""

THREADS_OF_A_PARTITION = 2
"""Threads that this is for. A process that searches alone with more of them may find as many times
more in one: a partition costs it the same (gowalla on sixteen: six took 1.31 s, one 0.95)."""

MOST_PARTITIONS = 1024
"""Partitions that are made for that, at most."""


class Worth(NamedTuple):
    """A partition's work, the most partitions, and the times `FOUND_A_PARTITION` one may find."""

    work: int = WEDGES_PER_PARTITION
    most: int = SPARE_PARTITIONS
    found: int = 1

    def partitions(self, work: int, expected: Expected | None) -> int:
        """Return how many are worth their work, and let none find too much.

        Examples
        --------
        >>> Worth(work=100, most=32).partitions(450, None)
        4
        """
        of_work = min(max(work // self.work, 1), self.most)
        if expected is None:
            return of_work
        shares = (
            expected.bicliques / FOUND_A_PARTITION,
            expected.ids / IDS_A_PARTITION,
            expected.nodes / NODES_A_PARTITION,
        )
        return max(of_work, min(math.ceil(max(shares) / self.found), MOST_PARTITIONS))


def worth_to(
    data_backend: str,
    search: SearchSettings,
    cluster: ClusterSettings,
    n_edges: int,
    paths: int,
    seconds: float | None = None,
    whole: bool = False,
) -> Worth:
    """Return what a partition is worth to those who search, as far as that is known here.

    `whole`: as for `place_run`.
    """
    work: Any = {"n_edges": n_edges, "paths": paths, "seconds": seconds, "whole": whole}
    try:
        placement = place_run(data_backend, search, cluster, **work)
    except BackendError:  # planned here, to be searched on another machine
        return Worth()
    shared = placement.cluster
    if placement.search.backend == "cuda" and (shared is None or shared.scheduler is None):
        n = 1 if shared is None else shared.workers or gpu_count()
        alone = Worth(WEDGES_ALONE, PARTITIONS_A_GPU, FOUND_BY_A_GPU)
        return alone if n == 1 else Worth(most=PARTITIONS_A_GPU * n)
    times = max(kernels.number_of_threads(search.threads) // THREADS_OF_A_PARTITION, 1)
    return Worth(WEDGES_ALONE, 1 if whole else SPARE_PARTITIONS, times) if shared is None else Worth()
