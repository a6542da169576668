"""Rooms of commands: functions become commands, with options for the settings that they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import typer
from typer.core import TyperCommand

from bicliq.flows.cli.options import LOG_OPTIONS, TAKES, in_options, settings_from, settings_options
from bicliq.pipeline.events import show

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

    `panel`: their heading in ``bicliq --help``. `takes`: settings that each takes as options.
    """

    panel: str | None = None
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: TAKES)
    _commands: dict[str, tuple[Command, str, bool]] = field(default_factory=dict)

    def command(self, name: str, *examples: str, hidden: bool = False) -> Callable[[Command], Command]:
        """Make a command of a function; one that is `hidden` fell away, and does what it did.

        One that takes `settings` gets the options that `TAKES` lists for it.
        """
        listed = "\n\n".join(f"[bold]{example}[/bold]" for example in examples)
        epilog = f"Example: {listed}" if len(examples) == 1 else f"Examples:\n\n{listed}"

        def register(function: Command) -> Command:
            self._commands[name] = function, epilog, hidden
            return function

        return register

    def app(self, only: str | None = None) -> typer.Typer:
        """Build their part of the application.

        `only`: the command that is called, whose options are made; the others are listed alone,
        since to make all options takes as long as a small run. None: all have their options.
        """
        app = typer.Typer()
        for name, (function, epilog, hidden) in self._commands.items():
            made = self._whole(name, function) if only in (None, name) else _listed(function)
            app.command(name, epilog=epilog, cls=_Strict, rich_help_panel=self.panel, hidden=hidden)(made)
        return app

    def _whole(self, name: str, function: Command) -> Command:
        takes = self.takes.get(name)
        return function if takes is None else _with_options(function, takes)


def _listed(function: Command) -> Command:
    """A command of which its name and its sentence are shown."""

    def listed() -> None:
        raise AssertionError("a command was called whose options were not made")

    listed.__doc__ = function.__doc__
    return listed


def _with_options(function: Command, takes: tuple[str, ...]) -> Command:
    """Put the options of the settings in the place of the parameter `settings`."""
    from bicliq.pipeline.settings import Settings

    options = settings_options(takes)
    signature = inspect.signature(function, eval_str=True, locals={"Settings": Settings})
    own = [p for p in signature.parameters.values() if p.name != "settings"]

    def filled(**given: Any) -> None:
        show(verbose=bool(given.pop("verbose")), as_json=bool(given.pop("log_json")), worded=in_options)
        settings = settings_from({path: given.pop(option.name) for path, option in options.items()})
        function(settings=settings, **given)

    parameters = [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *options.values(), *LOG_OPTIONS]
    filled.__name__, filled.__doc__ = function.__name__, function.__doc__
    filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    filled.__annotations__ = {p.name: p.annotation for p in parameters}
    return filled
