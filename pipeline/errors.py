"""Errors of the pipeline: each message says what, where, the value, and what to do."""

from __future__ import annotations

from kernels.errors import BackendError, BicliqError, CapacityError

__all__ = [
    "AskedBackendError",
    "BackendError",
    "BicliqError",
    "CapacityError",
    "DamageError",
    "InputError",
    "LimitReached",
    "StorageError",
    "may_heal",
    "sentence",
]


class AskedBackendError(BackendError):
    """Raised when a backend that was asked for fails: nothing else is tried in its place."""


class InputError(BicliqError):
    """Raised when an input file, a setting or an argument is wrong; nothing was published."""


class StorageError(BicliqError):
    """Raised when a store cannot be read or written, is of another version, or is damaged."""


class DamageError(StorageError):
    """Raised when a file of a store is missing or not what its record says; it is not used."""


class LimitReached(BicliqError):
    """Raised when a limit cut a search off and that is to be an error; what was found stays."""


def may_heal(error: BaseException) -> bool:
    """Whether the same work may succeed when it is tried again.

    Storage, networks and memory come back; bad input stays what it is.

    Examples
    --------
    >>> may_heal(ConnectionResetError()), may_heal(InputError("line 3: 2 fields"))
    (True, False)
    """
    return isinstance(error, StorageError | OSError | MemoryError)


def sentence(error: BaseException) -> str:
    """Return the text of an error of ours, and of any other its name, too.

    Examples
    --------
    >>> sentence(InputError("line 3: 2 fields")), sentence(KeyError("x"))
    ('line 3: 2 fields', "KeyError: 'x'")
    """
    return str(error) if isinstance(error, BicliqError) else f"{type(error).__name__}: {error}"
