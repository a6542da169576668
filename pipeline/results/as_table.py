"""What answers have in common: a table in the library that people know, and batches."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bicliq.pipeline.columns import pandas_frame
from bicliq.pipeline.extras import needs
from bicliq.pipeline.store.account import account_of

if TYPE_CHECKING:
    from bicliq.pipeline.results.export_lists import ExportedRows

SHOWN = 5
"""Rows that the text of an object shows."""


class AsTable(ABC):
    """What has a table: as Arrow, pandas, Polars or cuDF."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; lists are Arrow lists."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the table as a Polars DataFrame, which needs Polars."""
        with needs("frames", "to_polars"):
            import polars as pl

        return pl.from_arrow(self.to_arrow())

    def to_cudf(self) -> Any:
        """Return the table as a cuDF DataFrame on the GPU, which needs cuDF."""
        with needs("gpu", "to_cudf"):
            import cudf

        return cudf.DataFrame.from_arrow(self.to_arrow())


class Answered:
    """An answer with its whole record."""

    record: dict[str, Any]

    @property
    def account(self) -> dict[str, Any]:
        """What became of the rows of the table: see `pipeline.store.account.account_of`."""
        return account_of(self.record)


class InBatches(AsTable):
    """What is made batch by batch."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Columns of the batches."""

    @abstractmethod
    def batches(self) -> Iterator[pa.Table]:
        """Yield all of them as Arrow tables of bounded size, always in the same order."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each as a dict of the columns of `schema`."""
        for batch in self.batches():
            yield from batch.to_pylist()

    def to_arrow(self) -> pa.Table:
        """Return all of them as one Arrow table."""
        return pa.concat_tables([self.schema.empty_table(), *self.batches()])


class OfLists(InBatches):
    """Rows with lists of labels, which may be text in a cell."""

    def export(
        self, path: str | os.PathLike[str], format: str | None = None, *, overwrite: bool = False, bom: bool = False
    ) -> ExportedRows:
        """Write them to a file, batch by batch: Parquet, CSV, TSV, Excel or JSON Lines.

        Parameters and errors as of `pipeline.results.export_lists.export_rows`.
        """
        from bicliq.pipeline.results.export_lists import export_rows

        return export_rows(self, path, format, overwrite=overwrite, bom=bom)


def as_text(title: str, lines: Iterable[str]) -> str:
    """Return the text of an object: a title, and the first of what it holds."""
    cut = [line if len(line) <= 98 else line[:97] + "…" for line in lines]
    return "\n  ".join([f"<{title}{':' if cut else ''}", *cut]) + ">"
