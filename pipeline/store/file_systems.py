"""File systems that stores lie on, and what is said of their errors."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from typing import Any

import fsspec
import pyarrow as pa

from bicliq.pipeline import extras
from bicliq.pipeline.errors import UNANSWERED, CapacityError, StorageError, is_remote, is_timeout


def file_system(uri: str) -> tuple[Any, str]:
    """File system and path of a URL; listings are never cached, since other processes write."""
    try:
        uri.encode()
    except UnicodeEncodeError:
        raise StorageError(f"{uri!a}: the path has bytes that are no UTF-8; rename it") from None
    chained = uri.split("::")[:-1]
    if any("://" not in part and part not in fsspec.available_protocols() for part in chained):
        raise StorageError(
            f"{uri}: '::' is read as a chain of file systems, as in simplecache::s3://…; name a path without it"
        )
    return extras.file_system(uri, use_listings_cache=False)


@contextlib.contextmanager
def storage_errors(action: str, path: str) -> Iterator[None]:
    """Turn errors of a file system into StorageError, with what, where and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise StorageError(
            f"{path}: cannot {action}: it does not exist; check the URL of the store, the graph and the run"
        ) from error
    except (PermissionError, NotADirectoryError, IsADirectoryError) as error:
        raise StorageError(
            f"{path}: cannot {action}: {error}; check the permissions or choose another store"
        ) from error
    except MemoryError:  # Arrow's is an ArrowException as well, and says nothing about the storage
        raise
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN):
            raise CapacityError(
                f"{path}: cannot {action}: the system gives this process no more memory ({error}); raise its limit"
                " (ulimit -v, the memory or the pids of a container), or take fewer threads"
            ) from error
        advice = UNANSWERED if is_timeout(error) else "check the storage and its free space, then run again"
        raise StorageError(f"{path}: cannot {action}: {error}; {advice}") from error
    except Exception as error:
        if not is_remote(error):  # as botocore's NoCredentialsError, which is no OSError
            raise
        advice = UNANSWERED if is_timeout(error) else "check the endpoint and the credentials of the object store"
        raise StorageError(f"{path}: cannot {action}: {error}; {advice}") from error


def is_empty(error: OSError) -> bool:
    """Whether an object store says that an object has no first byte.

    By words: the file systems have no error of their own for it. The number 416 is no word, for a
    path may hold it.
    """
    return any(word in str(error).lower() for word in ("invalidrange", "not satisfiable"))
