"""The application of `python -m benchmarks`: all its commands."""

from __future__ import annotations

from typing import Any

import typer

from benchmarks import clique_commands, commands


def application(command: str | None = None) -> Any:
    """Build the commands.

    Parameters
    ----------
    command
        The one that is called; others are listed without options. None: all have their options.
    """
    app = typer.Typer(
        name="benchmarks",
        help="Measure Bicliq on real graphs, beside the published programs.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    for room in (commands.room, clique_commands.room):
        app.add_typer(room.app(command))
    return typer.main.get_command(app)
