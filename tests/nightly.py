"""What is tried in full by night (``make nightly``), and by a part of it in the short run.

``BICLIQ_NIGHTLY`` asks for all. The short run is to meet each kind of fault that the long one
meets; what it leaves out are more examples, processors and signals of the same kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")

NIGHTLY = "BICLIQ_NIGHTLY" in os.environ

by_night = pytest.mark.skipif(not NIGHTLY, reason="by night: BICLIQ_NIGHTLY is not set")


def drawn(examples: int, part: int = 12) -> int:
    """Number of examples that a property test draws: a twelfth of those of the night, or less where
    each takes long."""
    return examples if NIGHTLY else max(examples // part, 1)


def part_of(cases: Iterable[T], every: int) -> list[T]:
    """The cases of a test that has many of one kind: the first of every so many, by night all."""
    return list(cases)[:: 1 if NIGHTLY else every]
