"""How many bicliques a search may meet before its caller would rather do something else."""

from __future__ import annotations

from bicliq.kernels.contracts import BicliqueBatch
from bicliq.kernels.errors import TooManyError


class Allowance:
    """Counts what a search meets.

    Parameters
    ----------
    most
        Bicliques that it may meet; None: any number.
    """

    def __init__(self, most: int | None) -> None:
        self._most, self._met = most, 0

    @property
    def left(self) -> int | None:
        """How many more it may meet: 1 at least, since no search is limited to nothing."""
        return None if self._most is None else max(self._most - self._met, 1)

    def take(self, met: int) -> None:
        """Count some more.

        Raises
        ------
        TooManyError
            Where that is one too many.
        """
        self._met += met
        if self._most is not None and self._met > self._most:
            raise TooManyError(f"more than {self._most:,} bicliques are found around what changed")

    def counted(self, batch: BicliqueBatch) -> BicliqueBatch:
        """Count those of a batch, and pass it on."""
        self.take(len(batch))
        return batch
