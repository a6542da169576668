"""What happens, as one line an event: the same words in a terminal, in JSON and in Prefect.

An event is a few fixed words ("partition committed") and facts by name (run, partition, worker,
…). Modules tell events to the logger ``bicliq``; who runs them decides where lines go. Nothing is
shown below a warning unless it is asked for.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bicliq.pipeline.redact import printable, without_secrets

LOGGER = logging.getLogger("bicliq")

Message = tuple[int, str, dict[str, Any]]
"""An event that travels between processes: its level, its words and its facts."""


def tell(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Log an event, with facts; one that is None is left out.

    `event`: the words, which are the same each time. `level`: of `logging`: INFO for what was done,
    WARNING for what somebody should know. `facts`: ``run``, ``partition`` and ``worker`` where they
    are known, and what else there is to say.

    Examples
    --------
    >>> LOGGER.handlers, LOGGER.level = [logging.StreamHandler(sys.stdout)], logging.INFO
    >>> tell("partition committed", run="3f2a", partition=12, worker=None, seconds=0.25)
    partition committed run=3f2a partition=12 seconds=0.25
    >>> LOGGER.handlers, LOGGER.level = [], logging.NOTSET
    """
    if LOGGER.isEnabledFor(level):
        known = {name: _plain(value) for name, value in facts.items() if value is not None}
        words = " ".join([event, *(f"{name}={_shown(value)}" for name, value in known.items())])
        LOGGER.log(level, "%s", words, extra={"event": event, "facts": known})


def warn(event: str, **facts: Any) -> None:
    """Log an event that somebody should know of; see `tell`.

    Examples
    --------
    >>> LOGGER.handlers = [logging.StreamHandler(sys.stdout)]
    >>> warn("partition is cut again", partition=3, reason="its file is missing")
    partition is cut again partition=3 reason="its file is missing"
    >>> LOGGER.handlers = []
    """
    tell(event, logging.WARNING, **facts)


def say(event: str, sentence: str) -> None:
    """Log a sentence that somebody should read; its event and the sentence are facts of the line.

    Examples
    --------
    >>> LOGGER.handlers = [logging.StreamHandler(sys.stdout)]
    >>> say("assumed", "edges.csv: line 1 (user, item) was taken for names of columns")
    edges.csv: line 1 (user, item) was taken for names of columns
    >>> LOGGER.handlers = []
    """
    if LOGGER.isEnabledFor(logging.WARNING):
        LOGGER.log(logging.WARNING, "%s", sentence, extra={"event": event, "facts": {"sentence": sentence}})


class JsonLines(logging.Formatter):
    """Events as JSON objects, one a line: time (ISO, UTC), level, event and the facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object of a record; one that is no event has its message for the event."""
        line = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", None) or record.getMessage(),
            **({} if record.name == LOGGER.name else {"logger": record.name}),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def show(*, verbose: bool, as_json: bool, worded: Callable[[str], str] = str) -> None:
    """Write events to standard error from now on, instead of where they went before.

    `verbose`: whether all of them, or only warnings. `as_json`: whether as JSON objects, or as
    words with the time before them. `worded`: words a line as those say it who read it.
    """
    handler = JsonToStandardError(worded) if as_json else _ToStandardError(worded)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO if verbose else logging.WARNING)
    _show_libraries(as_json=as_json)


def shown_as_json() -> bool:
    """Whether what is written to standard error is JSON: then nothing else may be written there."""
    return any(isinstance(handler, JsonToStandardError) for handler in LOGGER.handlers)


def say_as_json(sentence: str, level: int = logging.INFO, **facts: Any) -> None:
    """Write a sentence that is no event to standard error as an object of the log, in any case."""
    record = logging.LogRecord(LOGGER.name, level, "", 0, "%s", (without_secrets(sentence),), None)
    record.facts = facts
    JsonToStandardError().emit(record)


IN_LIBRARIES = {
    "DASK_DISTRIBUTED__LOGGING": repr(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "handlers": {"json": {"()": "bicliq.pipeline.events.of_libraries"}},
            "loggers": {name: {"level": "ERROR"} for name in ("distributed", "bokeh", "tornado")},
            "root": {"level": "WARNING", "handlers": ["json"]},
        }
    ),
    "PREFECT_LOGGING_HANDLERS_CONSOLE_CLASS": "bicliq.pipeline.events.JsonToStandardError",
}
"""Variables by which Dask and Prefect log as JSON, here and in the processes that they start."""


def _show_libraries(*, as_json: bool) -> None:
    """Write what libraries log, and Python's warnings, as JSON, too; or leave them alone again."""
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, JsonToStandardError)]
    for name, value in IN_LIBRARIES.items():
        if as_json:
            os.environ[name] = value
        elif os.environ.get(name) == value:
            del os.environ[name]
    if as_json:
        root.addHandler(of_libraries())
    else:
        logging.captureWarnings(False)


def of_libraries() -> logging.Handler:
    """Return a handler of what libraries log; from now on that includes Python's warnings."""
    logging.captureWarnings(True)
    handler = JsonToStandardError()
    handler.addFilter(lambda record: record.name != LOGGER.name)  # events have a handler of their own
    return handler


@contextmanager
def passed_on(send: Callable[[Message], None], level: int) -> Iterator[None]:
    """Send the events of this thread, from a level on, instead of writing them here."""
    handler = _Sender(send, threading.get_ident())
    LOGGER.addHandler(handler)
    if LOGGER.getEffectiveLevel() > level:
        LOGGER.setLevel(level)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)


class _ToStandardError(logging.Handler):
    """Writes to what standard error is at the moment: a progress bar takes its place for a time."""

    def __init__(self, worded: Callable[[str], str]) -> None:
        super().__init__()
        self._worded = worded

    def emit(self, record: logging.LogRecord) -> None:
        print(printable(self._worded(self.format(record)), keep="\n"), file=sys.stderr, flush=True)


def _as_they_are(words: str) -> str:
    return words


class JsonToStandardError(_ToStandardError):
    """Writes JSON, whatever format a library asks for."""

    def __init__(self, worded: Callable[[str], str] = _as_they_are, **_of_prefects_console: Any) -> None:
        super().__init__(worded)

    def format(self, record: logging.LogRecord) -> str:
        """Return the object of a record."""
        return JsonLines().format(record)


class _Sender(logging.Handler):
    def __init__(self, send: Callable[[Message], None], thread: int) -> None:
        super().__init__()
        self._send, self._thread = send, thread

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            event = getattr(record, "event", None) or record.getMessage()
            self._send((record.levelno, event, getattr(record, "facts", {})))


def _plain(value: Any) -> Any:
    """A number or text, which can travel between processes, and be shown to anybody."""
    return value if isinstance(value, bool | int | float) else without_secrets(str(value))


def _shown(value: Any) -> str:
    """A fact as a word; text of several words is quoted, and stays one line."""
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    plain = text and not any(letter.isspace() or letter in '"=' for letter in text)
    return printable(text if plain else json.dumps(text, ensure_ascii=False))
