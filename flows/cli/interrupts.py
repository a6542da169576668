"""Interrupts that last: Ctrl-C ends a command wherever it falls.

Python raises KeyboardInterrupt in whatever the main thread does just then. Callbacks of the garbage
collector and of weak references ignore every exception, and so do some C extensions while they are
imported: an interrupt that falls there is lost, and the command goes on (docs/decisions.md, 170).
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

REMINDER_SECONDS = 0.25
"""Time from an interrupt to the look whether it was lost, and between two looks."""


@contextlib.contextmanager
def lasting_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block until it ends it, or begins to.

    A block that cleans up because of an interrupt is left alone, unless there is a second one.

    Notes
    -----
    An alarm of the operating system reminds. Nothing is done beside the main thread, or where the
    program has its own answer to interrupts.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    alarm, unraisable = signal.signal(signal.SIGALRM, _remind), sys.unraisablehook
    sys.unraisablehook = _raised_again(unraisable)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = unraisable


def by_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or came of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupt(number: int, frame: Any) -> None:
    signal.setitimer(signal.ITIMER_REAL, REMINDER_SECONDS, REMINDER_SECONDS)
    raise KeyboardInterrupt


def _remind(number: int, frame: Any) -> None:
    if not by_interrupt(sys.exc_info()[1]):
        raise KeyboardInterrupt


def _raised_again(say: Any) -> Any:
    """A hook for exceptions that Python ignores, silent about interrupts: they come again."""

    def hook(ignored: Any, /) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            say(ignored)

    return hook
