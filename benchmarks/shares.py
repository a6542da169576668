"""Shares of links with their times, and rings of accounts in step among them, by a seed.

Links are as popular as Zipf says and accounts as active as a lognormal says. A third of the shares
of a link come in the hours after it appears, the others over days. The accounts of a ring share the
same links within 50 seconds of each other; half of these links are popular ones, shared while many
others do.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bicliq.pipeline.questions.find import FindAsked, find_in_table
from bicliq.pipeline.settings import load_settings

DAYS, DAY = 30, 86_400
ACCOUNTS_A_SHARE, LINKS_A_SHARE = 0.1, 0.05
POPULARITY, ACTIVITY = 0.8, 1.0
"""Exponent of Zipf, and standard deviation of the logarithm of an account's activity."""

BURST, BURST_HOURS = 1 / 3, 1.0
RING_ACCOUNTS, RING_LINKS, RING_SECONDS = (4, 16), (5, 21), 50.0
"""Least accounts and links of a ring, and one more than the most; how far apart they act."""

FIRST = 1_767_225_600
"""Unix seconds of 2026-01-01."""


@dataclass(frozen=True)
class Ring:
    """Accounts and the links that they share in step."""

    accounts: frozenset[int]
    links: frozenset[int]


def shares(n: int, n_rings: int = 20, seed: int = 1) -> tuple[pa.Table, list[Ring]]:
    """Make a table of `n` shares (account, link, at), and then those of the rings.

    Examples
    --------
    >>> table, rings = shares(1000, 2)
    >>> table.column_names, len(rings), table.num_rows > 1000
    (['account', 'link', 'at'], 2, True)
    """
    random = np.random.default_rng(seed)
    n_accounts, n_links = int(n * ACCOUNTS_A_SHARE), int(n * LINKS_A_SHARE)
    account = _drawn(random, random.lognormal(0, ACTIVITY, n_accounts), n)
    link = _drawn(random, np.arange(1.0, n_links + 1) ** -POPULARITY, n)
    appeared = random.uniform(0, (DAYS - 5) * DAY, n_links)
    fast = random.random(n) < BURST
    later = np.where(fast, random.exponential(BURST_HOURS * 3600, n), random.uniform(0, 5 * DAY, n))
    at = appeared[link] + later
    rings = []
    more: list[tuple[npt.NDArray[Any], ...]] = []
    for _ in range(n_rings):
        accounts = random.choice(n_accounts, int(random.integers(*RING_ACCOUNTS)), replace=False)
        size = int(random.integers(*RING_LINKS))
        popular = random.choice(min(1000, n_links), size // 2, replace=False)
        links = np.unique(np.append(popular, random.choice(n_links, size - size // 2, replace=False)))
        rings.append(Ring(frozenset(accounts.tolist()), frozenset(links.tolist())))
        when = np.repeat(appeared[links] + random.exponential(1800, len(links)), len(accounts))
        when += random.uniform(0, RING_SECONDS, len(when))
        more.append((np.tile(accounts, len(links)), np.repeat(links, len(accounts)), when))
    rows = (np.concatenate(column) for column in zip((account, link, at), *more, strict=True))
    table = dict(zip(("account", "link", "at"), rows, strict=True))
    table["at"] = (FIRST + table["at"]).round(3)
    return pa.table(table), rings


def _drawn(random: np.random.Generator, weights: npt.NDArray[Any], n: int) -> npt.NDArray[np.int64]:
    """Draw `n` of the places of some weights."""
    ends = np.cumsum(weights)
    found: npt.NDArray[np.int64] = np.searchsorted(ends, random.random(n) * ends[-1], side="right")
    return found


def write_shares(path: Path, n: int, n_rings: int = 20, seed: int = 1) -> None:
    """Write a table of shares as Parquet, and beside it its rings as JSON."""
    table, rings = shares(n, n_rings, seed)
    pq.write_table(table, path)
    known = [{side: sorted(members) for side, members in vars(ring).items()} for ring in rings]
    path.with_suffix(".json").write_text(json.dumps(known))


def measure(path: Path, data_backend: str = "cpu") -> dict[str, Any]:
    """Find the groups in step of at least 3 × 3 within 60 s, and say which rings are in them.

    `data_backend`: where rows are read and sorted, as in the settings. In a process that has done
    nothing else: the peak of its memory is told.
    """
    rings = json.loads(path.with_suffix(".json").read_text())
    started, used = time.perf_counter(), time.process_time()
    read = {"left": "account", "right": "link", "time": "at", "in_step": "60s"}
    asked = load_settings(data_backend=data_backend, ingest=read, search={"min_left": 3, "min_right": 3})
    found = find_in_table(str(path), FindAsked(top=1000), asked)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    groups = [(set(group["left"]), set(group["right"])) for group in found["groups"]]
    hit = [
        any(left >= set(ring["accounts"]) and right >= set(ring["links"]) for left, right in groups) for ring in rings
    ]
    return {
        "rows": found["rows_read"],
        "rings": len(rings),
        "found": sum(hit),
        "groups": len(groups),
        "in_step": found["in_step"],
        "cpu_seconds": round(cpu_seconds, 1),
        "seconds": {"all": round(seconds, 1), **{k: round(took, 1) for k, took in found["seconds"].items()}},
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


if __name__ == "__main__":  # PATH N writes such a table; PATH measures, PATH cuda with a GPU
    place = Path(sys.argv[1])
    if sys.argv[2:] and sys.argv[2].isdigit():
        write_shares(place, int(sys.argv[2]))
    else:
        print(json.dumps(measure(place, *sys.argv[2:]), indent=1))
