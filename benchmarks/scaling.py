"""One run's partitions counted and digested on clusters of several sizes; nothing is written.

The work is handed out as a search hands it out (`pipeline.placement.tasks.hand_out`), the costliest
partition first; what is measured is the search alone, with workers that have started and compiled
their kernels.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.placement.tasks import Here, hand_out
from bicliq.pipeline.settings import ClusterSettings, SearchSettings
from bicliq.pipeline.stages.partition import Partition, read_partition, write_partitions
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.store.bicliques import MASK
from bicliq.pipeline.store.commits import partition_name
from bicliq.pipeline.store.layout import Store


@dataclass(frozen=True)
class Scaling:
    """One measurement.

    Parameters
    ----------
    workers
        Workers of the cluster.
    seconds
        From the first partition handed out to the last one done.
    times
        How many times as fast as the first measurement.
    bicliques, digest
        Totals; the digest in 16 hex digits.
    busy
        Share of the time in which each worker searched, by its name.
    bytes
        Bytes of the partitions that each worker read, by its name.
    """

    workers: int
    seconds: float
    times: float
    bicliques: int
    digest: str
    busy: dict[str, float]
    bytes: dict[str, int]


def measure_scaling(store: Store, run: str, workers: list[int], backend: str, threads: int = 1) -> Iterator[Scaling]:
    """Count and digest all partitions of a planned run on clusters of so many workers each.

    Parameters
    ----------
    store, run
        A planned run; its partitions are written first, where they are not there yet.
    workers
        Sizes of the clusters; the first is what the others are compared with.
    backend
        "cpu" (a worker a process) or "cuda" (a worker a GPU).
    threads
        Threads of a worker's kernel.

    Yields
    ------
    Scaling

    Raises
    ------
    BackendError
        Where the backend cannot run here.
    """
    write_partitions(store, run)
    plan = read_plan(store.run(run))
    numbers = np.argsort(-np.bincount(plan.partition, weights=plan.cost), kind="stable").tolist()
    first = None
    for size in workers:
        with open_cluster(ClusterSettings(workers=size, dashboard=False), backend) as client:
            client.wait_for_workers(size)
            options = {"backend": backend, "threads": threads}
            client.run(digest_partition, store.uri, run, numbers[-1], **options)  # loads and compiles all kernels
            found = _measure(client, store, run, numbers, options)
        first = first or found.seconds
        yield replace(found, times=round(first / found.seconds, 4))


def digest_partition(store_uri: str, run: str, number: int, backend: str, threads: int) -> tuple[int, int, float, int]:
    """Count and digest one partition; returns both, the seconds, and the bytes that were read."""
    started = time.perf_counter()
    folder = Store.open(store_uri, create=False).run(run)
    part, asked = read_partition(folder, number), folder.asked.search
    result = search_partition(part, asked, mode="digest", threads=threads, backend=backend)
    size = folder.size(partition_name(number))
    return result.bicliques, result.digest or 0, time.perf_counter() - started, size


def search_partition(part: Partition, asked: SearchSettings, **options: Any) -> kernels.EnumerationResult:
    """Search a partition or a piece of one, and write nothing."""
    return kernels.enumerate_maximal_bicliques(
        part.indptr,
        part.indices,
        part.n_right,
        side=part.side,
        roots=part.roots,
        left_ids=part.left_ids,
        right_ids=part.right_ids,
        min_left=asked.min_left,
        min_right=asked.min_right,
        min_edges=asked.min_edges,
        **options,
    )


def _measure(client: Any, store: Store, run: str, costliest_first: list[int], options: dict[str, Any]) -> Scaling:
    tasks = ((number, partial(_digest, store.uri, run, number, options)) for number in costliest_first)
    started = time.perf_counter()
    bicliques = digest = 0
    busy: defaultdict[str, float] = defaultdict(float)
    read: defaultdict[str, int] = defaultdict(int)
    for ended in hand_out(client, lambda: next(tasks, None)):
        if ended.error is not None:
            raise ended.error
        count, part, seconds, size = ended.value
        bicliques, digest = bicliques + count, (digest + part) & MASK
        busy[ended.worker or ""] += seconds
        read[ended.worker or ""] += size
    duration = time.perf_counter() - started
    shares = {name: round(spent / duration, 4) for name, spent in sorted(busy.items())}
    workers = len(client.nthreads())
    return Scaling(workers, round(duration, 4), 1.0, bicliques, f"{digest:016x}", shares, dict(sorted(read.items())))


def _digest(store_uri: str, run: str, number: int, options: dict[str, Any], here: Here) -> tuple[int, int, float, int]:
    return digest_partition(store_uri, run, number, **options)
