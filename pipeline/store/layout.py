"""The layout on disk or object storage: paths, atomic writes, commit records.

A store is a folder behind any fsspec URL (a local path, ``memory://``, ``s3://bucket/prefix``)::

    <store>/bicliq-store.json            the format of this layout
    <store>/graphs/<graph>/              an ingested graph; graph.json is written last
    <store>/runs/<run>/                  a run over a graph
        run.json plan.json plan.parquet reduced.parquet
        partitions/part-00012.arrow      a closed subgraph
        bicliques/partition=00012/part-0.parquet   (on an object store part-<attempt>.parquet)
        commits/partition-00012.json     written after the data: without it the data is invisible
        claims/partition-00012.lock      locked by the process that searches the partition (local disks)
        failures/partition-00012.json    why the last attempt failed
        manifest.json                    written last

Files on a local disk are written under a temporary name, flushed to the disk and renamed. Object
stores show an object only when its upload ends. So a reader meets each file whole or not at all,
and a process that is killed loses nothing that was committed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from fsspec.implementations.local import LocalFileSystem

from pipeline.errors import InputError, StorageError
from pipeline.store.sink import HashingSink, hashing_sink

FORMAT = 2
"""Version of the layout; a store of another version is refused."""

OBJECT_STORE_LIBRARIES = {"aiobotocore", "aiohttp", "azure", "botocore", "gcsfs", "google"}
"""Libraries below fsspec whose errors are no OSError, as botocore's NoCredentialsError."""

STORE_FILE = "bicliq-store.json"
COMPRESSION_LEVEL = 1
"""zstd level: higher levels shrink lists of ids by a few per cent at several times the price."""


@dataclass(frozen=True)
class Commit:
    """What a partition's commit record says about its data file.

    Parameters
    ----------
    partition
        Number of the partition.
    file
        Name of the data file in the folder of the run.
    rows, bytes
        Bicliques in the data file and its size.
    checksum
        xxh3-128 of the bytes of the data file, in hex.
    digest
        Set digest of the bicliques, 16 hex digits.
    seconds
        Duration of the search, the writing included.
    complete
        False where a limit ended the search before its end.
    sizes
        How many bicliques there are of each size, and the largest (`pipeline.store.sizes`), so that nobody reads the file for it.
    """

    partition: int
    file: str
    rows: int
    bytes: int
    checksum: str
    digest: str
    seconds: float
    complete: bool
    sizes: dict[str, Any]


@dataclass(frozen=True)
class Folder:
    """A folder of a store: tables, JSON records and Arrow files by name.

    Parameters
    ----------
    fs
        The fsspec file system.
    path
        Path in that file system.
    """

    fs: Any
    path: str

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

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        with _storage("look for", self.path_of(name)):
            try:
                self.fs.info(self.path_of(name))  # fsspec's `exists` takes every error for a no, an interrupt as well
            except FileNotFoundError:
                return False
        return True

    def size(self, name: str) -> int:
        """Size of a file in bytes."""
        with _storage("read", self.path_of(name)):
            return int(self.fs.size(self.path_of(name)))

    def names(self, pattern: str) -> list[str]:
        """Names, relative to this folder, that match a glob pattern; sorted."""
        with _storage("list", self.path):
            found = self.fs.glob(self.path_of(pattern))
        return sorted(str(path)[len(self.path) + 1 :] for path in found)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with _storage("remove", self.path_of(name)), contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(self.path_of(name))

    @contextlib.contextmanager
    def sink(self, name: str) -> Iterator[HashingSink]:
        """Open a file for writing that appears whole when the block ends, and never when it raises."""
        path = self.path_of(name)
        with (
            _storage("write", path),
            self._local_sink(path) if self.is_local else self._remote_sink(path) as out,
        ):
            yield out

    @contextlib.contextmanager
    def _local_sink(self, path: str) -> Iterator[HashingSink]:
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        temporary = f"{folder}/.{os.path.basename(path)}.{uuid.uuid4().hex}.tmp"
        try:
            with open(temporary, "wb") as file, hashing_sink(file, on_disk=True) as sink:
                yield sink
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        _sync_folder(folder)

    @contextlib.contextmanager
    def _remote_sink(self, path: str) -> Iterator[HashingSink]:
        file = self.fs.open(path, "wb")
        try:
            with hashing_sink(file) as sink:
                yield sink
        except BaseException:
            with contextlib.suppress(Exception):
                file.discard()
            file.closed = True  # or the garbage collector would finish the upload
            raise
        file.close()

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write a small file in one step."""
        if self.is_local:
            with self.sink(name) as out:
                out.write(data)
        else:
            with _storage("write", self.path_of(name)):
                self.fs.pipe_file(self.path_of(name), data)

    def write_json(self, name: str, record: Any) -> None:
        """Write a JSON record in one step."""
        self.write_bytes(name, _json(record))

    def _create_json(self, name: str, record: Any) -> bool:
        """Write a JSON record to an object store where there is none; False where there is one.

        S3 does that in one step (If-None-Match); a store that cannot is looked at first.
        """
        try:
            self.fs.pipe_file(self.path_of(name), _json(record), mode="create")
        except FileExistsError:
            return False
        except (OSError, TypeError, ValueError):
            if self.has(name):
                return False
            self.write_json(name, record)
        return True

    def read_json(self, name: str) -> Any:
        """Read a JSON record."""
        with _storage("read", self.path_of(name)):
            return json.loads(self.fs.cat_file(self.path_of(name)))

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a table as Parquet in one step."""
        with self.sink(name) as out:
            pq.write_table(table, out, compression="zstd", compression_level=COMPRESSION_LEVEL)

    def read_table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """Read a Parquet file, or some of its columns."""
        with self.open_parquet(name) as file, _storage("read", self.path_of(name)):
            return file.read(columns=columns)

    @contextlib.contextmanager
    def open_parquet(self, name: str) -> Iterator[pq.ParquetFile]:
        """Open a Parquet file for reading in parts."""
        with self.source(name) as source:
            with _storage("read", self.path_of(name)):
                file = pq.ParquetFile(source)
            yield file

    @contextlib.contextmanager
    def source(self, name: str) -> Iterator[Any]:
        """Open a file for reading by pyarrow."""
        path = self.path_of(name)
        with _storage("read", path):
            source = pa.memory_map(path) if self.is_local else self.fs.open(path, "rb")
        with source:
            yield source

    def checksum(self, name: str) -> str:
        """Return xxh3-128 of the bytes of a file, in hex."""
        state = xxhash.xxh3_128()
        with _storage("read", self.path_of(name)), self.fs.open(self.path_of(name), "rb") as file:
            while block := file.read(1 << 22):
                state.update(block)
        return str(state.hexdigest())


