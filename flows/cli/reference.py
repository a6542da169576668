"""The references of settings and commands, as pages of docs/.

Called as ``python -m bicliq.flows.cli.reference``.

They are made of the settings and of the commands themselves; a test compares what lies there.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bicliq.flows.cli.app import application
from bicliq.pipeline.settings import fields_of
from bicliq.pipeline.variables import OTHER_VARIABLES, variable_of

NOTE = "<!-- made by `make docs`: change the code, not this page -->"


def settings_page() -> str:
    """Return the page of all settings, a table a group."""
    lines = [
        NOTE,
        "",
        "# Settings",
        "",
        "An option of the command line comes first, then the environment, then `bicliq.toml`, then the",
        "default. `[search]` `min_left = 3` in the file is `BICLIQ__SEARCH__MIN_LEFT=3` and `--min-left 3`.",
    ]
    group = None
    for path, field in fields_of():
        heading = path[0] if len(path) > 1 else "all"
        if heading != group:
            lines += ["", f"## {heading}", "", "| setting | default | meaning | variable |", "|---|---|---|---|"]
            group = heading
        default = _default(field.default)
        lines.append(f"| `{path[-1]}` | {default} | {_cell(field.description)} | `{variable_of(path)}` |")
    lines += ["", "## Other variables", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {_cell(said)} |" for name, said in sorted(OTHER_VARIABLES.items())]
    return "\n".join(lines) + "\n"


SHARED = 3
"""Commands that share an option, from which on it is explained once."""


def commands_page() -> str:
    """Return the page of all commands with their arguments and options.

    An option that several commands share is explained once, in a table at the end, and is named at
    each of them.
    """
    commands = list(_commands(application(), "bicliq"))
    shared = _shared_rows([_rows(command) for _, command in commands])
    lines = [NOTE, "", "# Commands", ""]
    lines += ["Every command has `--help`. What only one command has, or means in its own way, stands in its"]
    lines += [
        "table; options that several share are named below it, and explained in",
        "[the last table](#shared-options).",
    ]
    for name, command in commands:
        lines += ["", f"## {name}", "", *_paragraphs(command.help or "")]
        lines += ["", "```console", f"$ {_usage(name, command)}", "```"]
        rows = _rows(command)
        own = [row for row in rows if row not in shared]
        if own:
            lines += ["", "| argument or option | meaning |", "|---|---|", *own]
        also = ", ".join(f"`{_flags(row).split(', ')[0]}`" for row in rows if row in shared)
        lines += ["", *textwrap.wrap(f"Shared: {also}.", 100, break_on_hyphens=False)]
    lines += ["", "## Shared options", "", "| option | meaning |", "|---|---|", *sorted(shared, key=_flags)]
    return "\n".join(lines) + "\n"


def _shared_rows(tables: list[list[str]]) -> set[str]:
    """Rows of options in several tables, one a flag: the meaning that most commands give it."""
    numbers = Counter(row for rows in tables for row in rows if _flags(row).startswith("--"))
    usual = {_flags(row): row for row, number in reversed(numbers.most_common()) if number >= SHARED}
    return set(usual.values())


def _flags(row: str) -> str:
    return row.split("`")[1]


def _rows(command: Any) -> list[str]:
    """The rows of a table of all that a command takes."""
    return [_option(each) for each in command.params if each.name != "help" and not getattr(each, "hidden", False)]


def _commands(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    for each, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{name} {each}")
        else:
            yield f"{name} {each}", command


def _usage(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    metavars = [(_metavar(each), each.required) for each in arguments]
    named = [text if required or text.startswith("[") else f"[{text}]" for text, required in metavars]
    return " ".join([name, *named, "[OPTIONS]"])


def _metavar(argument: Any) -> str:
    return (argument.metavar or str(argument.name)).upper()


def _option(option: Any) -> str:
    flags = (
        _metavar(option) if option.param_type_name == "argument" else ", ".join([*option.opts, *option.secondary_opts])
    )
    return f"| `{flags}` | {_cell(getattr(option, 'help', None))} |"


def _paragraphs(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


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
