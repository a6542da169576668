"""Quarantine: files that a watch does not take, set aside until they change.

Some it could not take, others were rolled back with the version that took them, or rejected for
good. A record of the store says which, and why. The file itself stays where it is, untouched.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import xxhash

from bicliq.pipeline.events import warn
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import SetAside
from bicliq.pipeline.versions.arrivals import Arrival

Why = Literal["could not be taken", "rolled back", "rejected"]
"""Why a file is set aside. One that is rejected stays so whatever becomes of it."""


class Quarantine:
    """The files of a store that were set aside.

    `store`: the store whose watch does not take them.

    Examples
    --------
    >>> aside, file = Quarantine(Store.open("memory://aside")), Arrival("memory://in/a.csv", 7, "1")
    >>> aside.set_aside(file, "line 2: a value is missing")["reason"]
    'line 2: a value is missing'
    >>> aside.why(file), aside.why(Arrival("memory://in/a.csv", 9, "2"))
    ('could not be taken', None)
    """

    def __init__(self, store: Store) -> None:
        self._folder = Folder(store.root.fs, store.root.root, "quarantine")

    def why(self, file: Arrival) -> Why | None:
        """Why a file is set aside that has the size and the time of change that it had then."""
        known = self._folder.find(SetAside, _name(file.uri))
        if known is None:
            return None
        same = (known.bytes, known.modified) == (file.bytes, file.modified)
        return known.why if same or known.why == "rejected" else None

    def set_aside(self, file: Arrival, reason: str, why: Why = "could not be taken") -> dict[str, Any]:
        """Write down that a file is not taken, and why."""
        at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        said = {"file": without_secrets(file.uri), "reason": reason, "at": at}
        about: dict[str, Any] = {"file": said["file"], "bytes": file.bytes, "modified": file.modified}
        self._folder.write(_name(file.uri), SetAside(**about, reason=reason, why=why, since=at))
        warn("file is set aside", file=said["file"], reason=reason)
        return said


def _name(uri: str) -> str:
    name = without_secrets(uri).encode("utf-8", "surrogateescape")
    return f"{xxhash.xxh3_64_hexdigest(name)}.json"
