"""Errors of the pipeline: each message says what, where, the value, and what to do."""

from __future__ import annotations

from kernels.errors import BackendError, BicliqError, CapacityError

__all__ = [
    "BackendError",
    "BicliqError",
    "CapacityError",
    "DamageError",
    "InputError",
    "LimitReached",
    "StorageError",
]


class InputError(BicliqError):
    """Raised when an input file, a setting or an argument is wrong; nothing was published."""


class StorageError(BicliqError):
    """Raised when a store cannot be read or written, is of another version, or is damaged."""


class DamageError(StorageError):
    """Raised when a file of a store is missing, or is not what its record says; nothing of it is used."""


class LimitReached(BicliqError):
    """Raised when a limit cut a search off and the settings ask for an error; what was found stays."""
