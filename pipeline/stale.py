"""Whether a store got a version lately: a job that no longer runs makes no error of its own."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime

from bicliq.pipeline.events import tell
from bicliq.pipeline.notify import notify_failed
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.layout import STORE_FILE, Store
from bicliq.pipeline.store.log import last_moment

LOOKS_APART = 60.0
"""Seconds between two looks into a store, at least."""


class StaleStore:
    """Tells that nothing was published in a store for too long: once, until something is.

    `settings`: those of the store; `settings.notify` says after how many hours, and whom to tell.
    `what`: the table or the folder that the versions are made of.
    """

    def __init__(self, settings: Settings, what: str) -> None:
        self._settings, self._what = settings, what
        self._began, self._next_look, self._told = datetime.now(UTC), 0.0, False

    def look(self) -> None:
        """Look, if the last look is long enough ago: an error in the log, and the webhook."""
        if self._settings.notify.stale_hours is None or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + LOOKS_APART
        reason = stale_in_words(self._settings, self._began)
        if reason is not None and not self._told:
            tell("no version came", logging.ERROR, reason=reason)
            notify_failed(self._settings, self._what, reason, "stale")
        self._told = reason is not None


def stale_in_words(settings: Settings, since: datetime | None = None) -> str | None:
    """Say that nothing was published in a store for more than `notify.stale_hours`.

    `settings`: those of the store, and the hours. `since`: for a store in which nothing was ever
    published: when somebody began to wait for it; None: it is not said of such a store. Returns a
    sentence; None where something was published in time, or no hours are set.
    """
    hours = settings.notify.stale_hours
    if hours is None:
        return None
    last = last_published(Store.at(settings.store))
    waited = since if last is None else last
    if waited is None or (old := (datetime.now(UTC) - waited).total_seconds() / 3600) <= hours:
        return None
    what = "nothing was ever published" if last is None else f"the last version is {old:,.1f} hours old"
    return f"{settings.store}: {what}, and one is expected every {hours:g} hours (stale_hours)"


def age_in_words(settings: Settings) -> str | None:
    """Say when something was last published in a store.

    Returns a sentence; None where the store is that of the defaults, and there is none. Raises
    StorageError where a store that is named is not there.
    """
    named = settings.store != Settings.model_fields["store"].default
    if not named and not Store.at(settings.store).root.has(STORE_FILE):
        return None
    last = last_published(Store.open(settings.store, create=False))
    if last is None:
        return f"{settings.store}: nothing was ever published"
    old = (datetime.now(UTC) - last).total_seconds() / 3600
    return f"{settings.store}: the last version came {last.isoformat(timespec='seconds')}, {old:,.1f} hours ago"


def last_published(store: Store) -> datetime | None:
    """Return when a run or its counts were last published in a store (UTC); None: never."""
    moment = last_moment(store)
    return None if moment is None else datetime.fromisoformat(moment).astimezone(UTC)
