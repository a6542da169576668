"""Interrupts that last: Ctrl-C, SIGTERM and SIGHUP end a command wherever they fall, in one way.

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


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command: Ctrl-C, a service manager, and a terminal that was closed."""


class Interrupts:
    """The signals that ended a block.

    `number`: the first of them; SIGINT where there was none that this process knows of.
    """

    def __init__(self) -> None:
        self._first: int | None = None

    @property
    def number(self) -> int:
        """The first signal."""
        return int(self._first or signal.SIGINT)

    def come(self, number: int, frame: Any) -> None:
        """Raise KeyboardInterrupt; whoever cleans up because of one is interrupted by Ctrl-C alone.

        Service managers send several signals at once.
        """
        cleaning = self._first is not None and number != signal.SIGINT
        self._first = self._first or number
        signal.setitimer(signal.ITIMER_REAL, REMINDER_SECONDS, REMINDER_SECONDS)
        if not cleaning:
            raise KeyboardInterrupt


@contextlib.contextmanager
def lasting_interrupts() -> Iterator[Interrupts]:
    """Raise KeyboardInterrupt in the block until it ends it, or begins to.

    A block that cleans up because of an interrupt is left alone, unless there is a second Ctrl-C.

    Yields what came.

    An alarm of the operating system reminds. Nothing is done beside the main thread, or where the
    program has its own answer to interrupts; SIGTERM and SIGHUP are left alone where they are
    ignored (`nohup`) or have one.
    """
    interrupts = Interrupts()
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    alarm, unraisable = signal.signal(signal.SIGALRM, _remind), sys.unraisablehook
    sys.unraisablehook = _raised_again(unraisable)
    ours = [each for each in SIGNALS if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler)]
    before = {each: signal.signal(each, interrupts.come) for each in ours}
    try:
        yield interrupts
    finally:
        for each, answer in before.items():
            signal.signal(each, answer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = unraisable


def by_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or came of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _remind(number: int, frame: Any) -> None:
    if not by_interrupt(sys.exc_info()[1]):
        raise KeyboardInterrupt


def _raised_again(say: Any) -> Any:
    """A hook for exceptions that Python ignores, silent about interrupts: they come again."""

    def hook(ignored: Any, /) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            say(ignored)

    return hook
