"""Notifications: a run or an update that finished or failed, told to a webhook as JSON.

The object has a ``text`` that Slack, Mattermost, Teams' workflows and the like show as it is, and
the same facts by name for programs. Whatever goes wrong on the way is a warning in the log: a run
never fails because nobody could be told.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from bicliq.pipeline.errors import sentence
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.rules import Fitting, find_appeared, find_fitting, has_rules, least_groups, rules_in_words
from bicliq.pipeline.settings import NotifySettings, Settings
from bicliq.pipeline.store.results import Run, open_run
from bicliq.pipeline.words import about, number_of_found

if TYPE_CHECKING:
    import urllib.request

WAIT_SECONDS = 10.0
"""How long a webhook may take to answer."""

TRIES, SECONDS_APART = 2, 2.0
"""Attempts at a webhook that does not answer, and the time between them."""

FIGURES = ("run", "graph", "store", "output", "bicliques", "digest", "complete", "n_left", "n_right", "n_edges")
"""What a notification says of a run."""

GROUPS, MEMBERS = 5, 8
"""Groups that a notification lists, and members of a side that it names."""

NONE_BEYOND = (
    "None of them is beyond chance: a table where every vertex has as many edges, drawn by lot, has groups like them."
)
NONE_FOUND = "None of them was found to be beyond chance in the time for that."
"""Said in place of groups, where no rule says which ones to tell of."""


def notify_finished(settings: Settings, record: dict[str, Any]) -> dict[str, Any] | None:
    """Tell that a run is published, if it fits the rules: with its groups that do, and why.

    `settings`: `settings.notify` says where to, and which runs are told. `record`: of
    `pipeline.run.RunSummary`. Returns what is worth telling, whether there is a webhook or not;
    None where nothing is.
    """
    return _notify(settings, record, record["run"], find_fitting, _finished)


def notify_updated(settings: Settings, record: dict[str, Any]) -> dict[str, Any] | None:
    """Tell that a version is committed, if the groups that appeared in it fit the rules.

    `settings`: as for `notify_finished`. `record`: of
    `pipeline.versions.update_record.UpdateRecord`; the version was made of what changed. Returns as
    of `notify_finished`.
    """
    return _notify(settings, record, record["version"], find_appeared, _updated)


def _notify(
    settings: Settings,
    record: dict[str, Any],
    run: str,
    find: Callable[[Run, NotifySettings, int], Fitting],
    told: Callable[[NotifySettings, dict[str, Any], Fitting], dict[str, Any]],
) -> dict[str, Any] | None:
    """Look for groups that fit the rules, and tell of them where there are enough."""
    asked = settings.notify
    if (asked.webhook is None and not has_rules(asked)) or asked.webhook_on == "failed":
        return None
    try:
        found = find(open_run(record["store"], run), asked, GROUPS)
        if found.groups < least_groups(asked):
            tell("no notification", run=run, groups=found.groups, webhook_groups=least_groups(asked))
            return None
        content = told(asked, record, found)
    except Exception as error:  # the run is published, whatever is wrong with what is read of it here
        warn("notification failed", run=run, reason=sentence(error))
        return None
    if asked.webhook is not None:
        _post(asked.webhook, content, run)
    return content


def notify_failed(settings: Settings, what: str, reason: str, event: str = "failed") -> None:
    """Tell that a run failed, if the rules say so.

    `settings`: as for `notify_finished`. `what`: the table or the graph that was to be searched.
    `reason`: why, in words. `event`: "failed", or how else it ended: "crashed", "cancelled".
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


def _finished(asked: NotifySettings, record: dict[str, Any], found: Fitting) -> dict[str, Any]:
    more = "" if record["complete"] else " (a limit was reached: there are more)"
    text = (
        f"Bicliq: run {record['run']} finished: {number_of_found(record)}{more} of"
        f" {record['n_left']:,} left × {record['n_right']:,} right, {record['n_edges']:,} edges;"
        f" {_escaped(record['output'])}"
    )
    reasons = [f"run {record['run']} is published", *_why(asked, found, "bicliques")]
    return _content(asked, text, reasons, {name: record[name] for name in FIGURES}, found)


