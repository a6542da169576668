"""Errors of the pipeline: each message says what, where, the value, and what to do."""

from __future__ import annotations

from bicliq.kernels.errors import BackendError, BicliqError, CapacityError
from bicliq.pipeline.redact import without_secrets

__all__ = [
    "AskedBackendError",
    "BackendError",
    "BicliqError",
    "CapacityError",
    "DamageError",
    "InputError",
    "LimitReached",
    "PartitionsFailed",
    "StorageError",
    "may_heal",
    "sentence",
]


class AskedBackendError(BackendError):
    """Raised when a backend that was asked for fails: nothing else is tried in its place."""


class InputError(BicliqError):
    """Raised when an input file, a setting or an argument is wrong; nothing was published."""


class StorageError(BicliqError):
    """Raised when a store cannot be read or written, or is damaged, and where a source is away."""


class DamageError(StorageError):
    """Raised when a file of a store is missing or not what its record says; it is not used."""


class LimitReached(BicliqError):
    """Raised when a limit cut a search off and that is to be an error; what was found stays."""


class PartitionsFailed(BicliqError):
    """Raised when partitions failed, after all others were searched; what was found stays.

    Attributes
    ----------
    limited_by
        The limit that kept others from being searched, if one did.
    """

    limited_by: str | None = None


UNANSWERED = "there was no answer in time: check that it can be reached, and try again; FSSPEC_S3 sets the time (docs/operations.md)"
"""What to do where an object store does not answer."""

LASTING = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""Errors of a file system that stay what they are until somebody mends them."""

REMOTE = ("aiobotocore", "aiohttp", "azure", "botocore", "distributed", "gcsfs", "google", "s3fs")
"""Libraries whose errors are about a network, or about processes that were lost.

Not all of them are an OSError."""

ANSWERED = {*range(400, 500)} - {408, 429}
"""Answers of a web server that stay what they are; a request may come too late, or too often."""


def may_heal(error: BaseException | None) -> bool:
    """Whether the same work may succeed when it is tried again.

    A network, a full disk and a lost worker may come back. Wrong input, a reached limit, a request
    that is too large and damaged files stay what they are. Of our own errors their cause decides.

    Examples
    --------
    >>> may_heal(ConnectionResetError()), may_heal(InputError("line 3: 2 fields")), may_heal(ValueError())
    (True, False, False)
    """
    if isinstance(error, InputError | LimitReached | BackendError | CapacityError):
        return False
    if isinstance(error, BicliqError):
        return may_heal(error.__cause__)
    if isinstance(error, OSError | MemoryError):
        return not isinstance(error, LASTING)
    lasts = isinstance(error, ValueError) or getattr(error, "status", None) in ANSWERED
    return is_remote(error) and not lasts and "Credential" not in type(error).__name__


def is_remote(error: BaseException | None) -> bool:
    """Whether an error is one of a library that reaches other machines."""
    return type(error).__module__.split(".")[0] in REMOTE


def is_timeout(error: BaseException) -> bool:
    """Whether an answer did not come in time; each library has an error of its own for it.

    Examples
    --------
    >>> is_timeout(TimeoutError()), is_timeout(ConnectionResetError())
    (True, False)
    """
    return isinstance(error, TimeoutError) or "Timeout" in type(error).__name__


def sentence(error: BaseException) -> str:
    """Return the text of an error of ours, and of any other its name, too; secrets are hidden.

    Examples
    --------
    >>> sentence(InputError("line 3: 2 fields")), sentence(KeyError("x"))
    ('line 3: 2 fields', "KeyError: 'x'")
    """
    return without_secrets(str(error) if isinstance(error, BicliqError) else f"{type(error).__name__}: {error}")
