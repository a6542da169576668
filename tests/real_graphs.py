"""The real graphs: bundled small ones, and larger ones where BICLIQ_DATA names their folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.graphs import read_graph_file
from benchmarks.peers import enumeration_peers
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

DATA = Path(__file__).parent / "data"

COUNTS = {
    "southern-women": 63,
    "corporate-leadership": 66,
    "Unicode": 460,
    "moreno_crime": 620,
    **{name: peer.bicliques for name, peer in enumeration_peers().items()},
}


DIGESTS = {name: int(digest, 16) for name, digest in json.loads((DATA / "digests.json").read_text()).items()}
"""Set digests, as the CPU found them."""


def load(name: str) -> BipartiteGraph:
    """Load a graph, or skip the test with the reason."""
    for folder in (DATA, *(Path(root, "graphs") for root in [os.environ.get("BICLIQ_DATA")] if root)):
        if (folder / f"{name}.parquet").exists():
            return read_graph_file(folder / f"{name}.parquet")
    pytest.skip(f"{name}.parquet is not bundled: set BICLIQ_DATA to the folder of the larger graphs")
