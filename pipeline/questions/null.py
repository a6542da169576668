"""Random tables of the same degrees: p-values of groups, z and p of counts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import Any

from bicliq import kernels
from bicliq.pipeline.arguments import check_kind
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import warn
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

MOST_TABLES = 100_000
"""Random tables of a comparison, at most."""

Best = Callable[[Any, float, float | None], tuple[float | None, bool]]
"""What the best group of a table with other columns is worth that is worth so much (None: there is
none), in so many seconds, and whether that is proven."""


@dataclass(frozen=True)
class Null:
    """Which random tables are asked the same.

    `tables`, `seed`: how many, and which: table i is that of seed + i. `seconds`: for all of them
    together; None: no limit. `threads`: that make tables ahead, while others are asked; 0: as many
    as there are cores. `tell`: called with the tables that are done, and all of them.

    Raises
    ------
    InputError
        Where these are out of range, or a seed has no tables.
    """

    tables: int = 0
    seed: int = 0
    seconds: float | None = None
    threads: int = 0
    tell: Callable[[int, int], Any] | None = None

    def __post_init__(self) -> None:
        check_kind("null", self.tables, "int")
        check_kind("seed", self.seed, "int")
        check_kind("time_limit", 1 if self.seconds is None else self.seconds, "float")
        if not 0 <= self.tables <= MOST_TABLES or not 0 <= self.seed <= 2**50:
            raise InputError(
                f"null = {self.tables}, seed = {self.seed}: give 0 to {MOST_TABLES:,} tables, and a seed from 0"
            )
        if self.seed and not self.tables:
            raise InputError(f"seed = {self.seed} is for null, the number of random tables; give it as well")

    def columns(self, graph: BipartiteGraph) -> Iterator[tuple[Any, float | None]]:
        """Give the columns of each random table, and the seconds that are left.

        Where these end before the tables do, a warning says so.
        """
        started, threads = time.monotonic(), min(kernels.number_of_threads(self.threads), max(self.tables, 1))
        ahead: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(threads, "rewire") as pool:
            for number in range(self.tables):
                while len(ahead) < threads and number + len(ahead) < self.tables:
                    seed = self.seed + number + len(ahead)
                    ahead.append(pool.submit(kernels.rewire_rows, graph.indptr, graph.indices, graph.n_right, seed))
                columns = ahead.popleft().result()
                left = None if self.seconds is None else self.seconds - (time.monotonic() - started)
                if left is not None and left <= 0:
                    warn("the time limit ended the comparison with random tables", tables=number, asked=self.tables)
                    break
                yield columns, left
                if self.tell is not None:
                    self.tell(number + 1, self.tables)
            for waiting in ahead:
                waiting.cancel()

    def record(self, tables: int) -> dict[str, int]:
        """What was asked for, and how many tables were looked at."""
        return {"asked": self.tables, "tables": tables, "seed": self.seed}


def compare_groups(graph: BipartiteGraph, values: Sequence[float], null: Null, best: Best) -> dict[str, Any]:
    """Ask random tables for their best group, and say how often it reaches each value.

    `values`: what its groups are worth. `best`: how to look for the best of one. Returns asked,
    tables (that were looked at in time), seed, unproven (whose search did not end: they count as if
    they reached every value), and p, a list: of each value the share of tables, this one among
    them, whose best reaches it; None where no table was looked at. As the best of a table is one of
    all its groups, p is corrected for all of them.
    """
    reached, unproven, done = [0] * len(values), 0, 0
    for columns, left in null.columns(graph) if values else ():
        most, proven = best(columns, min(values), left)
        unproven += not proven
        reached = [
            n + (not proven or (most is not None and most >= value)) for n, value in zip(reached, values, strict=True)
        ]
        done += 1
    shares = [(1 + n) / (1 + done) if done else None for n in reached]
    return {**null.record(done), "unproven": unproven, "p": shares}


def with_p(rows: list[dict[str, Any]], found: dict[str, Any]) -> dict[str, Any]:
    """Give groups the p that `compare_groups` found, and return what else it found."""
    for row, share in zip(rows, found.pop("p"), strict=True):
        row["p"] = share
    return found


def compare_counts(
    graph: BipartiteGraph,
    counts: Mapping[tuple[int, int], int],
    null: Null,
    count: Callable[[Any], Mapping[tuple[int, int], int]],
) -> dict[str, Any]:
    """Count in random tables, too, and say how far each count is from theirs.

    `counts`: of each (p, q). `count`: the same counts of a table with other columns. Returns asked,
    tables (that were counted in time), seed, and sizes: of each (p, q) mean (of the random tables),
    z (by how many of their standard deviations the count is above it; None where they do not
    differ, or are fewer than two) and p (the share of tables, this one among them, that have as
    many; None where none was counted).
    """
    found = [count(columns) for columns, _ in null.columns(graph)]
    sizes = {size: _beside(n, [each[size] for each in found]) for size, n in counts.items()}
    return {**null.record(len(found)), "sizes": sizes}


def _beside(count: int, random: Sequence[int]) -> dict[str, Any]:
    """Mean, z and p: of whole numbers of any size, as counts are."""
    n, total = len(random), sum(random)
    spread = Fraction(n * sum(each * each for each in random) - total * total, n * (n - 1)) if n > 1 else Fraction(0)
    off = count - Fraction(total, n or 1)
    return {
        "mean": f"{Decimal(total) / n:.6g}" if n else None,  # text: it may be beyond what a float holds
        "z": sqrt(min(off * off / spread, Fraction(10**300))) * (1 if off > 0 else -1) if spread else None,
        "p": (1 + sum(each >= count for each in random)) / (1 + n) if n else None,
    }
