"""The sink of a store's files: what is written arrives, is counted and hashed, and a failure of the
disk is heard of."""

from __future__ import annotations

import io
import os

import numpy as np
import pytest
import xxhash

from bicliq.pipeline.store import sink as sinks
from bicliq.pipeline.store.sink import FLUSHED_BYTES, hashing_sink


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
    begun = []  # when the disk begins shows nowhere else
    monkeypatch.setattr(sinks, "_begin_to_write", lambda number, begin, n: begun.append((begin, n)))
    with open(tmp_path / "file", "wb") as file, hashing_sink(file, on_disk=True) as sink:
        for _ in range(8):
            sink.write(bytes(FLUSHED_BYTES // 2))
    assert begun
    assert min(n for _, n in begun) >= FLUSHED_BYTES
    assert [begin for begin, _ in begun] == [0, *np.cumsum([n for _, n in begun])[:-1]]


def flush_of_a_file(path, monkeypatch, fdatasync):
    """Write a file on a system that cannot only begin to."""
    monkeypatch.setattr(sinks, "_c_library", object)
    monkeypatch.setattr(os, "fdatasync", fdatasync)
    with open(path, "wb") as file, hashing_sink(file, on_disk=True) as sink:
        sink.write(bytes(FLUSHED_BYTES))


def test_a_system_that_cannot_begin_waits_for_the_disk(tmp_path, monkeypatch):
    flushed = []
    flush_of_a_file(tmp_path / "file", monkeypatch, lambda number: flushed.append(os.fstat(number).st_size))
    assert flushed == [FLUSHED_BYTES]


def test_a_disk_that_fails_beside_the_writer_is_heard_of(tmp_path, monkeypatch):
    def fails(number):
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        flush_of_a_file(tmp_path / "file", monkeypatch, fails)


def test_what_no_disk_holds_in_the_end_is_heard_of():
    reading, writing = os.pipe()
    with open(reading, "rb"), open(writing, "wb") as file, pytest.raises(OSError, match="Invalid argument"):  # noqa: SIM117
        with hashing_sink(file, on_disk=True) as sink:
            sink.write(b"a few")
