"""What can be asked about (p,q)-bicliques, and the record of an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from bicliq import kernels
from bicliq.pipeline.errors import CapacityError, InputError
from bicliq.pipeline.placement.where import check_backends
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.counts import Sizes
from bicliq.pipeline.store.entries import Check

NOT_WORTH = "a count goes to a GPU only where one is asked for: most end before a GPU has started"
"""Why "auto" counts on the CPU (docs/results.md has how long they take)."""


@dataclass(frozen=True)
class CountAsked:
    """What is to be counted.

    Parameters
    ----------
    p, q
        Left and right size; with `all_sizes`, the largest ones.
    all_sizes
        Every (p, q) up to these.
    vertices
        How many (p, q) each vertex lies in, too.
    method
        "auto", "levels", "pivot", or "butterfly" (in memory, p = q = 2).

    Raises
    ------
    InputError
        Where these are no sizes, contradict each other, or ask for more than can be held.
    """

    p: int
    q: int
    all_sizes: bool = False
    vertices: bool = False
    method: str = "auto"

    def __post_init__(self) -> None:
        names = ("max_p", "max_q") if self.all_sizes else ("p", "q")
        for name, value in zip(names, (self.p, self.q), strict=True):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} {value!r}: it must be a whole number of at least 1")
        if self.method not in ("auto", "levels", "pivot", "butterfly"):
            raise InputError(f"method {self.method!r}: it must be auto, levels, pivot or butterfly")
        if self.method == "butterfly" and (self.p, self.q) != (2, 2):
            raise InputError(f"method 'butterfly' counts p = q = 2, not ({self.p}, {self.q}); leave it at auto")
        if self.method in ("levels", "butterfly") and self.all_sizes:
            raise InputError(f"method {self.method!r} counts one (p, q); all sizes need pivot (or auto)")
        if self.method == "levels" and self.vertices:
            raise InputError("method 'levels' counts no vertices; they need pivot (or auto)")
        if self.all_sizes and self.vertices:
            raise InputError("all sizes and counts of vertices contradict each other; count vertices for one (p, q)")
        if self.all_sizes:
            try:
                kernels.check_table(self.p, self.q)
            except CapacityError as error:
                raise InputError(str(error)) from None

    @classmethod
    def of_key(cls, key: str) -> CountAsked:
        """Return the question of a key; its method is not known from it."""
        kind, p, q = key.split("-")
        return cls(int(p[1:]), int(q[1:]), all_sizes=kind == "all", vertices=kind == "vertices")

    @property
    def least(self) -> tuple[int, int]:
        """Sizes below which nothing is asked for."""
        return (1, 1) if self.all_sizes else (self.p, self.q)

    @property
    def key(self) -> str:
        """Name of the question in the store (`pipeline.store.counts`)."""
        kind = "all" if self.all_sizes else "vertices" if self.vertices else "one"
        return f"{kind}-p{self.p}-q{self.q}"


@dataclass(frozen=True)
class CountRecord:
    """What was counted, and what it took.

    Parameters
    ----------
    counts
        Of each (p, q) that was asked for.
    n_left, n_right, n_edges
        Size of the graph.
    too_large
        Why a count is 0 before anything is counted: the graph has no side of this size.
    method, side, backend, threads
        How it was counted.
    seconds
        Duration of each stage.
    run, output, partitions, counted
        Run and folder in the store, its partitions, and those that this call counted; None in
        memory.
    checks
        Those of the input; none in memory.
    account
        What became of the rows of the table (`pipeline.store.account`).
    null
        Where random tables were counted: `pipeline.questions.null.compare_counts`.
    """

    counts: Sizes
    n_left: int
    n_right: int
    n_edges: int
    too_large: str | None
    method: str
    side: str | None
    backend: str
    threads: int
    seconds: dict[str, float]
    run: str | None = None
    output: str | None = None
    partitions: int | None = None
    counted: int | None = None
    checks: list[Check] = field(default_factory=list)
    account: dict[str, Any] = field(default_factory=dict)
    null: dict[str, Any] | None = None

    def record(self) -> dict[str, Any]:
        """Plain record for JSON; counts are text, since most readers take a number for 64 bits."""
        fields = asdict(self)
        null = fields.pop("null")
        by_chance = {} if null is None else null.pop("sizes")
        rows = [
            {"p": p, "q": q, "count": str(n), **({"random": by_chance[p, q]} if null else {})}
            for (p, q), n in self.counts.items()
        ]
        fields |= {} if null is None else {"null": null}
        return {**fields.pop("account"), **fields, "counts": rows}


def check_count_backends(settings: Settings) -> None:
    """Refuse backends that are asked for and cannot be used for this, before anything is read."""
    search = settings.search
    check_backends(settings.data_backend, search.backend, search.threads, cluster=settings.cluster)


def why_none(asked: CountAsked, n_left: int, n_right: int) -> str | None:
    """Say why a count must be 0: the graph has no side of this size."""
    for name, size, n in (("left", asked.p, n_left), ("right", asked.q, n_right)):
        if size > n and not asked.all_sizes:
            return f"the graph has only {n:,} {name} vertices, and {size:,} are asked for"
    return None
