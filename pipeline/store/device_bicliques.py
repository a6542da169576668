"""A data file of bicliques that are on a GPU: encoded there, then copied and written."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from bicliq import kernels
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter


class DeviceBicliqueWriter(BicliqueWriter):
    """Writes batches that lie on the current GPU, in their order.

    Whoever calls has them encoded; a thread copies and writes them.

    `sink`: a binary file, empty; it is not closed. `publish`: the codec; no objectives
    (`pipeline.placement.device.encodes`).
    """

    def __init__(self, sink: Any, publish: PublishSettings) -> None:
        super().__init__(sink, 1, publish)
        self._appended: list[Future[None]] = []

    def write(self, batch: Any) -> None:
        """Append a batch; returns when the GPU is free again, and the batch before is written."""
        before, self._appended = self._appended, []
        for part in kernels.encode_on_device(batch, self._publish.compression):
            self._appended.append(self._write.submit(self._append_part, part))
            if len(self._appended) == 1:  # the card is busy with the next part
                self.sizes.add(batch.n_left, batch.n_right)
        _await(before)

    def close(self) -> None:
        """Write what waits, and the footer."""
        _await(self._appended)
        super().close()

    def _append_part(self, part: kernels.DeviceRowGroups) -> None:
        for piece in part.pieces():
            self._sink.write(piece)
        for group in part.groups:
            self._note(group)


def _await(appended: list[Future[None]]) -> None:
    for each in appended:
        each.result()
