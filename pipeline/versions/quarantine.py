"""Quarantine: files that a watch could not take, set aside until they change.

A record of the store says which, and why. The file itself stays where it is, untouched.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import xxhash

from bicliq.pipeline.events import warn
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.versions.arrivals import Arrival


class Quarantine:
    """The files of a store that were set aside.

    Parameters
    ----------
    store
        The store whose watch could not take them.

    Examples
    --------
    >>> aside, file = Quarantine(Store.open("memory://aside")), Arrival("memory://in/a.csv", 7, "1")
    >>> aside.set_aside(file, "line 2: a value is missing")["reason"]
    'line 2: a value is missing'
    >>> aside.holds(file), aside.holds(Arrival("memory://in/a.csv", 9, "2"))
    (True, False)
    """

    def __init__(self, store: Store) -> None:
        self._folder = Folder(store.root.fs, store.root.root, "quarantine")

    def holds(self, file: Arrival) -> bool:
        """Whether a file was set aside and has the size and the time of change that it had then."""
        known = self._folder.read_record_if_there(_name(file))
        return known is not None and (known["bytes"], known["modified"]) == (file.bytes, file.modified)

    def set_aside(self, file: Arrival, reason: str) -> dict[str, Any]:
        """Write down that a file is not taken, and why."""
        at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        said = {"file": without_secrets(file.uri), "reason": reason, "at": at}
        self._folder.write_record(_name(file), {**said, "bytes": file.bytes, "modified": file.modified})
        warn("file is set aside", file=said["file"], reason=reason)
        return said


def _name(file: Arrival) -> str:
    name = without_secrets(file.uri).encode("utf-8", "surrogateescape")
    return f"{xxhash.xxh3_64_hexdigest(name)}.json"