class GraphFolder(Folder):
    """The folder of a graph: edges, id dictionaries, profile, and ``graph.json``, written last."""

    def exists(self) -> bool:
        """Whether the graph is there, whole."""
        return self.has("graph.json")


class RunFolder(Folder):
    """The folder of a run: plan, partitions, bicliques, commit records, and the manifest, written last."""

    def exists(self) -> bool:
        """Whether the run was started."""
        return self.has("run.json")

    def manifest(self) -> dict[str, Any] | None:
        """Manifest of the run, or None while it is not published."""
        return dict(self.read_json("manifest.json")) if self.has("manifest.json") else None

    @contextlib.contextmanager
    def claim(self, number: int) -> Iterator[None]:
        """Hold a partition for this process: another that wants it waits here, and goes on when we are done or dead.

        So two runs at once on one machine (a schedule that overlaps itself) search every partition once. Object stores know no
        locks: there both search, each writes a data file of its own, and the first commit record stands.
        """
        if not self.is_local:
            yield
            return
        path = self.path_of(claim_name(number))
        with _storage("lock", path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = open(path, "w")  # noqa: SIM115
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def attempt_name(self, number: int) -> str:
        """Name for the data file of an attempt at a partition; on an object store another attempt, which no lock keeps off, has another one."""
        return data_name(number) if self.is_local else data_name(number, uuid.uuid4().hex[:8])

    def commit_partition(self, commit: Commit) -> Commit:
        """Make a partition's data file visible: from now on it is never searched again.

        Returns
        -------
        Commit
            The commit that stands. On an object store that may be another process's, which came first; then this data file is removed.
        """
        name = commit_name(commit.partition)
        if self.is_local:
            self.write_json(name, asdict(commit))
        elif not self._create_json(name, asdict(commit)):
            stands = self.read_commit(commit.partition) or commit
            if stands.file != commit.file:  # the same where an upload was repeated of which only the answer was lost
                self.remove(commit.file)
            return stands
        self.remove(failure_name(commit.partition))
        return commit

    def uncommit_partition(self, number: int) -> None:
        """Make a partition's data file invisible again, so that it can be replaced."""
        self.remove(commit_name(number))

    def read_commit(self, number: int) -> Commit | None:
        """Commit record of one partition, or None."""
        name = commit_name(number)
        return _commit(self.read_json(name)) if self.has(name) else None

    def committed(self) -> dict[int, Commit]:
        """Commit records of all committed partitions by number, ascending."""
        records = self._records("commits/partition-*.json")
        return {int(record["partition"]): _commit(record) for record in records}

    def record_failure(self, number: int, error: str) -> None:
        """Record why the last attempt at a partition failed."""
        self.write_json(failure_name(number), {"partition": number, "error": error})

    def failures(self) -> dict[int, str]:
        """Partitions whose last attempt failed, with the reason."""
        return {int(r["partition"]): str(r["error"]) for r in self._records("failures/partition-*.json")}

    def _records(self, pattern: str) -> list[dict[str, Any]]:
        paths = [self.path_of(name) for name in self.names(pattern)]
        if not paths:
            return []
        with _storage("read", self.path):
            found = self.fs.cat(paths)
        records = found.values() if isinstance(found, dict) else [found]
        return sorted((json.loads(r) for r in records), key=lambda r: int(r["partition"]))


@dataclass(frozen=True)
class Store:
    """Graphs and runs behind one fsspec URL.

    Parameters
    ----------
    fs
        The fsspec file system.
    path
        Root of the store in it.

    Examples
    --------
    >>> store = Store.open("memory://example-store")
    >>> store.runs()
    []
    """

    fs: Any
    path: str

    @property
    def uri(self) -> str:
        """URL of the store, which another process can open."""
        return str(self.fs.unstrip_protocol(self.path))

    @classmethod
    def open(cls, uri: str, create: bool = True) -> Store:
        """Open a store, and create it where it does not exist.

        Parameters
        ----------
        uri
            A local path or any fsspec URL.
        create
            Whether to create the store; otherwise it must exist.

        Raises
        ------
        StorageError
            Where the URL cannot be read or written, or holds a store of another format.
        """
        fs, path = file_system(uri)
        root = Folder(fs, path.rstrip("/"))
        if not root.has(STORE_FILE):
            if not create:
                raise StorageError(f"{uri}: no store is here ({STORE_FILE} is missing); name the store of a run")
            root.write_json(STORE_FILE, {"format": FORMAT})
        found = root.read_json(STORE_FILE).get("format")
        if found != FORMAT:
            raise StorageError(
                f"{uri}/{STORE_FILE}: the store has format {found}, this version of bicliq writes format"
                f" {FORMAT}; choose another store, or the version of bicliq that wrote this one"
            )
        return cls(fs, root.path)

    def graph(self, graph: str) -> GraphFolder:
        """Return the folder of a graph, which need not exist yet."""
        return GraphFolder(self.fs, f"{self.path}/graphs/{graph}")

    def run(self, run: str) -> RunFolder:
        """Return the folder of a run, which need not exist yet."""
        return RunFolder(self.fs, f"{self.path}/runs/{run}")

    def find_graph(self, start: str) -> str:
        """Return the one graph whose name begins so.

        Raises
        ------
        InputError
            Where none or several do.
        """
        found = [name for name in self.graphs() if name.startswith(start)]
        if len(found) != 1:
            listed = ", ".join(found or self.graphs()) or "none"
            raise InputError(f"{self.uri}: {len(found)} graphs begin with {start!r}; name one of: {listed}")
        return found[0]

    def graphs(self) -> list[str]:
        """Return the graphs of the store, sorted."""
        names = Folder(self.fs, self.path).names("graphs/*/graph.json")
        return [name.split("/")[-2] for name in names]

    def runs(self) -> list[str]:
        """Return the runs of the store, the latest last."""
        names = Folder(self.fs, self.path).names("runs/*/run.json")
        runs = [name.split("/")[-2] for name in names]
        return sorted(runs, key=lambda run: (str(self.run(run).read_json("run.json").get("created", "")), run))


def partition_name(number: int) -> str:
    """Name of a partition's subgraph in the folder of its run."""
    return f"partitions/part-{number:05d}.arrow"


def data_name(number: int, attempt: str = "0") -> str:
    """Name of a partition's bicliques in the folder of its run."""
    return f"bicliques/partition={number:05d}/part-{attempt}.parquet"


def _json(record: Any) -> bytes:
    return (json.dumps(record, indent=2, default=str) + "\n").encode()


def _commit(record: dict[str, Any]) -> Commit:
    """A commit record as read; those of earlier versions name no file."""
    return Commit(**{"file": data_name(int(record["partition"])), **record})


def commit_name(number: int) -> str:
    """Name of a partition's commit record in the folder of its run."""
    return f"commits/partition-{number:05d}.json"


def claim_name(number: int) -> str:
    """File that a process locks while it searches a partition."""
    return f"claims/partition-{number:05d}.lock"


def failure_name(number: int) -> str:
    """Name of the record of a partition's last failure in the folder of its run."""
    return f"failures/partition-{number:05d}.json"


def file_system(uri: str) -> tuple[Any, str]:
    """File system and path of a URL; listings are never cached, since other processes write."""
    try:
        fs, path = fsspec.core.url_to_fs(uri, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise StorageError(
            f"{uri}: this store cannot be opened: {error}; give a local path or an fsspec URL"
        ) from error
    return fs, str(path)


def _sync_folder(folder: str) -> None:
    """Flush a rename to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _storage(action: str, path: str) -> Iterator[None]:
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
    except (OSError, pa.ArrowInvalid, json.JSONDecodeError) as error:
        raise StorageError(
            f"{path}: cannot {action}: {error}; check the storage and its free space, then run again"
        ) from error
    except Exception as error:
        if type(error).__module__.split(".")[0] not in OBJECT_STORE_LIBRARIES:
            raise
        raise StorageError(
            f"{path}: cannot {action}: {error}; check the endpoint and the credentials of the object store"
        ) from error
