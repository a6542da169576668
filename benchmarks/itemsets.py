"""Closed itemsets and rules beside pyfim, pLCM++, mlxtend and rusket: CPU seconds of one thread.

`BICLIQ_DATA=… python -m benchmarks.itemsets` takes all tables of `SUPPORTS` that are there;
`python -m benchmarks.itemsets fimi-retail:9 fimi-chess:2000` these, with in how many baskets a set
is at least. Peers are measured where they are installed (pLCM++ as a program on PATH), the last two
up to a hundred thousand frequent sets. Search alone is what a call takes more than the same call
for sets that no table can have.
"""

from __future__ import annotations

import importlib
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.graphs import find_graphs, read_graph_file
from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.reduce import reduce

SUPPORTS = {
    "fimi-chess": (1000, 1500, 2000, 2500, 2900),
    "mushroom": (1, 80, 400, 1600, 4000),
    "fimi-retail": (2, 9, 50, 500),
    "T10I4D100K": (10, 100, 500, 1000),
    "bms1": (1, 5, 20, 60, 100),
    "baskets": (916,),
}
MIN_CONFIDENCE = 0.8
FEW_SETS = 100_000  # from more, nothing but closed sets is made here
RUNS, LONG = 5, 0.5  # the least of so many; what takes so many seconds is run once
SHORT, MANY = 0.1, 200  # what is over sooner is run for so many seconds, at most so often
MOST_CELLS = 400_000_000  # of a frame of True and False
LISTED = 40_000_000  # cells that are made lists of Python's for pyfim, at most
PEERS = {"mlxtend": "mlxtend.frequent_patterns", "rusket": "rusket"}
"""Where their functions of the same names and arguments are."""

HEAD = "table, in at least | closed sets | search | whole call | pyfim | pLCM++ | ratio | rules | seconds"


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[Any, float]:
    """What some work gives, and its CPU seconds, the least of a few runs."""
    taken: list[float] = []
    while len(taken) < RUNS or (sum(taken) < SHORT and len(taken) < MANY):
        started = clock()
        found = work()
        taken.append(clock() - started)
        if taken[-1] > LONG:
            break
    return found, min(taken)


def of_children() -> float:
    """CPU seconds of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pyfim(baskets: list[list[int]]) -> Callable[[int], int]:
    """Closed sets of pyfim's FP-growth, by support."""
    mine = importlib.import_module("fim").fpgrowth
    return lambda least: len(mine(baskets, target="c", supp=-least, report="a"))


def plcm(graph: BipartiteGraph, folder: str) -> Callable[[int], int]:
    """Those of pLCM++, which says how many; with -b it prints none."""
    path = Path(folder, "table.dat")
    with path.open("w") as file:
        for row in np.split(graph.indices, graph.indptr[1:-1]):
            file.write(" ".join(map(str, row.tolist())) + "\n")
    program = shutil.which("pLCM++") or "pLCM++"

    def mine(least: int) -> int:
        said = subprocess.run([program, "-t", "1", "-b", path, str(least)], capture_output=True, text=True, check=True)
        return int(said.stderr.rpartition('"outputtedPatterns":')[2].strip().rstrip("}"))

    return mine


def all_by(peer: str, graph: BipartiteGraph, n_baskets: int, least: int) -> tuple[int, float, float]:
    """Rules of a peer, seconds of its FP-growth, and of the rules; the frame is made before."""
    pandas, patterns = map(importlib.import_module, ("pandas", PEERS[peer]))
    dense = np.zeros((graph.n_left, graph.n_right), bool)
    dense[graph.edge_left, graph.indices] = True
    frame = pandas.DataFrame(dense, columns=list(map(str, range(graph.n_right))))
    frame = frame.reindex(range(n_baskets), fill_value=False)
    share = least / n_baskets - 1e-12
    sets, mining = timed(lambda: patterns.fpgrowth(frame, share, use_colnames=True))
    rules, seconds = timed(lambda: patterns.association_rules(sets, min_threshold=MIN_CONFIDENCE))
    return len(rules), mining, seconds


