"""Files and URLs: found, opened for reading, and decompressed by the extensions of their names."""

from __future__ import annotations

import bz2
import contextlib
import errno
import io
import lzma
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import unquote

import pyarrow as pa
from fsspec.spec import AbstractBufferedFile

from bicliq.pipeline.bounds import EXHAUSTED, is_exhausted
from bicliq.pipeline.errors import (
    UNANSWERED,
    BicliqError,
    CapacityError,
    InputError,
    StorageError,
    is_remote,
    is_timeout,
    may_heal,
)
from bicliq.pipeline.extras import file_system, is_local, refuse_bytes
from bicliq.pipeline.formats.kinds import TABLES
from bicliq.pipeline.words import brief, shown

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
"""What a file is compressed with, by the extension of its name."""

MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "bzip2": b"BZh", "xz": b"\xfd7zXZ"}
"""What a compressed file begins with."""

WITHIN = "::"
"""What stands between a file of several tables and the name of one."""

CONTAINERS = (".xlsx", ".duckdb")
"""Extensions of such files."""


NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder's key where there is none."""


@dataclass(frozen=True)
class Files:
    """Files that are one table, in this order.

    `name`: what they are called in messages and records. `uris`: their paths or URLs.

    Examples
    --------
    >>> files_of(Files("new in s3://lake/day", ("s3://lake/day/2.csv", "s3://lake/day/3.csv")))
    ['s3://lake/day/2.csv', 's3://lake/day/3.csv']
    """

    name: str
    uris: tuple[str, ...]


AWAY = (
    *("EBUSY", "EIO", "EREMOTEIO", "ESTALE", "ENOTCONN", "EHOSTDOWN", "EHOSTUNREACH"),
    *("ENETDOWN", "ENETUNREACH", "ENETRESET"),
)
"""What a file system says of a disk or an object store that is away for a moment."""


@contextlib.contextmanager
def input_errors(source: str) -> Iterator[None]:
    """Make whatever goes wrong while a file is found or read an error that names it.

    An `InputError`; a `StorageError` where its disk or network is away, and may come back.
    """
    try:
        yield
    except FileNotFoundError as error:
        cause = error.__cause__
        if cause is not None and is_remote(cause) and getattr(cause, "status", None) != 404:
            raise _unreachable(source, cause) from cause
        raise InputError(f"{source}: no such file; check the path") from error
    except IsADirectoryError as error:
        raise InputError(f"{source}: is a folder; name a file, or a glob such as {source}/*.csv") from error
    except PermissionError as error:
        raise InputError(f"{source}: cannot be read: {brief(error)}; check its permissions") from error
    except (ConnectionError, TimeoutError) as error:
        raise _unreachable(source, error) from error
    except MemoryError:  # Arrow's is an ArrowException as well, and says nothing about the file
        raise
    except (OSError, EOFError, pa.ArrowException, lzma.LZMAError) as error:
        if is_exhausted(error):  # nor does this
            raise CapacityError(f"{source}: {EXHAUSTED}") from error
        if is_remote(error):
            raise _unreachable(source, error) from error
        if errno.errorcode.get(getattr(error, "errno", None) or 0) in AWAY:
            raise StorageError(
                f"{source}: cannot be read: {brief(error)}; see that its disk is there, and try again"
            ) from error
        if getattr(error, "errno", None) == errno.ELOOP:
            raise InputError(
                f"{source}: is a loop of symbolic links; name the file itself, or mend the link"
            ) from error
        raise InputError(
            f"{source}: cannot be read to its end: {brief(error)}; the file is damaged or cut off: fetch it again"
        ) from error
    except Exception as error:
        if isinstance(error, ValueError) and "range requests" in str(error):  # fsspec's own words
            raise InputError(
                f"{source}: its server gives whole files alone (no range requests), and this one is read in parts; fetch"
                " it first, as with curl -O, and name the copy"
            ) from error
        if not is_remote(error):
            raise
        raise _unreachable(source, error) from error


def _unreachable(source: str, error: BaseException) -> BicliqError:
    advice = UNANSWERED if is_timeout(error) else "check the URL, the endpoint and the credentials"
    kind = StorageError if may_heal(error) else InputError
    return kind(f"{source}: cannot be reached: {brief(error)}; {advice}")


def file_of(source: str) -> str:
    """The file that holds a table.

    Examples
    --------
    >>> file_of("shop.duckdb::sales"), file_of("zip://sales.csv::shop.zip")
    ('shop.duckdb', 'zip://sales.csv::shop.zip')
    """
    file, within, _ = source.rpartition(WITHIN)
    return file if within and file.lower().endswith(CONTAINERS) else source


def table_within(source: str) -> str | None:
    """The table that is named behind a file of several; None: none is.

    Examples
    --------
    >>> table_within("shop.duckdb::sales"), table_within("shop.xlsx")
    ('sales', None)
    """
    file = file_of(source)
    return None if file == source else source.removeprefix(file + WITHIN)


def files_of(source: str | Files) -> list[str]:
    """The files that a glob or a folder of tables stands for.

    Any other source stands for itself.
    """
    if isinstance(source, Files):
        return list(source.uris)
    fs, path = file_system(file_of(source))
    with input_errors(source):
        kind = _kind(fs, path)
        if kind == "directory":
            names = _tables_below(fs, path, source)
        elif kind is None and any(mark in path for mark in "*?["):
            names = _matches(fs, path, source)
        else:  # a file, whose name may hold a bracket
            return [source]
    for name in names:
        refuse_bytes(name)
    return [str(fs.unstrip_protocol(name)) if "://" in source else name for name in names]


