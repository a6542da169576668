"""Errors of the kernels: every one says what, where, the value and what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar


class BicliqError(Exception):
    """The root of all errors that Bicliq raises on purpose; its text is one clear message."""


class BackendError(BicliqError):
    """Raised when the asked backend cannot run here, or was lost while it ran."""


class CapacityError(BicliqError):
    """Raised when a request is beyond what the kernels hold, before a result could be wrong."""


class TooManyError(BicliqError):
    """Raised when a search meets more than its caller wants to pay for; what was found is gone."""


Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def memory_is_capacity(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Let a function raise `CapacityError` where memory runs out, in NumPy or in the extension.

    Examples
    --------
    >>> @memory_is_capacity
    ... def count():
    ...     raise MemoryError
    >>> count()
    Traceback (most recent call last):
    ...
    bicliq.kernels.errors.CapacityError: memory ran out: fewer threads need less, and so do parts of the graph
    """

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            detail = f" ({error})" if str(error) not in ("", "std::bad_alloc") else ""
            raise CapacityError(
                f"memory ran out{detail}: fewer threads need less, and so do parts of the graph"
            ) from error

    return call
