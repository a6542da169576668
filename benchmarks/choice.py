"""How good the choice of search and side is: random graphs, each counted in all four ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from benchmarks.generate import edges
from benchmarks.timing import repeated
from bicliq import kernels
from bicliq.pipeline.errors import InputError

__all__ = ["SHAPES", "SIZES", "WAYS", "MeasuredChoice", "measure_choices", "random_graph"]

Csr = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], int]
Pairs = tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int64]]

SIZES = ((3, 3), (4, 4), (3, 6), (6, 3), (5, 5), (8, 8), (10, 10))
WAYS = tuple((method, side) for method in ("levels", "pivot") for side in ("left", "right"))
JUDGED_FROM = 0.002  # seconds of the best way; below it the choice costs more than it decides
GIVEN_UP = 3.0  # times the best way so far
TWICE_BELOW = 0.1  # seconds; such a search is run twice, and the better taken


@dataclass(frozen=True)
class MeasuredChoice:
    """One count: what was chosen, and the seconds of the search in each of the `WAYS`.

    Parameters
    ----------
    graph, p, q
        Shape and seed; left and right size.
    chosen
        Index into `WAYS`.
    estimate
        Seconds that choosing took, the preparation of the graph left out.
    seconds
        Of the search; None where it was given up, having taken `GIVEN_UP` times the best or the
        limit.
    """

    graph: str
    p: int
    q: int
    chosen: int
    estimate: float
    seconds: tuple[float | None, ...]

    @property
    def best(self) -> float | None:
        """Seconds of the best way; None where no way ended."""
        return min((s for s in self.seconds if s is not None), default=None)

    @property
    def is_judged(self) -> bool:
        """Whether some way ended, and the best took long enough to be worth a choice."""
        return self.best is not None and self.best >= JUDGED_FROM

    @property
    def times(self) -> float | None:
        """Seconds of what was chosen by those of the best; None where one of them did not end."""
        mine = self.seconds[self.chosen]
        return None if mine is None or self.best is None else mine / self.best

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        ways = {f"{method}_{side}": s for (method, side), s in zip(WAYS, self.seconds, strict=True)}
        own = {"graph": self.graph, "p": self.p, "q": self.q, "estimate": self.estimate, "best": self.best}
        return {**own, "chosen": " ".join(WAYS[self.chosen]), "times": self.times, "judged": self.is_judged, **ways}


def random_graph(shape: str, seed: int) -> Csr:
    """Draw a bipartite graph whose sizes, density and skew are drawn as well.

    Parameters
    ----------
    shape
        ``rmat`` (skewed degrees, `pipeline.graphs.generate`), ``uniform`` (every pair alike) or
        ``block`` (small dense blocks among scattered edges).
    seed
        Of numpy's default generator: the same graph on every machine.

    Returns
    -------
    tuple
        CSR of the left side (int64, int32), and the number of right vertices.

    Raises
    ------
    InputError
        If the shape is unknown.

    Examples
    --------
    >>> indptr, indices, n_right = random_graph("uniform", 7)
    >>> int(indptr[-1]) == len(indices)
    True
    """
    if shape not in SHAPES:
        raise InputError(f"shape {shape!r} is unknown; choose from: {', '.join(SHAPES)}")
    n_left, n_right, left, right = SHAPES[shape](np.random.default_rng([seed, *shape.encode()]))
    matrix = csr_array((np.ones(len(left), np.int8), (left, right)), shape=(n_left, n_right))
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), n_right


def _size(random: np.random.Generator, least: int, most: int) -> int:
    """Draw a whole number whose logarithm is uniform."""
    return round(float(np.exp(random.uniform(np.log(least), np.log(most)))))


def _rmat(random: np.random.Generator) -> Pairs:
    n_left, n_right = _size(random, 1000, 60_000), _size(random, 1000, 60_000)
    n_edges = min(max(n_left, n_right) * _size(random, 4, 30) // 2, 600_000)
    both = random.uniform(0.3, 0.62)
    one = random.uniform(0.1, (1 - both) / 2.2, 2)
    corners = (float(both), float(one[0]), float(one[1]), float(1 - both - one.sum()))
    chunks = edges(n_left, n_right, n_edges, int(random.integers(2**32)), corners)
    left, right = zip(*chunks, strict=True)
    return n_left, n_right, np.concatenate(left), np.concatenate(right)


def _uniform(random: np.random.Generator) -> Pairs:
    n_left, n_right = _size(random, 60, 5000), _size(random, 60, 5000)
    n_edges = min(_size(random, 10_000, 200_000), n_left * n_right // 2)
    return n_left, n_right, random.integers(n_left, size=n_edges), random.integers(n_right, size=n_edges)


def _block(random: np.random.Generator) -> Pairs:
    n_left, n_right = _size(random, 500, 30_000), _size(random, 500, 30_000)
    scattered = _size(random, 1000, 200_000)
    left, right = [random.integers(n_left, size=scattered)], [random.integers(n_right, size=scattered)]
    for _ in range(_size(random, 3, 400)):
        rows = random.choice(n_left, _size(random, 4, 60), replace=False)
        columns = random.choice(n_right, _size(random, 4, 60), replace=False)
        i, j = np.nonzero(random.random((len(rows), len(columns))) < random.uniform(0.3, 0.95))
        left.append(rows[i])
        right.append(columns[j])
    return n_left, n_right, np.concatenate(left), np.concatenate(right)


SHAPES: dict[str, Callable[[np.random.Generator], Pairs]] = {"rmat": _rmat, "uniform": _uniform, "block": _block}


def measure_choices(
    seeds: Sequence[int],
    shapes: Sequence[str] = tuple(SHAPES),
    sizes: Sequence[tuple[int, int]] = SIZES,
    time_limit: float = 2.0,
) -> Iterator[MeasuredChoice]:
    """Count each size of each graph with one thread as chosen, and in the other ways.

    Parameters
    ----------
    seeds, shapes
        The graphs: all shapes of all seeds.
    sizes
        Left and right sizes.
    time_limit
        Seconds after which a search is given up; looked at five times a second.

    Raises
    ------
    InputError
        If a shape is unknown, or the limit is not positive.
    """
    if time_limit <= 0:
        raise InputError(f"time_limit is {time_limit!r}; it must be above 0 seconds")
    for seed in seeds:
        for shape in shapes:
            graph = random_graph(shape, seed)
            for p, q in sizes:
                yield _measured(f"{shape} {seed}", graph, p, q, time_limit)


def _measured(name: str, graph: Csr, p: int, q: int, time_limit: float) -> MeasuredChoice:
    started = time.perf_counter()
    kernels.choose_count(*graph, p, q, method="levels", side="left")  # prepares the graph, and has nothing to choose
    prepared = time.perf_counter()
    chosen = WAYS.index(kernels.choose_count(*graph, p, q))
    estimate = max(0.0, time.perf_counter() - prepared - (prepared - started))
    seconds: list[float | None] = [None] * len(WAYS)
    best = time_limit
    for way in sorted(range(len(WAYS)), key=lambda way: way != chosen):  # what was chosen first: it bounds the others
        found = seconds[way] = _seconds(graph, p, q, *WAYS[way], limit=min(time_limit, GIVEN_UP * best))
        best = min(best, found or best)
    return MeasuredChoice(name, p, q, chosen, estimate, tuple(seconds))


class _GivenUpError(Exception):
    """Raised when a search takes longer than it may."""


def _seconds(graph: Csr, p: int, q: int, method: str, side: str, limit: float) -> float | None:
    def count() -> kernels.CountResult:
        until = time.perf_counter() + limit

        def give_up(_: Any) -> None:
            if time.perf_counter() > until:
                raise _GivenUpError

        return kernels.count_bicliques(*graph, p, q, method=method, side=side, progress=give_up)  # type: ignore[arg-type]

    try:
        return min(run.result.seconds["search"] for run in repeated(count, 2, slow=TWICE_BELOW))
    except _GivenUpError:
        return None