def _kind(fs: Any, path: str) -> str | None:
    """Whether a path is a file or a directory, or None.

    Not by fsspec's `isfile`, which takes every error for a no, an interrupt as well.
    """
    try:
        return str(fs.info(path)["type"])
    except FileNotFoundError:
        return None


def _tables_below(fs: Any, path: str, source: str) -> list[str]:
    names = [name for name in sorted(fs.find(path)) if not _is_hidden(name) and bare_name(name).endswith(TABLES)]
    if not names:
        raise InputError(
            f"{source}: is a folder without tables ({', '.join(TABLES)}); name one edge table, or a glob such as"
            f" {path}/*.csv"
        )
    return names


def told_others(source: str) -> tuple[str, ...]:
    """Say how many files of a folder were passed over, as they are not called as tables are."""
    fs, path = file_system(file_of(source))
    with input_errors(source):
        found = sorted(fs.find(path)) if _kind(fs, path) == "directory" else []
    others = [name for name in found if not _is_hidden(name) and not bare_name(name).endswith(TABLES)]
    if not others:
        return ()
    what = "1 other file" if len(others) == 1 else f"{len(others):,} other files"
    return (
        f"{source}: {what}, as {shown(others[0].rsplit('/', 1)[-1])}, {'was' if len(others) == 1 else 'were'} passed over:"
        " tables of a folder are known by their extensions; name a glob for others",
    )


def _matches(fs: Any, path: str, source: str) -> list[str]:
    """The files that match a glob.

    Those that begin with '.' or '_' only where the glob does, too.
    """
    found = fs.glob(path, detail=True)
    names = [name for name in sorted(found) if not _is_hidden(name) or _is_hidden(path)]
    if not names:
        raise InputError(f"{source}: no such file: nothing matches; check the pattern")
    for name in names:
        if found[name]["type"] == "directory":
            raise InputError(f"{source}: {name} matches and is a folder; name its files, too, as in {path}/*")
    return names


def _is_hidden(name: str) -> bool:
    return name.rsplit("/", 1)[-1].startswith((".", "_"))


def folder_keys(uri: str) -> dict[str, str | None]:
    """Keys and values in the names of a file's folders, as Hive and Spark write them.

    Examples
    --------
    >>> folder_keys("lake/year=2024/city=New%20York/part-0.parquet")
    {'year': '2024', 'city': 'New York'}
    """
    found = re.findall(r"(?:^|/)([^/=]+)=([^/]+)(?=/)", uri)
    return {key: None if value == NO_VALUE else unquote(value) for key, value in found}


def size_of(source: str) -> int:
    """Bytes of a file (0 where a web server does not say).

    Raises InputError where it is missing, empty, unreadable, or no file.
    """
    fs, path = file_system(file_of(source))
    with input_errors(source):
        info = fs.info(path)
        if info["type"] == "directory":
            raise IsADirectoryError(path)
    _refuse_special(fs, path, source)
    if info.get("size") == 0:
        raise InputError(f"{source}: the file is empty (0 bytes); fetch it again, or leave it out")
    return int(info.get("size") or 0)  # some web servers do not say


def _refuse_special(fs: Any, path: str, source: str) -> None:
    """Refuse what is on this machine and no file.

    Opening a pipe may wait for ever, and a device may never end.
    """
    if is_local(fs) and os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise InputError(
            f"{source}: is a pipe or a device, which may never end and cannot be read twice; write what it gives to a"
            " file first"
        )


def open_bytes(source: str) -> IO[bytes]:
    """Open for reading, decompressed by the name's extension.

    Whatever the file system, lines of it are read as of a local file: fsspec's own files know no
    longest line.
    """
    fs, path = file_system(file_of(source))
    _refuse_special(fs, path, source)
    with input_errors(source):
        file = fs.open(path, "rb")
        with contextlib.suppress(AttributeError):
            file.system = fs  # one of a ZIP archive closes it when nobody holds it
        kind = next((name for suffix, name in COMPRESSIONS.items() if path.lower().endswith(suffix)), None)
        if kind is not None and is_local(fs):
            _refuse_other(source, file, kind)
        if kind == "bzip2":
            return bz2.BZ2File(file)
        if kind == "xz":
            return lzma.LZMAFile(file)
        if kind is not None:
            return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, "r"), kind))
        return io.BufferedReader(file) if isinstance(file, AbstractBufferedFile) else file


def _refuse_other(source: str, file: IO[bytes], kind: str) -> None:
    """Raise an `InputError` where a file is text, or compressed otherwise than its name says."""
    begins = file.read(6)
    file.seek(0)
    other = next((name for name, magic in MAGIC.items() if begins.startswith(magic)), None)
    if other != kind and (other or "".join(begins.decode("latin-1").split()).isprintable()):
        raise InputError(
            f"{source}: is {f'compressed with {other}' if other else 'text'}, and not compressed with {kind}, as its name"
            " says: rename it"
        )


def read_lines(path: str) -> list[str]:
    """The lines of a small file of UTF-8 text, without blank ones at its end.

    Raises InputError where it cannot be read, is no text, or holds nothing.
    """
    with input_errors(path), open_bytes(path) as file:
        try:
            lines = file.read().decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is no UTF-8 text ({error.reason}); convert it to UTF-8") from None
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise InputError(f"{path} names nothing; write one label a line")
    return lines


def bare_name(source: str) -> str:
    """The last part of a path or URL in lower case, without the suffixes of compressions.

    Examples
    --------
    >>> bare_name("s3://lake/out.Brunson.GZ")
    'out.brunson'
    """
    name = file_of(source).rstrip("/").rsplit("/", 1)[-1].lower()
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name
