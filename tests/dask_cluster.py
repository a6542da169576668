"""A Dask cluster of two processes for the tests that look at one, started once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dask
import pytest

from bicliq.pipeline.settings import ClusterSettings

if TYPE_CHECKING:
    from distributed import Client


@pytest.fixture
def spawned() -> Iterator[None]:
    """Workers begin anew where some are killed: one that is forked is there so soon that it does
    not hear a cluster that closes just then."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "spawn"}):
        yield


@pytest.fixture(scope="session")
def cluster() -> Iterator[Client]:
    """Client of two workers of a thread each.

    A test that kills one or closes the cluster opens one of its own.
    """
    from bicliq.pipeline.placement.cluster import open_cluster

    with open_cluster(ClusterSettings(workers=2, dashboard=False)) as client:
        yield client
