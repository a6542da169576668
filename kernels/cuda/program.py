"""The programs of the GPU, and what C++ and Python both take for granted of them.

A program is a source of `kernels/src`, compiled for the device at hand. The drivers write and read
the structs of the kernels as words. Each is described once in Python, and `Program` appends the
description to the C++ source as static assertions. So a struct that has got another field, order,
type or size on one side only does not compile: neither on a card, nor in the tests, which compile
every program without one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.cuda import machine_code
from bicliq.kernels.cuda.device import current_device
from bicliq.kernels.errors import BackendError

SOURCES = Path(__file__).parents[1] / "src"
OPTIONS = ("--std=c++17", "--device-as-default-execution-space")


class Agreement(Protocol):
    """Something that both sides take for granted."""

    def conditions(self) -> list[str]:
        """Conditions in C++ that hold where both sides agree."""


@dataclass(frozen=True)
class Struct:
    """A struct of the kernels that a driver writes or reads.

    Parameters
    ----------
    name : str
        Its name in C++.
    dtype : numpy.dtype
        Its fields, by their names in C++; of an opaque one (``numpy.void``) only the size counts.

    Examples
    --------
    >>> Struct("Task", np.dtype([("root", "u4"), ("size", "u4")])).conditions()[-1]
    'BICLIQ_PLACE(Task, size) == 4 && sizeof(Task::size) == 4'
    """

    name: str
    dtype: np.dtype[Any]

    @classmethod
    def of_words(cls, name: str, *fields: str) -> Struct:
        """A struct of 64-bit fields only."""
        return cls(name, np.dtype([(field, "u8") for field in fields]))

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.dtype.itemsize

    @property
    def names(self) -> tuple[str, ...]:
        """Its fields."""
        return self.dtype.names or ()

    def word(self, field: str, word_bytes: int = 8) -> int:
        """Place of a field, where the struct is an array of words of so many bytes."""
        assert self.dtype.fields is not None
        return int(self.dtype.fields[field][1]) // word_bytes

    def packed(self, values: Mapping[str, Any], optional: tuple[str, ...] = ()) -> NDArray[np.uint64]:
        """The words of one struct.

        Parameters
        ----------
        values : mapping of str to int, array, or tuple of these
            Its fields: an array stands for where it lies, a tuple is an array of the struct.
        optional : tuple of str
            Fields that are 0 where they have no value.

        Raises
        ------
        ValueError
            If a field has no value, or a name is no field.

        Examples
        --------
        >>> Struct.of_words("Range", "begin", "end").packed({"end": 7}, optional=("begin",)).tolist()
        [0, 7]
        """
        missing = set(self.names) - set(values) - set(optional)
        if missing or not set(values) <= set(self.names):
            raise ValueError(f"{self.name} lacks {sorted(missing)} and has no {sorted(set(values) - set(self.names))}")
        record = np.zeros(1, self.dtype)
        for name, value in values.items():
            record[name] = tuple(map(_word, value)) if isinstance(value, tuple) else _word(value)
        return record.view(np.uint64)

    def unpacked(self, words: NDArray[Any]) -> dict[str, int]:
        """The fields of one struct, but for those that are arrays."""
        record = np.ascontiguousarray(words).view(self.dtype)[0]
        return {name: int(record[name]) for name in self.names if not self.dtype[name].shape}

    def conditions(self) -> list[str]:
        """Size of the struct, and place and size of every field."""
        found = [f"sizeof({self.name}) == {self.size}"]
        for field, (kind, offset, *_) in (self.dtype.fields or {}).items():
            place = f"BICLIQ_PLACE({self.name}, {field}) == {offset}"
            found.append(f"{place} && sizeof({self.name}::{field}) == {kind.itemsize}")
        return found


def _word(value: Any) -> int:
    """A number, or the address of an array of a device or of the host."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    return int(value.ctypes.data if isinstance(value, np.ndarray) else value.data.ptr)


@dataclass(frozen=True)
class SharedEnum:
    """An enum of the kernels, and the enum of that name here.

    ``Failure.ARENA_FULL`` stands for ``Failure::kArenaFull``.
    """

    values: type[IntEnum]

    def conditions(self) -> list[str]:
        """The number of every enumerator.

        Examples
        --------
        >>> SharedEnum(IntEnum("Stop", {"TOO_LATE": 3})).conditions()
        ['static_cast<int>(Stop::kTooLate) == 3']
        """
        name = self.values.__name__
        return [f"static_cast<int>({name}::k{_camel(one.name)}) == {one.value}" for one in self.values]


@dataclass(frozen=True)
class Values:
    """Constant expressions of the kernels, and what they come to."""

    pairs: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, **values: int) -> Values:
        """Constants by name."""
        return cls(tuple(values.items()))

    def conditions(self) -> list[str]:
        """That each expression has its value."""
        return [f"{expression} == {value}" for expression, value in self.pairs]


def assertions(agreements: tuple[Agreement, ...]) -> str:
    """C++ that compiles only where both sides agree."""
    conditions = [condition for agreement in agreements for condition in agreement.conditions()]
    checks = [f'static_assert({condition}, "kernels/cuda takes this for granted");' for condition in conditions]
    return "\n".join(["namespace bicliq {", *checks, "}", ""])


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


@dataclass(frozen=True)
class Program:
    """One source with its headers.

    Parameters
    ----------
    source : str
        Its path below `kernels/src`.
    agreements : tuple of Agreement
        What its driver takes for granted; the program compiles only where all of it holds.
    """

    source: str
    agreements: tuple[Agreement, ...] = ()

    def text(self) -> str:
        """The source with its headers and assertions: all that a compiler or its cache needs."""
        return _text(self)

    def compiled(self, *options: str, device: int | None = None) -> Any:
        """The CuPy module for a device (the current one), loaded once for each set of options.

        From the machine code that came with Bicliq (`kernels.cuda.machine_code`); else compiled,
        and CuPy keeps that on disk, by source and options.

        Raises
        ------
        BackendError
            If it does not compile.
        """
        return _compiled(self, options, current_device() if device is None else device)


def is_anything_loaded() -> bool:
    """Whether this process has used a program, so that a GPU has started."""
    return _compiled.cache_info().currsize > 0


@cache
def _text(program: Program) -> str:
    return _with_headers(program.source, set()) + assertions(program.agreements)


def _with_headers(name: str, seen: set[str]) -> str:
    """A source or header with the contents of every header in the place of its first include."""
    if name in seen:
        return ""
    seen.add(name)
    parts = []
    for line in (SOURCES / name).read_text(encoding="utf-8").splitlines(keepends=True):
        include = re.match(r'#include "(.*)"', line)
        if include:
            parts.append(_with_headers(include[1], seen))
        elif not line.startswith("#pragma once"):
            parts.append(line)
    return "".join(parts)


@cache
def _compiled(program: Program, options: tuple[str, ...], device: int) -> Any:
    import cupy

    text, given = program.text(), (*OPTIONS, *options)
    with cupy.cuda.Device(device) as card:
        code = machine_code.find(text, given, int(card.compute_capability))
        if code is not None:
            loaded = cupy.cuda.function.Module()
            with suppress(cupy.cuda.driver.CUDADriverError):  # of a driver too old for this code
                loaded.load(code)
                return loaded
        module = cupy.RawModule(code=text, options=given)
        try:
            module.compile()
        except cupy.cuda.compiler.CompileException as error:
            raise BackendError(f"the CUDA kernels do not compile for this GPU: {str(error)[:2000]}") from error
    return module
