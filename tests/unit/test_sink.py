"""The sink of a store's files: what is written arrives, in order, and a failure is heard of."""

from __future__ import annotations

import io

import numpy as np
import pytest
import xxhash

from pipeline.sink import DIRECT_BYTES, FLUSHED_BYTES, WAITING_BYTES, HashingSink, hashing_sink


@pytest.mark.parametrize("size", [0, 10, DIRECT_BYTES, DIRECT_BYTES + 1, 3 * FLUSHED_BYTES])
def test_what_is_written_is_there_counted_and_hashed(tmp_path, size):
    data = np.random.default_rng(size).bytes(size)
    with open(tmp_path / "file", "wb") as file, hashing_sink(file, on_disk=True) as sink:
        for start in range(0, size, 700_001):
            sink.write(data[start : start + 700_001])
    assert (tmp_path / "file").read_bytes() == data
    assert (sink.bytes, sink.tell(), sink.checksum) == (size, size, xxhash.xxh3_128(data).hexdigest())


def test_a_caller_may_use_its_buffer_again_and_elements_may_be_wide():
    buffer, expected, below = np.zeros(1 << 17, np.int64), b"", io.BytesIO()
    with hashing_sink(below) as sink:
        for number in range(8):
            buffer[:] = number
            assert sink.write(buffer) == buffer.nbytes
            expected += buffer.tobytes()
    assert below.getvalue() == expected


class FullDisk(io.BytesIO):
    """Takes so many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def write(self, data) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return super().write(data)


def test_a_write_that_fails_beside_the_writer_is_heard_of_at_the_end():
    sink = None
    with pytest.raises(OSError, match="No space left"), hashing_sink(FullDisk(DIRECT_BYTES)) as sink:
        sink.write(bytes(DIRECT_BYTES))
        sink.write(bytes(1))
    assert sink is not None
    sink.stop()


def test_a_writer_far_ahead_of_the_disk_waits_and_hears_of_a_failure():
    disk = FullDisk(2 * WAITING_BYTES)
    sink, block = HashingSink(disk), bytes(WAITING_BYTES // 4)
    with pytest.raises(OSError, match="No space left"):
        for _ in range(20):
            sink.write(block)
    sink.stop()
    assert sink.bytes <= 3 * WAITING_BYTES + 2 * len(block)
    assert disk.tell() <= 2 * WAITING_BYTES
