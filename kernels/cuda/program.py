"""The programs of the GPU: sources of `kernels/src`, compiled for the device at hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bicliq.kernels.cuda.device import current_device
from bicliq.kernels.cuda.layout import Agreement, assertions
from bicliq.kernels.errors import BackendError

SOURCES = Path(__file__).parents[1] / "src"
OPTIONS = ("--std=c++17", "--device-as-default-execution-space")


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
        """The CuPy module for a device (the current one), compiled once for each set of options.

        CuPy keeps the machine code on disk, by source and options.

        Raises
        ------
        BackendError
            If it does not compile.
        """
        return _compiled(self, options, current_device() if device is None else device)


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

    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=program.text(), options=(*OPTIONS, *options))
        try:
            module.compile()
        except cupy.cuda.compiler.CompileException as error:
            raise BackendError(f"the CUDA kernels do not compile for this GPU: {str(error)[:2000]}") from error
    return module
