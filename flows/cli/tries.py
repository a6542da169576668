"""Commands that need no table: `doctor` says what is here."""

from __future__ import annotations

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json

room = Room("Try and measure")


@room.command("doctor", "bicliq doctor")
def doctor(json: Json = False) -> None:
    """Say what is here: versions, instruction set, backends, and why one cannot be used."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.doctor import examine

    console.answer(examine(), json, console.facts)
