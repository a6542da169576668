"""The references of settings and commands, as pages of docs/.

Called as ``python -m bicliq.flows.cli.reference``.

They are made of the settings and of the commands themselves; a test compares what lies there.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bicliq.flows.cli.app import application
from bicliq.flows.cli.options import TAKES, choices_of, settings_options
from bicliq.pipeline.settings import fields_of
from bicliq.pipeline.variables import OTHER_VARIABLES, VARIABLES_OF_TESTS

NOTE = "<!-- made by `make docs`: change the code, not this page -->"


def settings_page() -> str:
    """Return the page of all settings, a table a group."""
    lines = [
        NOTE,
        "",
        "# Settings",
        "",
        "An option of the command line comes first, then the environment, then `bicliq.toml`, then the",
        "default. `[search]` `min_left = 3` in the file is `BICLIQ__SEARCH__MIN_LEFT=3` and `--min-left 3`;",
        "`store`, which is in no group, is `BICLIQ__STORE`.",
    ]
    group = None
    for path, field in fields_of():
        heading = path[0] if len(path) > 1 else "all"
        if heading != group:
            lines += ["", f"## {heading}", "", "| setting | default | meaning |", "|---|---|---|"]
            group = heading
        default = _default(field.default)
        choices = f" [{', '.join(choices_of(field))}]" if choices_of(field) else ""
        lines.append(f"| `{path[-1]}` | {default} | {_cell(field.description)}{choices} |")
    lines += ["", "## Other variables", "", "| variable | meaning |", "|---|---|"]
    others = {name: said for name, said in OTHER_VARIABLES.items() if name not in VARIABLES_OF_TESTS}
    lines += [f"| `{name}` | {_cell(said)} |" for name, said in sorted(others.items())]
    lines += ["", "Those of the tests are in `pipeline/variables.py`."]
    return "\n".join(lines) + "\n"


ABOUT = (
    "What only one command has, or means in its own way, is listed there; then follow the groups of"
    " [settings](settings.md) and the single ones that it takes as options (`min_left` is `--min-left`), and"
    " what [several commands share](#shared-options)."
)
SHARED = 2
"""Commands that share an option, from which on it is explained once."""


def commands_page() -> str:
    """Return the page of all commands with their arguments and options.

    Settings are named by their groups, and explained on their own page. An option that several
    commands share is explained once, at the end of the page, and is named at each of them.
    """
    commands = list(_commands(application(), "bicliq"))
    tables = [_rows(command, _taken(name)) for name, command in commands]
    shared = _shared_rows(tables)
    lines = [NOTE, "", "# Commands", ""]
    everywhere = {row for row in shared if sum(row in rows for rows in tables) >= len(tables) - 1}
    lines += textwrap.wrap(
        " ".join(["Every command has `--help`.", *_said_of_all(everywhere, commands, tables), ABOUT]), 100
    )
    for (name, command), rows in zip(commands, tables, strict=True):
        lines += ["", f"## {name}", "", *_said(command.help)]
        usage = _usage(name, command)
        lines += ["", f"`{usage}`"] if usage != name else []
        own = [row for row in rows if row not in shared]
        lines += ["", *_wrapped(own)] if own else []
        also = ", ".join(f"`{_flag(row)}`" for row in rows if row in shared - everywhere)
        words = [*_settings(_taken(name)), *([f"Shared: {also}."] if also else [])]
        lines += ["", *textwrap.wrap(" ".join(words), 100, break_on_hyphens=False)] if words else []
    lines += ["", "## Shared options", "", *_wrapped(sorted(shared, key=_flags))]
    return "\n".join(lines) + "\n"


def _wrapped(rows: Sequence[str]) -> Iterator[str]:
    """The lines of a list."""
    for row in rows:
        yield from textwrap.wrap(row, 100, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def _said(text: str | None) -> list[str]:
    """The lines of a help text, in which a terminal's bold words are code."""
    return [line.strip() for line in re.sub(r"\[/?bold\]", "`", text or "").strip().splitlines()]


def _settings(taken: Sequence[str]) -> Iterator[str]:
    """A sentence on settings that a command takes: groups, single ones, and what is left out."""
    groups = {path[0] for path, _ in fields_of() if len(path) > 1}
    whole = [f"*{word}*" for word in taken if word in groups]
    single = [_as_flag(word) for word in taken if word not in groups and not word.startswith("-")]
    left_out = [flag for word in taken if word.startswith("-") and (flag := _as_flag(word)) not in single]
    if whole or single:
        yield f"Settings: {', '.join(whole + single)}{', without ' if left_out else ''}{', '.join(left_out)}."


def _as_flag(setting: str) -> str:
    return f"`--{setting.rpartition('.')[2].strip('-').replace('_', '-')}`"


def _shared_rows(tables: list[list[str]]) -> set[str]:
    """Items of several lists, one an argument or flag: the meaning that most commands give it."""
    numbers = Counter(row for rows in tables for row in rows)
    usual = {_flags(row): row for row, number in reversed(numbers.most_common()) if number >= SHARED}
    return set(usual.values())


def _said_of_all(everywhere: set[str], commands: Sequence[tuple[str, Any]], tables: list[list[str]]) -> Iterator[str]:
    """A sentence on each of the options that all commands have, or all but one."""
    for row in sorted(everywhere, key=_flags):
        lacks = [f"`{name}`" for (name, _), rows in zip(commands, tables, strict=True) if row not in rows]
        yield f"All{' but ' if lacks else ''}{', '.join(lacks)} have `{_flag(row)}`."


def _flags(row: str) -> str:
    return row.split("`")[1]


def _flag(row: str) -> str:
    """The first spelling of an option, or the name of an argument."""
    return _flags(row).split(", ")[0]


def _taken(name: str) -> tuple[str, ...]:
    return TAKES.get(name.partition(" ")[2], ())


def _rows(command: Any, taken: Sequence[str]) -> list[str]:
    """All that a command takes, but for settings, which have a page: an item of a list each."""
    told = {_as_flag(".".join(path)) for path in settings_options(taken)}
    shown = (each for each in command.params if each.name != "help" and not getattr(each, "hidden", False))
    return [row for row in map(_option, shown) if f"`{_flag(row)}`" not in told]


def _commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    for each, command in sorted(group.commands.items()):
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _commands(command, f"{name} {each}")
        else:
            yield f"{name} {each}", command


def _usage(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    metavars = [(_metavar(each), each.required) for each in arguments]
    named = [text if required or text.startswith("[") else f"[{text}]" for text, required in metavars]
    return " ".join([name, *named])


def _metavar(argument: Any) -> str:
    return (argument.metavar or str(argument.name)).upper()


def _option(option: Any) -> str:
    flags = (
        _metavar(option) if option.param_type_name == "argument" else ", ".join([*option.opts, *option.secondary_opts])
    )
    return f"- `{flags}`: {_cell(getattr(option, 'help', None))}"


def _default(value: Any) -> str:
    if value is None or value == ():
        return "–"
    if isinstance(value, tuple):
        return f"{len(value)} words"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str | None) -> str:
    """Text in a cell of a table of Markdown."""
    return " ".join((text or "").replace("\\[", "[").replace("|", "\\|").replace("<", "&lt;").split())


PAGES = {"settings.md": settings_page, "cli.md": commands_page}
"""What makes each page."""


def main(folder: str) -> None:
    """Write the pages to a folder."""
    for name, made in PAGES.items():
        Path(folder, name).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
