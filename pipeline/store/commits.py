"""Commits: what says that a partition is searched, and the names of a partition's files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bicliq.pipeline.store.records import STORED, StoredFile, named_files

COMMIT = re.compile(r"commits/partition-(\d{5,})\.json")
FAILURE = re.compile(r"failures/partition-(\d{5,})\.json")
ATTEMPT = re.compile(r"bicliques/partition=(\d{5,})/part-(\w+)\.parquet")
SUBGRAPH = re.compile(r"partitions/part-(\d{5,})\.(arrow|json)")
"""Names of commit records, of records of failures, of data files, and of subgraphs with records."""


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
        How many bicliques there are of each size, and the largest (`pipeline.store.sizes`), so that
        nobody reads the file for it.
    plan
        Digest of the plan that the partition is of.
    backend, threads
        What it ran on: "cpu" with the instruction set of its lanes, as "cpu-avx2", or "cuda"; and
        threads, or warps.
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
    plan: str
    backend: str
    threads: int

    @property
    def stored(self) -> StoredFile:
        """The data file."""
        return StoredFile(self.file, self.bytes, self.checksum)

    def content(self) -> dict[str, Any]:
        """Entries of the commit record; the data file is what it names."""
        return {name: value for name, value in vars(self).items() if name not in ("file", "bytes", "checksum")}


def partition_name(number: int) -> str:
    """Name of a partition's subgraph in the folder of its run."""
    return f"partitions/part-{number:05d}.arrow"


def partition_record_name(number: int) -> str:
    """Name of the record of a partition's subgraph in the folder of its run."""
    return f"partitions/part-{number:05d}.json"


def data_name(number: int, attempt: str = "0") -> str:
    """Name of a partition's bicliques in the folder of its run."""
    return f"bicliques/partition={number:05d}/part-{attempt}.parquet"


def commit_name(number: int) -> str:
    """Name of a partition's commit record in the folder of its run."""
    return f"commits/partition-{number:05d}.json"


def failure_name(number: int) -> str:
    """Name of the record of a partition's last failure in the folder of its run."""
    return f"failures/partition-{number:05d}.json"


def commit_of(record: dict[str, Any]) -> Commit:
    """Return the commit that a commit record describes."""
    (file,) = named_files(record).values()
    content = {name: value for name, value in record.items() if name != STORED}
    return Commit(file=file.name, bytes=file.bytes, checksum=file.checksum, **content)
