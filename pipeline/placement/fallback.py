"""What "auto" does when a GPU fails: it says so once, and goes on with the CPU.

The GPU is asked no more in this process: a lost one stays lost, and a full one is full for the next
stage, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from bicliq.pipeline.errors import AskedBackendError, BackendError
from bicliq.pipeline.events import warn

Result = TypeVar("Result")

reasons: list[str] = []
"""Why the GPU was given up in this process; the first one counts."""


def given_up() -> str | None:
    """Say why a GPU was given up in this process, or None."""
    return f"the GPU was given up before: {reasons[0]}" if reasons else None


def run(asked: str, backend: Literal["cpu", "cuda"], work: Callable[[Literal["cpu", "cuda"]], Result]) -> Result:
    """Do some work with a backend; where "auto" chose a GPU and that fails, with the CPU.

    `asked`: "auto", "cpu" or "cuda", as the user said. `backend`: what that means here: "cpu" or
    "cuda". `work`: is given the backend, and works from the start; what it had written when it
    failed is not committed. Raises AskedBackendError if the GPU that was asked for fails.
    """
    if backend == "cpu":
        return work("cpu")
    try:
        with gpu_errors():
            return work("cuda")
    except AskedBackendError:  # of a part of the work for which a GPU was asked
        raise
    except BackendError as error:
        if asked != "auto":
            raise AskedBackendError(str(error)) from error
        _give_up(str(error))
    return work("cpu")


@contextmanager
def gpu_errors() -> Iterator[None]:
    """Turn what goes wrong on a GPU into a `BackendError` that says what to do.

    Notes
    -----
    Full memory is a MemoryError of CuPy and of RMM; everything else that CUDA, CuPy, cuDF and
    cuGraph say is a RuntimeError.
    """
    try:
        yield
    except MemoryError as error:
        raise BackendError(
            f"the GPU has too little free memory ({error}); use the CPU backend, or free memory on the GPU"
        ) from error
    except RuntimeError as error:
        raise BackendError(
            f"the GPU failed ({type(error).__name__}: {error}); use the CPU backend, or start again in a new process"
        ) from error


def _give_up(reason: str) -> None:
    if not reasons:
        warn("the GPU is given up, the CPU goes on (nothing committed is lost)", reason=reason)
    reasons.append(reason)
