"""Names of the files of a partition, in the folder of its run."""

from __future__ import annotations


def partition_name(number: int) -> str:
    """Name of a partition's subgraph in the folder of its run."""
    return f"partitions/part-{number:05d}.arrow"


def data_name(number: int, attempt: str = "0") -> str:
    """Name of a partition's bicliques in the folder of its run."""
    return f"bicliques/partition={number:05d}/part-{attempt}.parquet"
