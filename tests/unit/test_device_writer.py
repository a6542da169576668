"""How what cuDF encodes gets into a file: by a thread, in order, and nothing is lost unsaid."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

from pipeline.placement.device import PENDING, Through


class Slow(io.BytesIO):
    """A file that waits until it may write."""

    def __init__(self) -> None:
        super().__init__()
        self.may_write = threading.Event()

    def write(self, data: Any, /) -> int:
        assert self.may_write.wait(60)
        return super().write(data)


class Full(io.BytesIO):
    """A disk without room after the first piece."""

    def write(self, data: Any, /) -> int:
        if self.tell():
            raise OSError(28, "No space left on device")
        return super().write(data)


def test_pieces_arrive_in_their_order() -> None:
    below = io.BytesIO(b"PAR1")
    below.seek(4)
    file = Through(below)
    pieces = [bytes([i]) * (i + 1) for i in range(200)]
    for piece in pieces:
        assert file.write(piece) == len(piece)
    assert file.tell() == 4 + sum(map(len, pieces))
    file.finish()
    assert below.getvalue() == b"PAR1" + b"".join(pieces)


def test_some_pieces_wait_and_no_more() -> None:
    below = Slow()
    file = Through(below)
    for _ in range(PENDING):
        file.write(b"x" * 100)
    assert (below.tell(), file.tell()) == (0, 100 * PENDING)
    writer = threading.Thread(target=file.write, args=(b"y",), daemon=True)
    writer.start()
    writer.join(0.2)
    assert writer.is_alive()  # one too many
    below.may_write.set()
    writer.join(60)
    file.flush()
    assert below.getvalue() == b"x" * 100 * PENDING + b"y"
    file.finish()


def test_what_goes_wrong_is_raised_by_the_end() -> None:
    file = Through(Full())
    with pytest.raises(OSError, match="No space left"):
        try:
            file.write(b"one")
            file.write(b"two")
        finally:
            file.finish()