def _updated(asked: NotifySettings, record: dict[str, Any], found: Fitting) -> dict[str, Any]:
    what = "bicliques" if record["in_step"] is None else "groups in step"
    moved = f"{record['edges']:,} edges {'taken away' if record['deleted'] else 'joined'}, {record['gone']:,} gone"
    text = (
        f"Bicliq: version {record['version']} of run {record['parent']}: {moved}; {record['appeared']:,} {what}"
        f" appeared, {record['vanished']:,} vanished; now {record['bicliques']:,}"
    )
    reasons = [f"version {record['version']} is committed", *_why(asked, found, "bicliques that appeared")]
    output = f"{record['store']}/runs/{record['version']}/changes"
    figures = {**record, "run": record["version"], "complete": True, "output": output}
    changed = {name: record[name] for name in ("parent", "edges", "gone", "appeared", "vanished")}
    return _content(asked, text, reasons, {**{name: figures[name] for name in FIGURES}, **changed}, found)


def _why(asked: NotifySettings, found: Fitting, what: str) -> list[str]:
    """The rule that was met, in words."""
    if not least_groups(asked):
        return []
    wanted = " ".join([what, *rules_in_words(asked)])
    return [f"{found.groups:,} {wanted}, and {least_groups(asked):,} are worth a notification"]


def _content(
    asked: NotifySettings, text: str, reasons: list[str], figures: dict[str, Any], found: Fitting
) -> dict[str, Any]:
    """What is sent: the text and the groups for people, and all by name for programs."""
    lists = ("left", "right", "windows")
    groups = [{**g, **{name: g[name][:MEMBERS] for name in lists if name in g}} for g in found.shown]
    none = [] if found.shown or rules_in_words(asked) else [NONE_BEYOND if found.proven else NONE_FOUND]
    lines = [text, *map(_line, found.shown), *none]
    return {"text": "\n".join(lines), "event": "finished", "reasons": reasons, **figures, "groups": groups}


def _line(group: dict[str, Any]) -> str:
    chance = f"chance gives {about(group['expected'])} of its {group['n_edges']:,} edges"
    beyond = f"surprise {group['surprise']:,.0f}" if group["surprise"] > 0 else "not beyond chance"
    why = _escaped("; ".join([f"{chance}: {beyond}", *_when(group), *group["reasons"]]))
    return f"• {group['n_left']:,} × {group['n_right']:,}: {_some(group['left'])} | {_some(group['right'])} ({why})"


def _when(group: dict[str, Any]) -> list[str]:
    """From when to when a group in step acted."""
    windows = group.get("windows", [])
    ends = [f([window[end] for window in windows]) for f, end in ((min, "start"), (max, "end"))] if windows else []
    return [f"in step from {' to '.join(ends)}"] if ends else []


def _some(members: list[Any]) -> str:
    named = _escaped(", ".join(map(str, members[:MEMBERS])))
    return named + (f", … {len(members) - MEMBERS:,} more" if len(members) > MEMBERS else "")


def _escaped(text: str) -> str:
    """Text in which Slack finds no markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _post(url: str, content: dict[str, Any], run: str | None) -> None:
    """Send an object; the URL of a webhook is a secret, and only its host is logged."""
    import http.client
    import urllib.request  # longer to load than a small search takes

    host = urlsplit(url).hostname
    request = _request(url, json.dumps(content, default=str).encode())
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS):
                tell("notification sent", run=run, host=host, notified=content["event"])
                return
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = type(error).__name__ if _shows(str(error), url) else f"{type(error).__name__}: {error}"
        if attempt + 1 < TRIES:
            time.sleep(SECONDS_APART)
    warn("notification failed", run=run, host=host, notified=content["event"], reason=reason)


def _request(url: str, body: bytes) -> urllib.request.Request:
    """Send a body to a URL; a user and a password in it are sent as HTTP asks for them."""
    import urllib.request

    parts = urlsplit(url)
    users, _, place = parts.netloc.rpartition("@")
    bare = urlunsplit(parts._replace(netloc=place))
    request = urllib.request.Request(bare, body, {"Content-Type": "application/json"}, method="POST")
    if users:
        user, _, password = users.partition(":")
        known = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode("ascii")
        request.add_unredirected_header("Authorization", f"Basic {known}")  # to nobody else
    return request


def _shows(text: str, url: str) -> bool:
    """Whether a text has a part of the URL that is a secret: all but the host."""
    parts = urlsplit(url)
    secrets = (parts.path.strip("/"), parts.query, *parts.netloc.rpartition("@")[0].split(":"))
    return any(secret and secret in text for secret in secrets)
