"""A folder of a store: files appear whole or not at all, and are checked when they are read.

Files on a local disk are written under a temporary name and renamed; those that cannot be made
again are flushed to the disk first. Object stores show an object only when its upload ends. So a
reader meets each file whole or not at all, and a process that is killed leaves a temporary file at
most, which nobody reads.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from fsspec.implementations.local import LocalFileSystem

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import DamageError, StorageError
from bicliq.pipeline.store.file_systems import is_empty, storage_errors
from bicliq.pipeline.store.local_disk import local_sink, read_regular, refuse_special, wait_for_lock, walk, writer_lives
from bicliq.pipeline.store.record import Record, StoredFile, record_of, text_of
from bicliq.pipeline.store.sink import HashingSink, hashing_sink

COMPRESSION_LEVEL = 1
"""zstd level: higher levels shrink lists of ids by a few per cent at several times the price."""

HELD_BYTES = 1 << 30
"""A remote file up to this size is fetched once, checked and read from memory; a larger one is read
twice."""

ONE_REQUEST = 32 << 20
"""A remote file up to this size is fetched by one request; a larger one by several side by side."""


TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{32}\.tmp")
"""Names of files that are being written on a local disk, or were when their writer was killed."""

R = TypeVar("R", bound=Record)

MEND = "`bicliq verify` names what is damaged, and with --repair mends what can be mended"


@dataclass(frozen=True)
class Folder:
    """A folder of a store.

    `fs`: the fsspec file system. `root`: path of the store in it. `place`: path of the folder in
    the store, as ``runs/3f2a``; empty for the store itself.
    """

    fs: Any
    root: str
    place: str = ""

    @property
    def path(self) -> str:
        """Path of the folder in its file system."""
        return f"{self.root}/{self.place}" if self.place else self.root

    @property
    def uri(self) -> str:
        """URL of this folder."""
        return str(self.fs.unstrip_protocol(self.path))

    @property
    def is_local(self) -> bool:
        """Whether the folder lies on a local disk."""
        return isinstance(self.fs, LocalFileSystem)

    def path_of(self, name: str) -> str:
        """Path of a file of this folder in its file system."""
        return f"{self.path}/{name}"

    # ---- what is there ---------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return self._size(name) is not None

    def size(self, name: str) -> int:
        """Size of a file in bytes."""
        size = self._size(name)
        if size is None:
            raise StorageError(f"{self.path_of(name)}: no such file; check the URL of the store, the graph and the run")
        return size

    def _size(self, name: str) -> int | None:
        with storage_errors("look for", self.path_of(name)):
            try:
                if self.is_local:
                    about = os.stat(self.path_of(name))
                    refuse_special(self.path_of(name), about)
                    return about.st_size
                # fsspec's `exists` takes every error for a no, an interrupt as well
                return int(self.fs.info(self.path_of(name))["size"] or 0)
            except FileNotFoundError:
                return None

    def files(self, under: str = "") -> dict[str, int]:
        """Size of every file below this folder, or below a folder of it, by its name in this one.

        Sorted.
        """
        path = f"{self.path}/{under}".rstrip("/")
        with storage_errors("list", path):
            # no glob: a path may hold brackets and stars
            found = walk(path) if self.is_local else self.fs.find(path, detail=True)
        start = len(self.path) + 1
        sizes = {str(name)[start:]: int(entry["size"]) for name, entry in found.items()}
        return dict(sorted(sizes.items()))

    def folders(self) -> list[str]:
        """Names of the folders in this one, sorted."""
        with storage_errors("list", self.path):
            try:
                if self.is_local:  # a link may lead out of the store
                    return sorted(entry.name for entry in os.scandir(self.path) if entry.is_dir(follow_symlinks=False))
                found = self.fs.ls(self.path, detail=True)
            except FileNotFoundError:
                return []
        names = (str(entry["name"]).rstrip("/") for entry in found if entry["type"] == "directory")
        return sorted(name.rsplit("/", 1)[-1] for name in names)

    def remove(self, *names: str) -> None:
        """Remove files, as far as they are there."""
        for name in names:
            with storage_errors("remove", self.path_of(name)), contextlib.suppress(FileNotFoundError):
                self.fs.rm_file(self.path_of(name))

    def remove_empty(self) -> None:
        """Remove the folders that files were removed of, where a file system has such."""
        if self.is_local:
            for path, _, _ in sorted(os.walk(self.path), reverse=True):
                with contextlib.suppress(OSError):  # somebody wrote a file there
                    os.rmdir(path)

    def sweep(self) -> None:
        """Remove temporary files whose writers were killed, on a local disk."""
        if self.is_local:
            left = (name for name in self.files() if TEMPORARY.fullmatch(name.rsplit("/", 1)[-1]))
            self.remove(*(name for name in left if not writer_lives(self.path_of(name))))

    # ---- writing ---------------------------------------------------------------------------------

    def attempt_of(self, name: str) -> str:
        """Name for a file that another process may write at the same time, and otherwise.

        On a local disk the name itself: a claim keeps others off. On an object store each process
        writes a file of its own, and the record that stands names one of them.
        """
        if self.is_local:
            return name
        stem, ending = os.path.splitext(name)
        return f"{stem}-{uuid.uuid4().hex[:8]}{ending}"

    @contextlib.contextmanager
    def sink(self, name: str, durable: bool = True) -> Iterator[HashingSink]:
        """Open a file for writing that appears whole when the block ends, and never when it raises.

        One that is not `durable` may be lost when the machine loses its power: it can be made
        again.
        """
        path = self.path_of(name)
        with (
            storage_errors("write", path),
            local_sink(path, durable) if self.is_local else self._remote_sink(path) as out,
        ):
            yield out

    @contextlib.contextmanager
    def _remote_sink(self, path: str) -> Iterator[HashingSink]:
        file = self.fs.open(path, "wb")
        try:
            with hashing_sink(file) as sink:
                yield sink
        except BaseException:
            with contextlib.suppress(Exception):
                file.discard()
            with contextlib.suppress(AttributeError):  # files in memory are not writable in that way
                file.closed = True  # or the garbage collector would finish the upload
            raise
        file.close()

    def write_bytes(self, name: str, data: bytes, durable: bool = True) -> None:
        """Write a small file in one step."""
        if self.is_local:
            with self.sink(name, durable) as out:
                out.write(data)
        else:
            with storage_errors("write", self.path_of(name)):
                self.fs.pipe_file(self.path_of(name), data)

    def write_table(
        self,
        name: str,
        table: pa.Table | pa.RecordBatchReader,
        durable: bool = True,
        differences: Collection[str] = (),
    ) -> StoredFile:
        """Write a table as Parquet in one step.

        `name`, `table`: name of the file, and what it holds; of what is read batch by batch, each
        batch becomes a row group. `durable`: as of `sink`. `differences`: columns of integers that
        ascend, or nearly do: each is stored as what it is larger than the one before, in as many
        bits as that takes.
        """
        columns = table.schema.names
        others = [column for column in columns if column not in differences]
        with (
            self.sink(name, durable) as out,
            pq.ParquetWriter(
                out,
                table.schema,
                compression={column: "zstd" if column in others else "none" for column in columns},
                compression_level=dict.fromkeys(others, COMPRESSION_LEVEL),
                use_dictionary=others,
                column_encoding=dict.fromkeys(differences, "DELTA_BINARY_PACKED") or None,
            ) as writer,
        ):
            for part in [table] if isinstance(table, pa.Table) else table:
                writer.write(part)
        return out.file(name)

    def write_arrays(self, name: str, arrays: Mapping[str, Any], about: Mapping[str, str] | None = None) -> StoredFile:
        """Write arrays of numbers as they lie in memory, which can be made again: they may be lost.

        `name`, `arrays`: name of the file, and the arrays by name, each of one dimension. `about`:
        words that go with them.
        """
        columns = {
            column: pa.LargeListArray.from_arrays(column_of(np.array([0, len(values)])), column_of(values))
            for column, values in arrays.items()
        }
        table = pa.table(columns).replace_schema_metadata(about)
        with self.sink(name, durable=False) as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        return out.file(name)

    # ---- records ---------------------------------------------------------------------------------

    def write(self, name: str, record: Record, durable: bool = True) -> None:
        """Write a record, which makes the files that it names visible."""
        self.write_bytes(name, text_of(self._in_store(name), record), durable)

    def create(self, name: str, record: Record) -> bool:
        """Write a record where there is none; False where there is one.

        S3 does that in one step (If-None-Match); a store that cannot is looked at first, as is a
        local disk, where a claim must be held.
        """
        data = text_of(self._in_store(name), record)
        if self.is_local:
            if self.has(name):
                return False
            self.write_bytes(name, data)
            return True
        try:
            self.fs.pipe_file(self.path_of(name), data, mode="create")
        except FileExistsError:
            return False
        except (OSError, TypeError, ValueError):
            if self.has(name):
                return False
            self.write_bytes(name, data)
        return True

    def commit(self, name: str, record: R, attempts: str | None = None, replaces: Record | None = None) -> R:
        """Write a record for good, and return the one that stands.

        On a local disk, where a claim must be held, this one; on an object store the first, but for
        one that it `replaces`. No other can be committed any more: what other attempts left in the
        folder `attempts` is removed.
        """
        stands, left = record, set() if replaces is None else {*replaces.named}
        if self.is_local:
            self.write(name, record)
        else:
            if replaces is not None:
                self.remove(name)
            if not self.create(name, record):
                stands, left = self.read(type(record), name), left | {*record.named}
        if attempts is not None:
            left |= {file for file in self.files(attempts) if record.may_name(name, file)}
        self.remove(*(left - {*stands.named}))
        return stands

    def read(self, kind: type[R], name: str | None = None) -> R:
        """Read a record; by default the one that has its kind's own name.

        Raises DamageError where a byte of it changed, it belongs elsewhere, or is not there.
        """
        name = name or kind.at
        return self._record(kind, name, self.read_bytes(name))

    def find(self, kind: type[R], name: str | None = None) -> R | None:
        """Read a record as `read`; None where there is none."""
        name = name or kind.at
        data = self.read_bytes(name)
        return None if data is None else self._record(kind, name, data)

    def read_bytes(self, name: str, most: int | None = None) -> bytes | None:
        """Read a small file, or its first bytes, in one request; None where there is none."""
        path = self.path_of(name)
        with storage_errors("read", path):
            try:
                if self.is_local:
                    return read_regular(path, most)
                # without a start, s3fs asks for the size first
                return bytes(self.fs.cat_file(path, start=0, end=most))
            except FileNotFoundError:
                return None
            except OSError as error:
                if not is_empty(error):
                    raise
                return b""

    def read_each(self, kind: type[R], names: Iterable[str]) -> dict[str, R | DamageError]:
        """Read many records side by side; one that is damaged is given as its error.

        Of any kind where `kind` is `Record`.
        """
        wanted = list(names)
        if self.is_local:
            return {name: self._record_or_damage(kind, name, self.read_bytes) for name in wanted}
        paths = [self.path_of(name) for name in wanted]
        with storage_errors("read", self.path):
            # `cat` would take a bracket in a path for a pattern
            found = self.fs.cat_ranges(paths, [0] * len(paths), [None] * len(paths), on_error="return")
        fetched = dict(zip(wanted, found, strict=True))
        return {name: self._record_or_damage(kind, name, partial(self._fetched, fetched)) for name in wanted}

    def _fetched(self, fetched: Mapping[str, Any], name: str) -> bytes | None:
        """What an object store gave for a record: bytes, or an error."""
        data = fetched[name]
        if isinstance(data, FileNotFoundError):
            return None
        if isinstance(data, OSError) and is_empty(data):
            return b""
        with storage_errors("read", self.path_of(name)):
            if isinstance(data, BaseException):
                raise data
        return bytes(data)

    def _record_or_damage(self, kind: type[R], name: str, read: Callable[[str], bytes | None]) -> R | DamageError:
        try:
            return self._record(kind, name, read(name))
        except DamageError as error:
            return error

    def _record(self, kind: type[R], name: str, data: bytes | None) -> R:
        """Return the record that was read; None is one that is not there."""
        if data is None:
            raise DamageError(f"{self.path_of(name)}: this record is missing; {MEND}")
        try:
            record = record_of(self._in_store(name), data)
        except ValueError as error:
            raise DamageError(f"{self.path_of(name)}: {error}; {MEND}") from None
        if not isinstance(record, kind):
            raise DamageError(f"{self.path_of(name)}: it is damaged: it is a record of {record.kind}; {MEND}")
        return record

    def _in_store(self, name: str) -> str:
        return f"{self.place}/{name}".lstrip("/")

    # ---- reading ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def source(self, file: StoredFile, check: bool = True) -> Iterator[Any]:
        """Open a file for reading by pyarrow.

        `file`: as its record names it. `check`: whether to compare its checksum, and not its size
        alone. Raises DamageError where it is not what its record says, or is not there.

        A local file is mapped and hashed at memory speed (docs/decisions.md).
        """
        with self.open_source(file, check) as source:
            yield source

    def open_source(self, file: StoredFile, check: bool = True) -> Any:
        """Open a file as `source` does; its caller closes it."""
        with storage_errors("read", self.path_of(file.name)), self._there(file):
            return self._opened(file, check)

    def _opened(self, file: StoredFile, check: bool) -> Any:
        path = self.path_of(file.name)
        if not self.is_local and file.bytes <= ONE_REQUEST:
            data = self.read_bytes(file.name, file.bytes + 1)  # a byte more, if there is one
            if data is None or len(data) != file.bytes:
                raise self._misfit(file, self._size(file.name))
            if check:
                self._compare(file, xxhash.xxh3_128_hexdigest(data))
            return pa.BufferReader(data)
        self._compare_size(file)
        if self.is_local:
            source = pa.memory_map(path) if file.bytes else pa.BufferReader(b"")
            if check:
                self._compare(file, xxhash.xxh3_128_hexdigest(source.read_buffer()))
                source.seek(0)
            return source
        if file.bytes > HELD_BYTES:
            if check:
                self.check(file)
            return self.fs.open(path, "rb")
        data = self.fs.cat_file(path)
        if check:
            self._compare(file, xxhash.xxh3_128_hexdigest(data))
        return pa.BufferReader(data)

    @contextlib.contextmanager
    def open_parquet(self, file: StoredFile, check: bool = True) -> Iterator[pq.ParquetFile]:
        """Open a Parquet file for reading in parts, after it was checked as `source` does."""
        with self.source(file, check) as source, storage_errors("read", self.path_of(file.name)):
            yield pq.ParquetFile(source)

    def read_table(self, file: StoredFile, columns: list[str] | None = None, check: bool = True) -> pa.Table:
        """Read a Parquet file, or some of its columns, after it was checked as `source` does."""
        with self.open_parquet(file, check) as parquet:
            return parquet.read(columns=columns)

    def read_arrays(self, file: StoredFile) -> tuple[dict[str, Any], dict[str, str]]:
        """Read arrays that `write_arrays` wrote, and the words, after a check as by `source`."""
        with self.source(file) as source:
            table = pa.ipc.open_file(source).read_all()
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        return {name: values_of(table[name].chunk(0).values) for name in table.column_names}, about

    def check(self, file: StoredFile) -> None:
        """Compare a file's size and checksum with its record; raises DamageError."""
        self._compare_size(file)
        state, path = xxhash.xxh3_128(), self.path_of(file.name)
        with storage_errors("read", path), self._there(file), self.fs.open(path, "rb") as source:
            while block := source.read(1 << 22):
                state.update(block)
        self._compare(file, state.hexdigest())

    @contextlib.contextmanager
    def _there(self, file: StoredFile) -> Iterator[None]:
        """Take a file that is removed while it is read for one that is missing."""
        try:
            yield
        except FileNotFoundError:
            raise self._misfit(file, None) from None

    def _compare(self, file: StoredFile, checksum: str) -> None:
        if checksum != file.checksum:
            raise self._misfit(file, f"its checksum is {checksum}")

    def _compare_size(self, file: StoredFile) -> None:
        if (size := self._size(file.name)) != file.bytes:
            raise self._misfit(file, size)

    def _misfit(self, file: StoredFile, found: str | int | None) -> DamageError:
        """Say what was found instead of a file: in words, or its size, if it has one."""
        if not isinstance(found, str):
            found = "it is missing" if found is None else f"it has {found} bytes"
        said = f"its record says {file.bytes} bytes, checksum {file.checksum}"
        return DamageError(f"{self.path_of(file.name)}: {found}, {said}; {MEND}")

    # ---- one at a time ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Hold something of this folder for this process.

        Another that wants it waits here, until we are done or dead, and says so before long. Object
        stores know no locks: there all go on at once, and `create` says who came first.
        """
        if not self.is_local:
            yield
            return
        with self.lock_file(name) as file:
            wait_for_lock(file, self.path_of(claim_name(name)))
            yield

    def lock_file(self, name: str) -> Any:
        """Open the empty file, on a local disk, that is locked by who holds a claim."""
        path = self.path_of(claim_name(name))
        with storage_errors("lock", path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "r+")


def claim_name(name: str) -> str:
    """Name of the empty file that is locked by who holds a claim."""
    return f"claims/{name}.lock"


def is_at_work(folder: Folder) -> bool:
    """Whether a process holds something of a run or a graph; object stores cannot tell."""
    locks = folder.files("claims") if folder.is_local else {}
    return any(writer_lives(folder.path_of(name)) for name in locks)
