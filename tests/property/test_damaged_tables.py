"""Tables of every format with random bytes in them: refused in one sentence, or every row counted.

``BICLIQ_FUZZ=1000`` tries so many of each.
"""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table

TRIES = int(os.environ.get("BICLIQ_FUZZ", "40"))
PAIRS = [(u, v) for u in range(1, 13) for v in range(1, 9) if (u * v) % 3]
LINES = [f"{u}\t{v}\n" for u, v in PAIRS]


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"l": [u for u, _ in PAIRS], "r": [f"item {v}" for _, v in PAIRS]}), sink)
    return bytes(sink.getvalue().to_pybytes())


TEXTS = {
    "out.bip": f"% bip unweighted\n% {len(PAIRS)} 12 8\n" + "".join(LINES),
    "t.tsv": "l\tr\n" + "".join(LINES),
    "t.csv": "l,r\n" + "".join(LINES).replace("\t", ","),
    "snap.txt": "# FromNodeId\tToNodeId\n" + "".join(LINES),
    "t.mtx": f"%%MatrixMarket matrix coordinate pattern general\n12 8 {len(PAIRS)}\n"
    + "".join(LINES).replace("\t", " "),
    "t.adj": "".join(f"{u} " + " ".join(str(12 + v) for w, v in PAIRS if w == u) + "\n" for u in range(1, 13)),
}
FILES = {name: text.encode() for name, text in TEXTS.items()}
FILES |= {"t.csv.gz": gzip.compress(FILES["t.csv"]), "t.tsv.bz2": bz2.compress(FILES["t.tsv"]), "t.parquet": parquet()}

CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["byte", "cut", "insert", "repeat", "drop"]),
        st.floats(0, 1, exclude_max=True),
        st.one_of(
            st.binary(min_size=1, max_size=6), st.sampled_from([b"\n", b"\r", b'"', b"\0", b"\xff", b"-1", b" "])
        ),
    ),
    min_size=1,
    max_size=4,
)


def changed(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    """Bytes with some of them changed, cut off, put in, repeated or left out."""
    for how, share, new in changes:
        at = int(share * len(data))
        rest = {
            "byte": new + data[at + len(new) :],
            "cut": b"",
            "insert": new + data[at:],
            "repeat": data[max(at - 40, 0) : at] + data[at:],
            "drop": data[at + 10 :],
        }
        data = data[:at] + rest[how]
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=TRIES, deadline=None)
@given(changes=CHANGES, drop=st.booleans())
def test_a_damaged_table_is_refused_or_every_row_of_it_is_counted(folder, name, changes, drop):
    path = folder / name
    path.write_bytes(changed(FILES[name], changes))
    policy = "drop" if drop else "error"
    try:
        found = read_edge_table(str(path), IngestSettings(ragged=policy, nulls=policy))
    except InputError as error:
        said = str(error)
    else:
        check_counts(found)
        return
    assert name in said
    assert "\n" not in said


def check_counts(found: EdgeTable) -> None:
    """Every row is an edge, one that was there, or dropped for a reason."""
    summary = found.summary
    dropped = summary.dropped
    assert summary.rows_read == summary.edges + summary.duplicates + dropped
    assert summary.edges == len(found.left) == len(found.right)
    assert len(set(zip(found.left.tolist(), found.right.tolist(), strict=True))) == summary.edges
    for ids, labels in ((found.left, found.left_ids), (found.right, found.right_ids)):
        assert sorted(set(ids.tolist())) == list(range(len(labels))), "every label has an edge"


ROW = st.tuples(st.integers(1, 2**40), st.integers(1, 2**40))


@pytest.mark.parametrize("kind", ["konect", "tsv", "snap", "csv"])
@settings(max_examples=TRIES, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=40), ends=st.sampled_from(["\n", "\r\n"]), last=st.booleans())
def test_every_row_of_every_format_is_an_edge_as_a_plain_parse_has_it(folder, kind, rows, ends, last):
    heads = {"konect": "% bip unweighted" + ends, "tsv": f"l\tr{ends}", "csv": f"l,r{ends}", "snap": f"# nodes{ends}"}
    mark = "," if kind == "csv" else "\t"
    text = heads[kind] + ends.join(f"{u}{mark}{v}" for u, v in rows) + ends * last
    path = folder / f"plain-{kind}.txt"
    path.write_bytes(text.encode())
    asked = {"sides": "source-target"} if kind == "snap" else {}
    found = read_edge_table(str(path), IngestSettings(format=kind, **asked))
    left, right = found.left_ids.to_pylist(), found.right_ids.to_pylist()
    pairs = {(left[u], right[v]) for u, v in zip(found.left.tolist(), found.right.tolist(), strict=True)}
    assert pairs == set(rows)
    assert found.summary.rows_read == len(rows)
    assert found.summary.duplicates == len(rows) - len(set(rows))
