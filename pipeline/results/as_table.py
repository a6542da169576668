"""What has a table gives it in the table library that people know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pyarrow as pa


class AsTable(ABC):
    """What has a table: as Arrow, pandas, Polars or cuDF."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table."""

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; lists are Arrow lists."""
        import pandas as pd

        return self.to_arrow().to_pandas(
            types_mapper=lambda kind: pd.ArrowDtype(kind) if pa.types.is_list(kind) else None
        )

    def to_polars(self) -> Any:
        """Return the table as a Polars DataFrame, which needs Polars."""
        import polars as pl

        return pl.from_arrow(self.to_arrow())

    def to_cudf(self) -> Any:
        """Return the table as a cuDF DataFrame on the GPU, which needs cuDF."""
        import cudf

        return cudf.DataFrame.from_arrow(self.to_arrow())
