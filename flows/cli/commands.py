"""Rooms of commands: functions become commands, with options for the settings that they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import typer
from typer.core import TyperCommand

from flows.cli.options import LOG_OPTIONS, TAKES, settings_from, settings_options
from pipeline.events import show

Command = Callable[..., None]


class _Strict(TyperCommand):
    """A command that refuses an option given twice, and an empty argument."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        values, _, given = self.make_parser(ctx).parse_args(list(args))
        for part in given:
            if part.param_type_name == "argument":
                if "" in (values[part.name], *(values[part.name] or ())):
                    ctx.fail(f"{str(part.name).upper()} is empty")
            elif given.count(part) > 1 and not part.multiple:
                ctx.fail(f"{part.opts[0]} is given {given.count(part)} times; give it once")
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class Room:
    """Commands that are about the same thing.

    Parameters
    ----------
    panel
        Their heading in ``bicliq --help``.
    prefix
        What comes before their names in `TAKES`, where they are below a command.
    app
        Their part of the application.
    """

    panel: str | None = None
    prefix: str = ""
    app: typer.Typer = field(default_factory=typer.Typer)

    def command(self, name: str, *examples: str) -> Callable[[Command], Command]:
        """Make a command of a function.

        One that takes `settings` gets the options that `TAKES` lists for it.
        """
        listed = "\n\n".join(f"[bold]{example}[/bold]" for example in examples)
        epilog = f"Example: {listed}" if len(examples) == 1 else f"Examples:\n\n{listed}"

        def register(function: Command) -> Command:
            takes = TAKES.get(self.prefix + name)
            filled = function if takes is None else _with_options(function, takes)
            self.app.command(name, epilog=epilog, cls=_Strict, rich_help_panel=self.panel)(filled)
            return function

        return register


def _with_options(function: Command, takes: tuple[str, ...]) -> Command:
    """Put the options of the settings in the place of the parameter `settings`."""
    options = settings_options(takes)
    own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "settings"]

    def filled(**given: Any) -> None:
        show(verbose=bool(given.pop("verbose")), as_json=bool(given.pop("log_json")))
        settings = settings_from({path: given.pop(option.name) for path, option in options.items()})
        function(settings=settings, **given)

    parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *options.values(), *LOG_OPTIONS]
    filled.__name__, filled.__doc__ = function.__name__, function.__doc__
    filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    filled.__annotations__ = {p.name: p.annotation for p in parameters}
    return filled
