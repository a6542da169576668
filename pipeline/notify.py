"""Notifications: a run that finished or failed, told to a webhook as JSON.

The object has a ``text`` that Slack, Mattermost, Teams' workflows and the like show as it is, and
the same facts by name for programs. Whatever goes wrong on the way is a warning in the log: a run
never fails because nobody could be told.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from pipeline.errors import sentence
from pipeline.events import tell, warn
from pipeline.settings import NotifySettings, Settings
from pipeline.store.choice import Choice
from pipeline.store.results import open_run

WAIT_SECONDS = 10.0
"""How long a webhook may take to answer."""

TRIES, SECONDS_APART = 2, 2.0
"""Attempts at a webhook that does not answer, and the time between them."""

GROUPS, MEMBERS = 5, 8
"""Largest groups that a notification lists, and members of a side that it names."""


def notify_finished(settings: Settings, record: dict[str, Any]) -> None:
    """Tell that a run is published, if it fits the rules: with its largest groups, and why.

    Parameters
    ----------
    settings
        `settings.notify` says where to, and which runs are told.
    record
        Of `pipeline.run.RunSummary`.
    """
    asked = settings.notify
    if asked.webhook is None or asked.webhook_on == "failed":
        return
    try:
        fitting = _groups_of(asked, record)
        if fitting < asked.webhook_groups:
            tell("no notification", run=record["run"], groups=fitting, webhook_groups=asked.webhook_groups)
            return
        content = _finished(asked, record, fitting)
    except Exception as error:  # the run is published, whatever is wrong with what is read of it here
        warn("notification failed", run=record["run"], reason=sentence(error))
        return
    _post(asked.webhook, content, record["run"])


def notify_failed(settings: Settings, what: str, reason: str, event: str = "failed") -> None:
    """Tell that a run failed, if the rules say so.

    Parameters
    ----------
    settings
        As for `notify_finished`.
    what
        The table or the graph that was to be searched.
    reason
        Why, in words.
    event
        "failed", or how else it ended: "crashed", "cancelled".
    """
    asked = settings.notify
    if asked.webhook is None or asked.webhook_on == "finished":
        return
    text = f"Bicliq: {_escaped(what)} {event}: {_escaped(reason)}"
    content = {"text": text, "event": event, "source": what, "store": settings.store, "reasons": [reason]}
    _post(asked.webhook, content, None)


@contextmanager
def failures_notified(settings: Settings, what: str) -> Iterator[None]:
    """Tell of an error that leaves the block; an interrupt is no error."""
    try:
        yield
    except Exception as error:
        notify_failed(settings, what, sentence(error))
        raise


def _groups_of(asked: NotifySettings, record: dict[str, Any]) -> int:
    """Bicliques of a run that have at least the edges that are asked for."""
    if asked.webhook_edges <= 1 or not record["bicliques"]:
        return int(record["bicliques"])
    return open_run(record["store"], record["run"]).count(Choice(min_edges=asked.webhook_edges))


def _finished(asked: NotifySettings, record: dict[str, Any], fitting: int) -> dict[str, Any]:
    rows = open_run(record["store"], record["run"]).top(GROUPS).to_pylist() if record["bicliques"] else []
    rows = [row for row in rows if row["n_edges"] >= asked.webhook_edges]
    reasons = [f"run {record['run']} is published"]
    if asked.webhook_groups:
        least = f" of at least {asked.webhook_edges:,} edges" if asked.webhook_edges > 1 else ""
        reasons.append(f"{fitting:,} bicliques{least}, and {asked.webhook_groups:,} are worth a notification")
    more = "" if record["complete"] else " (a limit was reached: there are more)"
    lines = [
        f"Bicliq: run {record['run']} finished: {record['bicliques']:,} maximal bicliques{more} of"
        f" {record['n_left']:,} left × {record['n_right']:,} right, {record['n_edges']:,} edges;"
        f" {_escaped(record['output'])}",
        *(f"• {row['n_left']:,} × {row['n_right']:,}: {_some(row['left'])} | {_some(row['right'])}" for row in rows),
    ]
    figures = ("run", "graph", "store", "output", "bicliques", "digest", "complete", "n_left", "n_right", "n_edges")
    groups = [
        {**{size: row[size] for size in ("n_left", "n_right")}, **{s: row[s][:MEMBERS] for s in ("left", "right")}}
        for row in rows
    ]
    return {
        "text": "\n".join(lines),
        "event": "finished",
        "reasons": reasons,
        **{name: record[name] for name in figures},
        "groups": groups,
    }


def _some(members: list[Any]) -> str:
    named = _escaped(", ".join(map(str, members[:MEMBERS])))
    return named + (f", … {len(members) - MEMBERS:,} more" if len(members) > MEMBERS else "")


def _escaped(text: str) -> str:
    """Text in which Slack finds no markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _post(url: str, content: dict[str, Any], run: str | None) -> None:
    """Send an object; the URL of a webhook is a secret, and only its host is logged."""
    host = urlsplit(url).hostname
    body = json.dumps(content, default=str).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS):
                tell("notification sent", run=run, host=host, notified=content["event"])
                return
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = f"{type(error).__name__}: {error}"
        if attempt + 1 < TRIES:
            time.sleep(SECONDS_APART)
    warn("notification failed", run=run, host=host, notified=content["event"], reason=reason)
