"""Commands that need no table: `doctor` says what is here, and how a store is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json

if TYPE_CHECKING:
    from bicliq.pipeline.settings import Settings

room = Room("Try and measure")


@room.command("doctor", "bicliq doctor", "bicliq doctor --store wiki-store --stale-hours 26")
def doctor(settings: Settings, json: Json = False) -> None:
    """Say what is here: versions, instruction set, backends, and why one cannot be used.

    Of a store that is named (or there), when its last version came.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.events import warn
    from bicliq.pipeline.placement.doctor import examine
    from bicliq.pipeline.stale import age_in_words, stale_in_words

    age = age_in_words(settings)
    stale = stale_in_words(settings)
    facts = examine() if age is None else {**examine(), "store": age, "stale": stale or "no"}
    console.answer(facts, json, console.facts)
    if stale is not None:
        warn("no version came", reason=stale)
