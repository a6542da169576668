"""What has a table gives it in the table library that people know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pyarrow as pa

from bicliq.pipeline.columns import pandas_frame
from bicliq.pipeline.extras import needs


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
