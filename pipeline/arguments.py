"""Arguments that come from Python as they are: what is of no use is refused by its name."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from bicliq.pipeline.errors import InputError

KINDS: dict[str, tuple[Any, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool | np.bool_, "True or False"),
}
"""What an annotation means, and how it is called."""


def check_kind(name: str, value: object, kind: str) -> None:
    """Refuse what is no number or truth value; of other kinds nothing is said.

    Examples
    --------
    >>> check_kind("seed", np.int64(3), "int")
    >>> check_kind("seed", "x", "int")
    Traceback (most recent call last):
    ...
    bicliq.pipeline.errors.InputError: seed is 'x'; it must be a whole number
    """
    types, called = KINDS.get(kind, (object, ""))
    if not isinstance(value, types) or (kind in ("int", "float") and isinstance(value, bool | np.bool_)):
        raise InputError(f"{name} is {value!r}; it must be {called}")


def check_whole(name: str, value: Any, least: int, why: str) -> None:
    """Refuse what is no whole number of at least so many, and say why it must be one.

    Examples
    --------
    >>> check_whole("k", 0, 1, "it says how many are shown")
    Traceback (most recent call last):
    ...
    bicliq.pipeline.errors.InputError: k is 0; it must be a whole number of at least 1: it says how many are shown
    """
    if not isinstance(value, Integral) or isinstance(value, bool | np.bool_) or value < least:
        raise InputError(f"{name} is {value!r}; it must be a whole number of at least {least}: {why}")


def check_kinds(asked: Any) -> None:
    """Refuse fields of a dataclass that are no numbers or truth values, by their annotations."""
    for each in fields(asked):
        kind, *others = str(each.type).split(" | ")
        value = getattr(asked, each.name)
        if value is not None or others != ["None"]:
            check_kind(each.name, value, kind)
