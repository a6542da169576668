"""Which way to a new version is cheaper: around the changed edges, or a full search of the graph.

How many bicliques the search around the changed edges finds is estimated, and one that it finds
costs more than one of a full run. An estimate that was too low does little harm: the search is
given up where it finds far more. Numbers of bicliques are compared, not seconds: the choice is then
the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bicliq import kernels

FEW_PATHS = 50_000
"""Paths of two edges over the changes that are worth neither an estimate nor a full run."""

FEW = 50_000
"""Bicliques found that take less time (0.2 s of one thread) than a run takes to begin."""

PRICE = 5
"""What a biclique that is found around the changed edges costs, in bicliques of a full run: what
vanishes in it is searched as well, and both are written, which takes 2 to 3 where a fifth as many
are met as a run has (marvel, YouTube, EuAll). A version of which so much changed is written whole
right after, for its layers weigh too much, and that is another run."""

ROUGH = 4
"""How many times too high a rough estimate may be. Where it speaks for a full run, and so many
times fewer would not, an exact one decides. One that speaks for the changes is believed, though of
66 batches of 0.1 to 0.5 % seven were estimated at 0.02 to 0.22 of what was found: see `GIVEN_UP`.
"""

GIVEN_UP = 2
"""Where a search around the changed edges finds as much as this many full runs cost, it is given up
for one."""

PATHS = 32
"""Paths of two edges over the changes that cost what a biclique of a full run does: vertices with
very many neighbours make the subgraphs around the changes large that have few bicliques."""


@dataclass(frozen=True)
class Way:
    """How a version is made.

    `how`: "changes": around the changed edges; "full run": the new graph is searched whole.
    `reason`: why, in words. `found`: about how many bicliques the search around the changed edges
    finds; 0: so few that nobody estimated them. `most`: after how many it is given up; None: never.
    """

    how: Literal["changes", "full run"]
    reason: str
    found: int = 0
    most: int | None = None


def choose_way(search: kernels.ChangeSearch, bicliques: int) -> Way:
    """Choose how a version is made.

    `bicliques`: those of the version before.

    The estimate is seeded, so that the same batch is always made in the same way. A rough one takes
    2 to 17 ms, an exact one 15 to 80, up to a quarter of an update by a thousandth of the edges.
    """
    paths, worth = search.cost // PATHS, max(bicliques, FEW * PRICE)
    most = GIVEN_UP * worth // PRICE
    if search.cost <= FEW_PATHS:
        said = f"{search.cost:,} paths lead over what changed, and so few are seldom worth a full run"
        return Way("changes", said, most=most)
    if paths > worth:
        return Way("full run", f"{search.cost:,} paths lead over what changed: a full run of {bicliques:,} is cheaper")
    found = search.estimate(rough=True)
    if found * PRICE + paths > worth >= found * PRICE // ROUGH + paths:
        found = search.estimate()
    said = f"about {found:,} bicliques are found around what changed, of {bicliques:,}"
    if found * PRICE + paths > worth:
        return Way("full run", f"{said}: a full run is cheaper", found)
    return Way("changes", said, found, most)
