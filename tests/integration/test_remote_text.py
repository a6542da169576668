"""Text from web servers and object stores, real ones here: a megabyte each, packed or not."""

from __future__ import annotations

import bz2
import gzip
import http.server
import lzma
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import read_edge_table
from tests.s3_server import s3_at, s3_server

N = 100_000
PAIRS = [(i % 4_001, i * 7 % 30_011) for i in range(N)]
EDGES = len(set(PAIRS))


def lines(mark: str, least: int = 0) -> str:
    return "".join(f"{left + least}{mark}{right + least}\n" for left, right in PAIRS)


def adjacency() -> str:
    rows: list[list[str]] = [[] for _ in range(4_001)]
    for left, right in PAIRS:
        rows[left].append(str(right))
    return "".join(" ".join(row) + "\n" for row in rows)


TEXTS = {
    "t.csv": lambda: "left,right\n" + lines(","),
    "t.tsv": lambda: "left\tright\n" + lines("\t"),
    "t.txt": lambda: "left;right\n" + lines(";"),
    "out.t": lambda: "% bip\n" + lines(" ", 1),
    "snap.t": lambda: "# edges\n" + lines("\t"),
    "t.mtx": lambda: f"%%MatrixMarket matrix coordinate pattern general\n4001 30011 {N}\n" + lines(" ", 1),
    "t.adj": adjacency,
}
PACKED = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": partial(lzma.compress, preset=0),
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The same folder on the disk, behind a web server, and in a bucket."""
    s3fs = pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    folder: Path = tmp_path_factory.mktemp("texts")
    for name, make in TEXTS.items():
        text = make().encode()
        for suffix, pack in PACKED.items():
            (folder / (name + suffix)).write_bytes(pack(text))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    with (
        s3_server() as (host, port),
        s3_at(f"http://{host}:{port}"),
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as web,
    ):
        threading.Thread(target=web.serve_forever, daemon=True).start()
        s3fs.S3FileSystem().mkdir("texts")
        s3fs.S3FileSystem().put(str(folder) + "/", "texts/", recursive=True)
        yield {"disk": str(folder), "web": f"http://127.0.0.1:{web.server_port}", "bucket": "s3://texts"}
        web.shutdown()


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("name", TEXTS)
def test_text_is_the_same_table_from_every_place(places, name, packed):
    sides = "columns" if name.startswith("snap") else None
    tables = [read_edge_table(f"{place}/{name}{packed}", IngestSettings(sides=sides)) for place in places.values()]
    for table in tables:
        assert len(table.left) == EDGES
        assert table.summary.rows_read == N
        assert np.array_equal(table.left, tables[0].left)
        assert np.array_equal(table.right, tables[0].right)


def test_a_bucket_of_text_is_one_table(places):
    table = read_edge_table(f"{places['bucket']}/t.csv*")
    assert (table.summary.source.files, table.summary.rows_read) == (len(PACKED), len(PACKED) * N)
