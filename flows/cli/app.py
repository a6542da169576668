"""The command line: the outermost room, and the only one that prints.

Every command reads its settings from arguments, then the environment (``BICLIQ__SEARCH__THREADS``),
then ``bicliq.toml``, then defaults. Exit codes: 0 done, 2 the input or the arguments are wrong, 3 a
limit was reached, 130 interrupted, 1 anything else. Whatever goes wrong is said in one line on
standard error, and standard output holds an answer or nothing; with BICLIQ_TRACEBACK=1 the
traceback comes before that line.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import cache
from typing import Any

import typer
import typer.main

from bicliq.flows.cli import graphs, runs, schedule, searches, tries, versions
from bicliq.flows.cli.interrupts import by_interrupt, lasting_interrupts
from bicliq.flows.cli.options import EXIT_INPUT, EXIT_INTERRUPTED, EXIT_LIMIT, EXIT_OTHER, in_options

ROOMS = tuple(commands.room for commands in (searches, graphs, runs, versions, schedule, tries))

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises at wrong arguments: a class of click, or of its copy in a newer typer."""

INTERRUPTED = "interrupted; what was committed is kept: run the same command again to go on"


def main(build: Callable[[str], Any] | None = None) -> None:
    """Run the command line and leave with its exit code.

    `build` makes other commands than bicliq's.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a locale that lacks a letter shows its number instead of failing
        sys.stdout.reconfigure(errors="backslashreplace")
    code = invoke(sys.argv[1:], build)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python says so at its end
    sys.exit(code)


def invoke(arguments: list[str], build: Callable[[str], Any] | None = None) -> int:
    """Run one command and return its exit code; `build` makes other commands than bicliq's."""
    called = next((word for word in arguments if not word.startswith("-")), "")
    try:
        with lasting_interrupts():
            return _run(arguments, (build or application)(called))
    except KeyboardInterrupt:
        return _say(INTERRUPTED, EXIT_INTERRUPTED)


def _run(arguments: list[str], command: Any) -> int:
    try:
        result = command(arguments, prog_name=command.name, standalone_mode=False)
        if result == EXIT_INTERRUPTED:  # what typer makes of an interrupt
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort as abort:
        raise KeyboardInterrupt from abort
    except BrokenPipeError:  # whoever reads has seen enough
        return EXIT_OTHER
    except Exception as error:
        if by_interrupt(error):
            raise KeyboardInterrupt from error
        if os.environ.get("BICLIQ_TRACEBACK"):
            traceback.print_exc()
        return _say(*_explained(error))


@cache
def application(command: str | None = None) -> Any:
    """Build the commands, once a process.

    Parameters
    ----------
    command
        The one that is called; others are listed without options. None: all have their options.
    """
    app = typer.Typer(
        name="bicliq",
        help="Maximal bicliques, (p,q)-counts and maximum cliques of large edge tables: exact, resumable, as Parquet.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    for room in ROOMS:
        app.add_typer(room.app(command))
    return typer.main.get_command(app)


def _explained(error: Exception) -> tuple[str, int]:
    """One line about an error, and its exit code."""
    from bicliq.pipeline.errors import BackendError, BicliqError, CapacityError, InputError, LimitReached, StorageError

    if isinstance(error, UsageError):
        context, message = getattr(error, "ctx", None), str(error.format_message())  # type: ignore[attr-defined]
        where = f" (see: {context.command_path} --help)" if context and message else ""
        return f"{message}{where}", EXIT_INPUT
    if isinstance(error, LimitReached):
        return str(error), EXIT_LIMIT
    if isinstance(error, InputError | StorageError | BackendError | CapacityError):
        return str(error), EXIT_INPUT
    if isinstance(error, BicliqError):
        return str(error), EXIT_OTHER
    if isinstance(error, OSError | MemoryError):
        return f"{type(error).__name__}: {error}", EXIT_OTHER
    defect = "this is a defect of bicliq; BICLIQ_TRACEBACK=1 shows where it happened"
    return f"{type(error).__name__}: {error}; {defect}", EXIT_OTHER


def _say(message: str, code: int) -> int:
    """Print one line on standard error; `bicliq` alone has nothing to say beside its help."""
    from bicliq.pipeline.redact import without_secrets

    if message:
        print(f"bicliq: {without_secrets(in_options(' '.join(message.splitlines())))}", file=sys.stderr)
    return code
