"""The sink of a store's files: what is written arrives, is counted and hashed, and a failure of the
disk is heard of."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest
import xxhash

from pipeline.store import sink as sinks
from pipeline.store.sink import FLUSHED_BYTES, HashingSink, hashing_sink


@pytest.mark.parametrize("size", [0, 10, FLUSHED_BYTES, 3 * FLUSHED_BYTES + 1])
def test_what_is_written_is_there_counted_and_hashed(tmp_path, size):
    data = np.random.default_rng(size).bytes(size)
    with open(tmp_path / "file", "wb") as file, hashing_sink(file, on_disk=True) as sink:
        for start in range(0, size, 700_001):
            sink.write(data[start : start + 700_001])
    assert (tmp_path / "file").read_bytes() == data
    assert (sink.bytes, sink.tell(), sink.checksum) == (size, size, xxhash.xxh3_128(data).hexdigest())


def test_wide_elements_count_in_bytes():
    below = io.BytesIO()
    with hashing_sink(below) as sink:
        assert sink.write(np.arange(5)) == sink.bytes == 40
    assert below.getvalue() == np.arange(5).tobytes()


def test_a_large_file_goes_to_the_disk_while_it_is_written(tmp_path, monkeypatch):
    flushed = []

    def fdatasync(number: int) -> None:
        flushed.append(os.fstat(number).st_size)

    monkeypatch.setattr(sinks.os, "fdatasync", fdatasync)
    with open(tmp_path / "file", "wb") as file, hashing_sink(file, on_disk=True) as sink:
        for _ in range(8):
            sink.write(bytes(FLUSHED_BYTES // 2))
    assert flushed
    assert min(flushed) >= FLUSHED_BYTES


def test_a_disk_that_fails_beside_the_writer_is_heard_of(tmp_path, monkeypatch):
    def fdatasync(number: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sinks.os, "fdatasync", fdatasync)
    with open(tmp_path / "file", "wb") as file:
        sink = HashingSink(file, on_disk=True)
        sink.write(bytes(FLUSHED_BYTES))
        with pytest.raises(OSError, match="Input/output error"):
            sink.finish()
        sink.stop()
