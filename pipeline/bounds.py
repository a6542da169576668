"""Bounds of settings and commands, and of the system, apart from what is slow to load."""

import ctypes
import sys

MOST_THREADS = 4096
"""More than any machine has cores; a system that refuses to start still more ends the process."""

FEW_THREADS = 3
"""Threads that any command has beside its own: Arrow ends the process where it cannot start one."""

EXHAUSTED = (
    "the system gives this process no more threads or memory; raise its limit (ulimit -v, ulimit -u, the memory or the"
    " pids of a container), or take fewer threads"
)

SEMAPHORE_BYTES = 64
"""Room for a semaphore of C, which takes half of it."""

SIGNS = ("can't start new thread", "failed to map segment", "launch worker thread", "Resource temporarily unavailable")


def is_exhausted(error: BaseException) -> bool:
    """Whether an error says that the system gives no more threads or memory.

    Examples
    --------
    >>> is_exhausted(RuntimeError("can't start new thread")), is_exhausted(MemoryError()), is_exhausted(OSError())
    (True, True, False)
    """
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in SIGNS)


def require_threads() -> None:
    """Start a few threads, and end them: of C, which take no memory of their own but a stack.

    Raises MemoryError where the system starts no more.
    """
    if sys.platform != "linux":
        return
    libc, ready, started = ctypes.CDLL(None), ctypes.create_string_buffer(SEMAPHORE_BYTES), list[ctypes.c_ulong]()
    libc.sem_init(ready, 0, 0)
    refused = False
    for _ in range(FEW_THREADS):
        one = ctypes.c_ulong()
        refused = refused or libc.pthread_create(ctypes.byref(one), None, libc.sem_wait, ready) != 0
        started += [] if refused else [one]
    for _ in started:
        libc.sem_post(ready)
    for one in started:
        libc.pthread_join(one, None)
    if refused:
        raise MemoryError
