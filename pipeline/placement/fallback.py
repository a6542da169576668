"""What "auto" does when the GPU fails: say why once, search on the CPU, and ask no more in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from pipeline.errors import BackendError

LOGGER = logging.getLogger("bicliq")

Result = TypeVar("Result")

_reasons: list[str] = []


def failed() -> bool:
    """Whether a GPU has failed in this process: a lost one stays lost, and a full one is full for the next search, too."""
    return bool(_reasons)


def search_on(asked: str, backend: str, search: Callable[[str], Result]) -> Result:
    """Search with a backend, or again with the CPU where "auto" had chosen a GPU and that failed.

    Parameters
    ----------
    asked
        "auto", "cpu" or "cuda", as the user said.
    backend
        What that means here: "cpu" or "cuda".
    search
        Searches with the backend that it is given, from the start; what it had written when it failed is not committed.

    Raises
    ------
    BackendError
        If the backend that was asked for fails.
    """
    try:
        return search(backend)
    except BackendError as error:
        if asked != "auto" or backend != "cuda":
            raise
        if not failed():
            LOGGER.warning("the GPU is given up, the CPU goes on (nothing committed is lost): %s", error)
        _reasons.append(str(error))
    return search("cpu")
