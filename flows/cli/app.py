"""The command line: the outermost room, and the only one that prints.

Every command reads its settings from arguments, then the environment (``BICLIQ__SEARCH__THREADS``),
then ``bicliq.toml``, then defaults. Exit codes: 0 done, 2 the input or the arguments are wrong, 3 a
limit was reached, 130, 143 and 129 ended by SIGINT, SIGTERM and SIGHUP, 1 anything else. Whatever
goes wrong is said in one line on standard error, and standard output holds an answer or nothing,
with --json the error; with BICLIQ_TRACEBACK=1 the traceback comes before that line.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
import typer.main

from bicliq.flows.cli import baskets, contexts, graphs, runs, schedule, searches, tries, versions
from bicliq.flows.cli.interrupts import Interrupts, by_interrupt, lasting_interrupts
from bicliq.flows.cli.objects import print_json
from bicliq.flows.cli.options import EXIT_INPUT, EXIT_LIMIT, EXIT_OTHER, EXIT_SIGNALLED, in_options
from bicliq.pipeline.bounds import EXHAUSTED, is_exhausted, require_threads
from bicliq.pipeline.events import say_as_json
from bicliq.pipeline.redact import printable, without_secrets

ROOMS = tuple(commands.room for commands in (searches, baskets, contexts, graphs, runs, versions, schedule, tries))

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises at wrong arguments: a class of click, or of its copy in a newer typer."""

INTERRUPTED = "interrupted; what was committed is kept: run the same command again to go on"
NOT_KEPT = "interrupted; nothing of it is kept"
IN_MEMORY, IN_MEMORY_WITHOUT_STORE = ("enumerate", "estimate", "find", "show", "top"), ("clique", "count")
"""Commands that commit nothing, and those that do with --store alone."""


def main(build: Callable[[str], Any] | None = None) -> None:
    """Run the command line and leave with its exit code.

    `build` makes other commands than bicliq's.
    """
    _look_for_garbage_later()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else NumPy starts one a core, which are idle here
    if hasattr(sys.stdout, "reconfigure"):  # a locale that lacks a letter shows its number instead of failing
        sys.stdout.reconfigure(errors="backslashreplace")
    code = invoke(sys.argv[1:], build)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python says so at its end
    gc.freeze()  # what is here ends with the process, and needs no search for garbage
    sys.exit(code)


def _look_for_garbage_later() -> None:
    """Let the modules of a command be loaded before garbage is looked for: they are none.

    A short run took a tenth of its time for that. From the first time on it is as usual.
    """
    usual = gc.get_threshold()
    gc.set_threshold(200_000)
    gc.callbacks.append(lambda phase, facts: gc.set_threshold(*usual))


def invoke(arguments: list[str], build: Callable[[str], Any] | None = None) -> int:
    """Run one command and return its exit code; `build` makes other commands than bicliq's."""
    called = next((word for word in arguments if not word.startswith("-")), "")
    interrupts = Interrupts()
    try:
        with lasting_interrupts() as interrupts:
            return _run(arguments, (build or application)(called))
    except KeyboardInterrupt:
        if called == "watch":  # nothing else ends it, and its objects are answers
            arguments = [word for word in arguments if word != "--json"]
        in_memory = called in IN_MEMORY or (called in IN_MEMORY_WITHOUT_STORE and not _names_store(arguments))
        said = NOT_KEPT if in_memory else INTERRUPTED
        return _failed(arguments, said, EXIT_SIGNALLED + interrupts.number, "Interrupted")


def _names_store(arguments: list[str]) -> bool:
    return any(word.split("=")[0] in ("--store", "--stored") for word in arguments)


def _run(arguments: list[str], command: Any) -> int:
    try:
        require_threads()
        result = command(arguments, prog_name=command.name, standalone_mode=False)
        if result == EXIT_SIGNALLED + signal.SIGINT:  # what typer makes of an interrupt
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
        return _failed(arguments, *_explained(error))


@cache
def application(command: str | None = None) -> Any:
    """Build the commands, once a process.

    `command`: the one that is called; others are listed without options. None: all have their
    options.
    """
    app = typer.Typer(
        name="bicliq",
        help="Maximal bicliques, (p,q)-counts and maximum cliques of large edge tables: exact, resumable, as Parquet.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for room in ROOMS:
        app.add_typer(room.app(command))
    return typer.main.get_command(app)


def _say_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        print(f"bicliq {version('bicliq')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version, and end.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Options that belong to no command."""


def _explained(error: Exception) -> tuple[str, int, str]:
    """One line about an error, its exit code, and what kind it is."""
    if is_exhausted(error) and type(error).__name__ not in ("CapacityError", "InputError"):
        detail = f" ({error})" if isinstance(error, MemoryError) and str(error) else ""
        return EXHAUSTED.replace(";", f"{detail};", 1), EXIT_INPUT, "CapacityError"
    from bicliq.pipeline.errors import BackendError, BicliqError, CapacityError, InputError, LimitReached, StorageError

    kind = type(error).__name__
    if isinstance(error, UsageError):
        context, message = getattr(error, "ctx", None), str(error.format_message())  # type: ignore[attr-defined]
        where = f" (see: {context.command_path} --help)" if context and message else ""
        return f"{message}{where}", EXIT_INPUT, "UsageError"
    if isinstance(error, LimitReached):
        return str(error), EXIT_LIMIT, kind
    if isinstance(error, InputError | StorageError | BackendError | CapacityError):
        return str(error), EXIT_INPUT, kind
    if isinstance(error, BicliqError):
        return str(error), EXIT_OTHER, kind
    if isinstance(error, OSError):
        return f"{kind}: {error}", EXIT_OTHER, kind
    defect = "this is a defect of bicliq; BICLIQ_TRACEBACK=1 shows where it happened"
    return f"{kind}: {error}; {defect}", EXIT_OTHER, kind


def _failed(arguments: list[str], message: str, code: int, kind: str) -> int:
    """Say why a command failed: one line on standard error, and with --json an object on the other.

    `bicliq` alone has nothing to say beside its help.
    """
    if not message:
        return code
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    said = without_secrets(in_options(" ".join(message.splitlines())))
    if "--json" in options:
        print_json({"error": said, "kind": kind, "exit_code": code})
    if "--log-json" in options:
        say_as_json(f"bicliq: {said}", logging.ERROR, kind=kind, exit_code=code)
    else:
        print(f"bicliq: {printable(said)}", file=sys.stderr)
    return code
