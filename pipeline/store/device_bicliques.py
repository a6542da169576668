"""A data file of bicliques that are on a GPU: encoded there, then copied and written."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import kernels
from pipeline.settings import PublishSettings
from pipeline.store.biclique_file import BicliqueWriter


class DeviceBicliqueWriter(BicliqueWriter):
    """Writes batches that lie on the current GPU, in their order.

    A thread has them encoded, one copies and writes them.

    Parameters
    ----------
    sink
        A binary file, empty; it is not closed.
    publish
        The codec; no objectives (`pipeline.placement.device.encodes`).
    """

    def __init__(self, sink: Any, publish: PublishSettings) -> None:
        super().__init__(sink, 1, publish)
        self._encoding: Future[list[Future[None]]] | None = None

    def write(self, batch: Any) -> None:
        """Append a batch; returns when the one before is written, since memory holds two."""
        before, self._encoding = self._encoding, self._encode.submit(self._encode_batch, batch)
        _await(before)

    def close(self) -> None:
        """Write what waits, and the footer."""
        _await(self._encoding)
        super().close()

    def _encode_batch(self, batch: Any) -> list[Future[None]]:
        encoded = kernels.encode_on_device(batch, self._publish.compression)
        appended = [self._write.submit(self._append_part, part) for part in encoded]
        self.sizes.add(batch.n_left, batch.n_right)
        return appended

    def _append_part(self, part: kernels.DeviceRowGroups) -> None:
        for piece in part.pieces():
            self._sink.write(piece)
        for group in part.groups:
            self._note(group)


def _await(encoding: Future[list[Future[None]]] | None) -> None:
    for appended in encoding.result() if encoding is not None else ():
        appended.result()
