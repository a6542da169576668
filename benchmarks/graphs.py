"""Where a benchmark finds its graphs: by name among those that are known, or by path."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.peers import clique_peers, enumeration_peers
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

DATA_VARIABLE = "BICLIQ_DATA"
"""Environment variable that names a folder of graphs: Parquet (columns u, v) in it or in its folder
``graphs``, DIMACS in its folder ``dimacs``."""

SUBFOLDERS = (".", "graphs")
"""Where bipartite graphs lie in such a folder."""

BUNDLED = "tests/data"
"""Small graphs of the source tree."""


def find_graphs(names: list[str]) -> dict[str, Path]:
    """Find bipartite graphs by name or path; with no names, all known ones that are there.

    Raises
    ------
    InputError
        If a named graph is not found.
    """
    folders = [Path(root, sub) for root in _roots() for sub in SUBFOLDERS]
    advice = f"name a Parquet file, or set {DATA_VARIABLE} to their folder"
    found = _found(names, enumeration_peers(), folders, (".parquet",), advice)
    return {path.stem: path for path in found}


def all_graphs() -> list[str]:
    """Name the bipartite graphs of the folder that is named, else those of the source tree."""
    return sorted(path.stem for sub in SUBFOLDERS for path in Path(_roots()[0], sub).glob("*.parquet"))


def find_dimacs(names: list[str]) -> dict[str, Path]:
    """Find DIMACS graphs by name or path; with no names, all known ones that are there.

    Raises
    ------
    InputError
        If a named graph is not found.
    """
    folders = [Path(root, "dimacs") for root in _roots()]
    advice = f"name a .clq file, or set {DATA_VARIABLE}"
    found = _found(names, clique_peers(), folders, (".clq", ".clq.zst", ".clq.gz"), advice)
    return {path.name.split(".clq")[0]: path for path in found}


def read_graph_file(path: Path) -> BipartiteGraph:
    """Read a Parquet file of dense pairs (its first two columns)."""
    table = pq.read_table(path)
    left, right = (table.column(i).to_numpy() for i in (0, 1))
    return BipartiteGraph.from_edges(left, right, int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1)


def _found(
    names: list[str], known: Iterable[str], folders: list[Path], suffixes: tuple[str, ...], advice: str
) -> list[Path]:
    found = []
    for name in names or known:
        candidates = [Path(name), *(folder / f"{name}{suffix}" for folder in folders for suffix in suffixes)]
        path = next((path for path in candidates if path.is_file()), None)
        if path is not None:
            found.append(path)
        elif names:
            looked = ", ".join(str(folder) for folder in folders)
            raise InputError(f"graph {name!r}: not found in {looked}; {advice}")
    return found


def _roots() -> list[str]:
    named = os.environ.get(DATA_VARIABLE)
    return [*([named] if named else []), BUNDLED]
