"""Work that threads share: what each does, and what they found as one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from bicliq.kernels.contracts import Int64Array
from bicliq.kernels.cuda.changes import Columns

SHARES_A_THREAD = 4
"""Parts that the work is cut into, so that threads end at about the same time."""

COPIED_AT_ONCE = 1 << 18
"""Entries of an array that a thread copies before it takes others: shares are about equal."""


@contextmanager
def pool_of(workers: int, found: Any) -> Iterator[ThreadPoolExecutor]:
    """Threads that find changes; an exception, such as an interrupt, ends what they do."""
    with ThreadPoolExecutor(workers, "changes") as pool:
        try:
            yield pool
        except BaseException:
            found.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def shares_of(workers: int) -> int:
    """Parts that the work of some threads is cut into."""
    return SHARES_A_THREAD * workers if workers > 1 else 1


def ranges_of(costs: Int64Array, n: int) -> list[tuple[int, int]]:
    """At most n ranges of about equal cost; one that is empty where there is nothing."""
    ends = np.cumsum(costs)
    wanted = np.linspace(0, int(ends[-1]) if len(ends) else 0, n + 1)[1:-1]
    bounds = {0, *np.searchsorted(ends, wanted, side="right").tolist(), len(ends)}
    return list(pairwise(sorted(bounds)))


def finish(doing: list[Future[None]]) -> None:
    """Wait for what threads do; what one of them raised is raised."""
    for one in doing:
        one.result()


def joined(parts: list[Columns], pool: ThreadPoolExecutor, workers: int, empty: Any = np.empty) -> Columns:
    """The bicliques of all parts, unless there is one, in arrays that `empty` makes."""
    if len(parts) == 1:
        return parts[0]
    columns: list[Any] = []
    copies: list[tuple[Any, Any, int]] = []
    for at in (0, 2):
        lists = np.cumsum([0, *(len(part[at]) - 1 for part in parts)]).tolist()
        ids = np.cumsum([0, *(len(part[at + 1]) for part in parts)]).tolist()
        offsets, members = empty(lists[-1] + 1, np.int64), empty(ids[-1], np.int32)
        offsets[0] = 0
        for i, part in enumerate(parts):
            copies.append((offsets[lists[i] + 1 : lists[i + 1] + 1], part[at][1:], ids[i]))
            copies.append((members[ids[i] : ids[i + 1]], part[at + 1], 0))
        columns += [offsets, members]
    pieces = [
        (to[k : k + COPIED_AT_ONCE], values[k : k + COPIED_AT_ONCE], behind)
        for to, values, behind in copies
        for k in range(0, len(to), COPIED_AT_ONCE)
    ]
    finish([pool.submit(_copy, pieces[i::workers]) for i in range(min(workers, len(pieces)))])
    return columns[0], columns[1], columns[2], columns[3]


def _copy(parts: list[tuple[Any, Any, int]]) -> None:
    for to, values, behind in parts:
        np.add(values, behind, out=to) if behind else np.copyto(to, values)


def cut(n: int, parts: int) -> list[tuple[int, int]]:
    """Ranges of about equal length that are together all of n."""
    bounds = np.linspace(0, n, parts + 1).astype(np.int64).tolist()
    return list(pairwise(bounds))
