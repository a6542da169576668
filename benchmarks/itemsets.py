"""Closed itemsets and rules beside pyfim, mlxtend and rusket: CPU seconds of one thread.

`BICLIQ_DATA=… python -m benchmarks.itemsets fimi-retail:9 fimi-chess:2000`: graphs, and in how many
baskets a set is at least. Those three are measured where they are installed, the last two up to a
hundred thousand frequent sets.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.graphs import find_graphs, read_graph_file
from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.reduce import reduce

MIN_CONFIDENCE = 0.8
MLXTEND_SETS = 100_000
PEERS = {"mlxtend": "mlxtend.frequent_patterns", "rusket": "rusket"}
"""Where their functions of the same names and arguments are."""


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What some work gives, and its CPU seconds."""
    started = time.process_time()
    return work(), time.process_time() - started


def closed_by_pyfim(graph: BipartiteGraph, least: int) -> tuple[int, float]:
    """Closed sets of pyfim's FP-growth, and their seconds; baskets are made before."""
    mine = importlib.import_module("fim").fpgrowth
    baskets = [row.tolist() for row in np.split(graph.indices, graph.indptr[1:-1])]
    found, seconds = timed(lambda: mine(baskets, target="c", supp=-least, report="a"))
    return len(found), seconds


def all_by(peer: str, graph: BipartiteGraph, least: int) -> tuple[int, float, float]:
    """Rules of a peer, seconds of its FP-growth, and of the rules; the frame is made before."""
    pandas, patterns = map(importlib.import_module, ("pandas", PEERS[peer]))
    dense = np.zeros((graph.n_left, graph.n_right), bool)
    dense[graph.edge_left, graph.indices] = True
    frame = pandas.DataFrame(dense, columns=list(map(str, range(graph.n_right))))
    share = least / graph.n_left - 1e-12
    sets, mining = timed(lambda: patterns.fpgrowth(frame, share, use_colnames=True))
    rules, seconds = timed(lambda: patterns.association_rules(sets, min_threshold=MIN_CONFIDENCE))
    return len(rules), mining, seconds


def measure(name: str, least: int) -> None:
    """Print what one table takes."""
    graph = reduce(read_graph_file(next(iter(find_graphs([name]).values()))), least, 1).graph
    arrays = graph.indptr, graph.indices, graph.n_right
    closed, seconds = timed(lambda: kernels.closed_itemsets(*arrays, least))
    rules, more = timed(lambda: sum(map(len, closed.rules("non-redundant", MIN_CONFIDENCE))))
    said = [f"{name}, {least} rows: {len(closed):,} closed sets {seconds:.2f} s, {rules:,} rules {more:.2f} s"]
    if find_spec("fim"):
        found, theirs = closed_by_pyfim(graph, least)
        said.append(f"pyfim {theirs:.2f} s" + ("" if found == len(closed) else f" FOUND {found:,}"))
    n_sets = 0
    for batch in closed.sets("all"):
        n_sets += len(batch)
        if n_sets > MLXTEND_SETS:
            break
    for peer in PEERS if n_sets <= MLXTEND_SETS else ():
        if find_spec(peer) is None:
            continue
        ours, of_all = timed(lambda: sum(map(len, closed.rules("all", MIN_CONFIDENCE))))
        theirs_rules, mining, making = all_by(peer, graph, least)
        said.append(f"all {ours:,} rules {of_all:.2f} s")
        said.append(f"{peer} {n_sets:,} sets {mining:.2f} s, {theirs_rules:,} rules {making:.2f} s")
    print("; ".join(said), flush=True)


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        graph_name, rows = asked.rsplit(":", 1)
        measure(graph_name, int(rows))
