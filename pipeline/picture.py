"""Pictures of measurements and estimates, drawn by Matplotlib where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import needs


@contextmanager
def picture(path: str | Path, width: float, height: float) -> Iterator[Any]:
    """Give a Matplotlib figure to draw in, and write it when the block ends.

    `path`: its suffix is the format: .svg, .png or .pdf. `width`, `height`: inches. Raises
    InputError where Matplotlib is not installed, or cannot write such a file.
    """
    with needs("plots", "a picture"):
        import matplotlib
        from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    try:
        with matplotlib.rc_context({"svg.hashsalt": "bicliq"}):  # the same figures, the same file
            figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: the picture cannot be written: {error}") from error
