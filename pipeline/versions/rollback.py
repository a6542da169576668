"""Roll back: an earlier version is the latest again; nothing is removed."""

from __future__ import annotations

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import tell
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import last_moment, make_next
from bicliq.pipeline.store.manifest import moment_after
from bicliq.pipeline.store.states import latest_run, read_run
from bicliq.pipeline.store.taken import all_taken
from bicliq.pipeline.versions.arrivals import Arrival
from bicliq.pipeline.versions.quarantine import Quarantine, Why
from bicliq.pipeline.versions.sources import name_of_key


def rollback(store: Store, run: str, *, reject: bool = False) -> tuple[str, list[str], list[str]]:
    """Make a run the latest again, as `make_latest`, while no update is at work on a local disk.

    `reject`: whether the files that go are never taken again by a watch; otherwise one takes them
    when it is told to (`Watch` with `again`), or when they have changed. Returns the run that was
    the latest until then, and the names of the files that it took and this one did not: they are
    set aside. And which of these this one took with other content: a watch takes them when it may
    replace that, too (`Watch` with `replace`).
    """
    with store.root.claim("update"):
        before = latest_run(store)
        took, takes = (all_taken(store, store.run(name).record()) for name in (before, run))
        aside = Quarantine(store)
        why: Why = "rejected" if reject else "rolled back"
        gone = [(key, entry) for key, entry in took.items() if key not in takes and not entry.deleted]
        for key, entry in gone:
            _, size, name = key.split(" ", 2)
            arrival = Arrival(name, int(size), entry.modified)
            aside.set_aside(arrival, f"{why} with version {entry.version}", why)
        make_latest(store, run)  # last: who is killed before has set nothing aside that is not taken
    held = {name_of_key(key) for key, entry in takes.items() if not entry.deleted}
    names = [name_of_key(key) for key, _ in gone]
    return before, names, [name for name in names if name in held]


def make_latest(store: Store, run: str, follows: str | None = None) -> None:
    """Publish a run again, so that readers and updates take it by default.

    `store`, `run`: a published run, or a version of one. `follows`: the run that must be the latest
    until then; None: whichever is. Raises InputError where it is not published whole. Raises
    StorageError where something that it stands on is missing.

    Later versions stay as they are, and can be made the latest in the same way.
    """
    folder = store.run(run)
    opened = read_run(folder)
    if opened.state.name != "published":
        raise InputError(f"{folder.uri}: it is {opened.state}; only what is published can be the latest run")
    make_next(folder, moment_after(last_moment(store)), follows, opened.asked)
    tell("version is the latest again", run=run)
