"""What is kept in a store: a run is opened, and new edges join it or leave it."""

from __future__ import annotations

import os
from typing import Unpack

from bicliq.asking import Backend, Place, Reading, read_as
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update as update_run
from bicliq.pipeline.versions.update_record import UpdateRecord


def open(store: Place, run: str | None = None) -> Bicliques:
    """Open the bicliques of a store.

    Parameters
    ----------
    store
        Its folder or URL.
    run
        Name of a run, or how it begins; by default the one that was published last.

    Returns
    -------
    Bicliques
        Of the partitions that are committed: a run can be looked at while it is searched.

    Raises
    ------
    InputError
        Where there is no such run, or several begin so.
    StorageError
        Where there is no store, or its records are damaged.

    Examples
    --------
    >>> import bicliq
    >>> _ = bicliq.enumerate([["jam", "tea"], ["tea"]], store="memory://open-example")
    >>> len(bicliq.open("memory://open-example"))
    2
    """
    if not isinstance(store, str | os.PathLike | Store):
        raise InputError(f"store is {store!r}; it must be a folder or URL")
    return Bicliques(open_run(store, run))


def update(
    store: Place,
    edges: Edges,
    *,
    delete: bool = False,
    run: str | None = None,
    backend: Backend = "auto",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> UpdateRecord:
    """Join edges to a run of a store, or take them away, as a new version of the run.

    Only what they change is searched, of groups in step all. The version is then the latest run:
    `open` gives it, and its `changes()` say which groups appeared and vanished.

    Parameters
    ----------
    store
        Its folder or URL.
    edges
        A table of any kind, as in `enumerate`. A file that was taken is not taken again.
    delete
        Whether the edges are taken away.
    run
        Name of the run, or how it begins; by default the one that was published last.
    backend, threads
        As in `enumerate`.
    **reading
        How the table is read, where that differs from how the table of the run was.

    Returns
    -------
    UpdateRecord
        ``version``, ``parent``, how many groups ``appeared`` and ``vanished``, ``bicliques``,
        ``digest``, and ``how`` and for what ``reason`` it was done.

    Raises
    ------
    InputError
        At anything wrong in the table, where the run is not complete, or no edge would be left.
    StorageError
        Where there is no store, or the run is damaged.

    Examples
    --------
    >>> import bicliq
    >>> shop = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}
    >>> groups = bicliq.enumerate(shop, min_left=2, store="memory://update-example")
    >>> done: bicliq.UpdateRecord = bicliq.update("memory://update-example", {"cid": ["jam"]})
    >>> done.appeared, done.vanished, done.bicliques
    (1, 2, 1)
    >>> bicliq.open("memory://update-example").to_arrow()["left"].to_pylist()
    [['ann', 'bob', 'cid']]
    """
    search = {"backend": backend, "threads": threads}
    settings = load_settings(store=store, ingest=read_as(reading), search=search)
    return update_run(edges, settings, run, delete=delete)