def n_rules(closed: kernels.ClosedSets, kind: Literal["all", "non-redundant"]) -> int:
    """Make all rules, and keep none."""
    return sum(map(len, closed.rules(kind, MIN_CONFIDENCE)))


def measure(name: str, supports: tuple[int, ...]) -> None:
    """Print a line for each support of a table."""
    graph = read_graph_file(find_graphs([name])[name])
    nothing = graph.n_left + 1

    def own(least: int) -> kernels.ClosedSets:
        return kernels.closed_itemsets(graph.indptr, graph.indices, graph.n_right, least)

    with tempfile.TemporaryDirectory() as folder:
        peers: dict[str, tuple[Callable[[int], int], Callable[[], float]]] = {}
        if find_spec("fim") and graph.n_edges <= LISTED:
            baskets = [row.tolist() for row in np.split(graph.indices, graph.indptr[1:-1])]
            peers["pyfim"] = pyfim(baskets), time.process_time
        if shutil.which("pLCM++"):
            peers["pLCM++"] = plcm(graph, folder), of_children
        setting_up = {peer: timed(partial(mine, nothing), clock)[1] for peer, (mine, clock) in peers.items()}
        empty = timed(partial(own, nothing))[1]
        for least in supports:
            closed, whole = timed(partial(own, least))
            found = {peer: timed(partial(mine, least), clock) for peer, (mine, clock) in peers.items()}
            of_peers = {peer: seconds - setting_up[peer] for peer, (_, seconds) in found.items()}
            said = [f"{name}, {least:,}", f"{len(closed):,}", f"{whole - empty:.4f}", f"{whole:.4f}"]
            said += [f"{of_peers[peer]:.4f}" if peer in of_peers else "–" for peer in ("pyfim", "pLCM++")]
            said.append(f"{(whole - empty) / min(of_peers.values()):.2f}" if of_peers else "–")
            said += of_rules(closed)
            print(" | ".join(said), flush=True)
            for peer, (n, _) in found.items():
                if n != len(closed):
                    print(f"  {peer} finds {n:,} sets", flush=True)
            of_all(graph, closed, least)


def of_rules(closed: kernels.ClosedSets) -> list[str]:
    """How many non-redundant rules there are, and their seconds with those of the index."""
    if len(closed) > FEW_SETS:
        return ["–", "–"]
    rules, seconds = timed(partial(n_rules, closed, "non-redundant"))
    return [f"{rules:,}", f"{seconds:.4f}"]


def of_all(graph: BipartiteGraph, closed: kernels.ClosedSets, least: int) -> None:
    """Print what all rules take, and how long those take who make nothing less."""
    core = reduce(graph, least, 1).graph
    if len(closed) > FEW_SETS or core.n_left * core.n_right > MOST_CELLS:
        return
    n_sets = 0
    for batch in closed.sets("all"):
        n_sets += len(batch)
        if n_sets > FEW_SETS:
            return
    for peer in filter(find_spec, PEERS):
        ours, seconds = timed(partial(n_rules, closed, "all"))
        theirs, mining, making = all_by(peer, core, graph.n_left, least)
        print(
            f"  all {ours:,} rules {seconds:.3f}; {peer} {n_sets:,} sets {mining:.2f}, {theirs:,} rules {making:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    asked: dict[str, tuple[int, ...]] = {}
    for one in sys.argv[1:]:
        table, _, rows = one.rpartition(":")
        asked[table] = (*asked.get(table, ()), int(rows))
    print(
        f"{platform.processor() or platform.machine()}, {kernels.why_not('cpu') or kernels.number_of_threads(0)} cores, Python {platform.python_version()}"
    )
    print(HEAD)
    for table, rows_of in (asked or SUPPORTS).items():
        try:
            measure(table, rows_of)
        except InputError as error:
            if asked:
                raise
            print(f"{table}: {error}")
