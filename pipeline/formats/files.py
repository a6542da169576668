"""Files and URLs: found, opened for reading, and decompressed by the extensions of their names."""

from __future__ import annotations

import io
from typing import IO, Any

import fsspec
import pyarrow as pa

from pipeline.errors import InputError

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def file_system(source: str) -> tuple[Any, str]:
    """File system and path that a path or an fsspec URL stands for."""
    try:
        fs, path = fsspec.core.url_to_fs(source)
    except (ImportError, ValueError) as error:
        raise InputError(f"{source}: this URL cannot be opened: {error}; give a path or an fsspec URL") from error
    return fs, str(path)


def files_of(source: str) -> list[str]:
    """The files that a glob or a folder of Parquet files stands for; any other source stands for itself."""
    fs, path = file_system(source)
    try:
        kind = _kind(fs, path)
        if kind == "file":  # its name may hold a bracket
            return [source]
        if any(mark in path for mark in "*?["):
            found = fs.glob(path)
            if not found:
                raise InputError(f"{source}: no such file: nothing matches; check the pattern")
        elif kind == "directory":
            found = [name for name in fs.find(path) if name.endswith((".parquet", ".pq"))]
            if not found:
                raise InputError(
                    f"{source}: is a folder without Parquet files; name one edge table, or a glob such as {path}/*.csv"
                )
        else:
            return [source]
    except OSError as error:
        raise InputError(f"{source}: cannot be listed: {error}; check the path and its permissions") from error
    names = [name for name in sorted(found) if not name.rsplit("/", 1)[-1].startswith((".", "_"))]
    return [str(fs.unstrip_protocol(name)) if "://" in source else str(name) for name in names]


def _kind(fs: Any, path: str) -> str | None:
    """Whether a path is a file or a directory, or None; fsspec's `isfile` takes every error for a no, an interrupt as well."""
    try:
        return str(fs.info(path)["type"])
    except FileNotFoundError:
        return None


def size_of(source: str) -> int:
    """Bytes of a file (0 where a web server does not say); an `InputError` where it is missing, unreadable or empty."""
    fs, path = file_system(source)
    try:
        info = fs.info(path)
    except FileNotFoundError:
        raise InputError(f"{source}: no such file; check the path") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error}; check the path and its permissions") from error
    if info.get("size") == 0:
        raise InputError(f"{source}: the file is empty; an edge table has at least one line")
    return int(info.get("size") or 0)  # some web servers do not say


def open_bytes(source: str) -> IO[bytes]:
    """Open for reading, decompressed by the name's extension."""
    fs, path = file_system(source)
    try:
        file = fs.open(path, "rb")
        kind = next((name for suffix, name in COMPRESSIONS.items() if path.endswith(suffix)), None)
        if kind is None:
            return file  # type: ignore[no-any-return]
        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, "r"), kind))
    except PermissionError as error:
        raise InputError(f"{source}: cannot be read: {error}; check its permissions") from error


def bare_name(source: str) -> str:
    """The last part of a path or URL, without the suffixes of compressions, in lower case: `out.brunson.GZ` is `out.brunson`."""
    name = source.rstrip("/").rsplit("/", 1)[-1]
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name
