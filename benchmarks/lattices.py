"""Concept lattices and bases: CPU seconds of one thread, and the most memory, a process each.

`python -m benchmarks.lattices` measures bob-ross, a table of the shape of FIMI's mushroom (8,124
objects of 23 species, each with one of some values in 23 columns, so 118 attributes) and one of the
same kind with over a million concepts; `python -m benchmarks.lattices bob-ross 3` measures one, and
`python -m benchmarks.lattices agaricus-lepiota.data` mushroom itself, as UCI has it.
Where the library `concepts` is installed, it is measured on bob-ross, too.
"""

from __future__ import annotations

import importlib
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import bicliq

BOB_ROSS = Path(__file__).parents[1] / "tests" / "data" / "contexts" / "bob-ross.cxt"
VALUES = (2, 6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7)
"""How many values each column of mushroom has."""

SHAPES = {"mushroom-like": (2, (0.7, 0.2, 0.07, 0.03)), "million": (1, (0.6, 0.25, 0.1, 0.05))}
"""Seeds, and how likely a species has one value in a column, two, three or four."""


def species_table(seed: int, shares: tuple[float, ...], n: int = 8124) -> npt.NDArray[np.bool_]:
    """Objects by attributes: of each column a value that the object's species may have."""
    chance = np.random.default_rng(seed)
    species, table, first = chance.integers(0, 23, n), np.zeros((n, sum(VALUES)), bool), 0
    for values in VALUES:
        chosen = np.zeros(n, int)
        for kind in range(23):
            some = min(values, 1 + chance.choice(len(shares), p=shares))
            allowed, members = chance.choice(values, some, replace=False), species == kind
            chosen[members] = chance.choice(allowed, members.sum())
        table[np.arange(n), first + chosen] = True
        first += values
    return table


def measure(name: str) -> None:
    """Print what one table takes: reading apart, then concepts and edges, files, and the basis."""
    source = BOB_ROSS if name == "bob-ross" else as_rows(table_of(name))
    bicliq.concepts({"a": ["x"]})
    context = bicliq.concepts(source, min_support=1.0).context
    started = time.process_time()
    found = bicliq.concepts(context, threads=1)
    seconds = time.process_time() - started
    with tempfile.TemporaryDirectory() as folder:
        found.export(f"{folder}/lattice.parquet")
        written = time.process_time() - started - seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    said = f"{len(found):,} concepts, {found.edges.num_rows:,} edges: {seconds:.3f} s, to Parquet {written:.1f} s"
    print(f"{name}: {said}, at most {peak:,.0f} MiB", flush=True)
    if name != "million":
        started = time.process_time()
        basis = bicliq.implications(context)
        print(f"{name}: {len(basis):,} implications: {time.process_time() - started:.2f} s", flush=True)


def table_of(name: str) -> npt.NDArray[np.bool_]:
    """The table of one of `SHAPES`, or of a file of values, a line an object."""
    if name in SHAPES:
        return species_table(*SHAPES[name])
    columns = np.array([line.split(",") for line in Path(name).read_text(encoding="utf-8").split()]).T
    return np.hstack([column[:, None] == np.unique(column) for column in columns])


def as_rows(table: npt.NDArray[np.bool_]) -> pa.Table:
    """A table of pairs of object and attribute."""
    objects, attributes = np.nonzero(table)
    return pa.table({"object": objects, "attribute": attributes})


def measure_peer() -> None:
    """Print what the library `concepts` takes for bob-ross."""
    read = importlib.import_module("concepts").Context.fromfile(str(BOB_ROSS), frmat="cxt")
    started = time.process_time()
    n = len(read.lattice)
    print(f"bob-ross by concepts: {n:,} concepts: {time.process_time() - started:.1f} s")


if __name__ == "__main__":
    names = sys.argv[1:2] or ["bob-ross", *SHAPES]
    for name in names:
        for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
            code = f"from benchmarks.lattices import measure; measure({name!r})"
            subprocess.run([sys.executable, "-c", code], check=True)
    if (spec := find_spec("concepts")) and spec.origin:
        measure_peer()
