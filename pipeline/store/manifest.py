"""When a run was published, and what it ran on, as its manifest says."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable


def moment_after(earlier: str | None) -> str:
    """Return now as ISO time (UTC); where the clock is behind an earlier moment, one just after it.

    What is published last is the latest run. A clock that was put back must not make a new version
    an older one than its parent.

    Examples
    --------
    >>> moment_after("9999-01-01T00:00:00+00:00")
    '9999-01-01T00:00:00.000001+00:00'
    >>> moment_after(None) < moment_after("9999-01-01T00:00:00+00:00")
    True
    """
    now = dt.datetime.now(dt.UTC)
    if earlier is not None:
        now = max(now, dt.datetime.fromisoformat(earlier) + dt.timedelta(microseconds=1))
    return now.isoformat()


def ran_on(backends: Iterable[str]) -> str:
    """Name what the partitions of a run ran on, those of most partitions first.

    Examples
    --------
    >>> ran_on(["cuda", "cpu-avx2", "cuda"]), ran_on(["cuda", "cuda"]), ran_on([])
    ('cuda 2, cpu-avx2 1', 'cuda', 'none')
    """
    counts = sorted(Counter(backends).items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(name if len(counts) == 1 else f"{name} {count}" for name, count in counts) or "none"
