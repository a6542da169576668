"""Errors of the kernels: every one says what, where, the value and what to do."""

from __future__ import annotations


class BicliqError(Exception):
    """The root of all errors that Bicliq raises on purpose; its text is one clear message."""


class BackendError(BicliqError):
    """Raised when the asked backend cannot run here, or was lost while it ran."""


class CapacityError(BicliqError):
    """Raised when a request is larger than what the kernels can hold, before anything is computed wrongly."""
