"""The numbered log: which run is the latest, by entries that are each made only where none is.

Whoever publishes a run, joins edges, rolls back or prunes takes the next number when its files are
there (`publications/number-00000012.json` names the run). Of two at once one gets the number; the
other looks again, and is refused where what it stands on is no longer the latest, or goes. So no
version can leave another's edges out without a word, on a disk or on an object store that creates
an object only if it is absent.
"""

from __future__ import annotations

from collections.abc import Iterable

from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.store.layout import STORE_FILE, RunFolder, Store
from bicliq.pipeline.store.publications import last_number, number_name, numbered_latest
from bicliq.pipeline.store.records import Numbered, Pruned, RunRecord, StoredGraph
from bicliq.pipeline.store.states import latest_published


class Overtaken(InputError):
    """Raised where another version became the latest since the one that was to be changed."""


def make_next(folder: RunFolder, follows: str | None = None, stands_on: Iterable[str] = ()) -> None:
    """Make a run, which is published, the latest: give it the next number.

    Parameters
    ----------
    folder
        The run.
    follows
        The run that must be the latest until then; None: whichever is.
    stands_on
        Folders of the store that must stay, as ``runs/3f2a``.

    Raises
    ------
    Overtaken
        Where another one is the latest, or one of the folders is gone or about to go.
    """
    store, needed = folder.store, tuple(stands_on)
    while numbered_latest(store) != folder.run:
        number, latest = last_number(store), latest_published(store)
        if follows is not None and latest not in (follows, folder.run) and not _holds(store, latest, follows):
            raise Overtaken(
                f"{store.uri}: run {latest} became the latest while a version of {follows} was made; nothing was"
                " changed: give the command again, which then goes on from there (rebase = true does so by itself)"
            )
        for place in needed:
            _refuse_pruned(store, place)
            base = store.graph(place.split("/")[1]).base() if place.startswith("graphs/") else None
            if base is not None:
                _refuse_pruned(store, base.place)
        if take_number(store, number + 1, folder.run):
            return


def take_number(store: Store, number: int, run: str | None) -> bool:
    """Give a number to a run, or to none; False where it is taken."""
    with store.root.claim("log"):
        return store.root.create(number_name(number), Numbered(run=run))


def refuse_many_writers(store: Store, *, one_writer: bool) -> None:
    """Refuse to change a store that cannot tell who came first, unless nobody else changes it.

    Raises
    ------
    InputError
        Where the object store overwrites what is to be created only where it is absent.
    """
    if one_writer or store.root.is_local:
        return
    data = store.root.read_bytes(STORE_FILE)
    try:
        store.fs.pipe_file(store.root.path_of(STORE_FILE), data, mode="create")
    except FileExistsError:
        return
    except (OSError, TypeError, ValueError, NotImplementedError):
        pass
    raise InputError(
        f"{store.uri}: this object store cannot create an object only if it is absent (If-None-Match), so of two"
        " updates at once one would be lost; where no two processes change it at once, say so: one_writer = true"
    )


def _refuse_pruned(store: Store, place: str) -> None:
    """Refuse a run or a graph that is gone or about to go."""
    record = RunRecord.at if place.startswith("runs/") else StoredGraph.at
    if store.root.has(f"{place}/{Pruned.at}") or not store.root.has(f"{place}/{record}"):
        raise Overtaken(f"{store.root.path_of(place)}: it was pruned meanwhile; give the command again")


def _holds(store: Store, latest: str | None, version: str) -> bool:
    """Whether a run is a version that was written whole."""
    if latest is None:
        return False
    try:
        return store.run(latest).record().compacts == version
    except DamageError:
        return False
