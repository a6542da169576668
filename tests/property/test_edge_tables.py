"""CSV files of every kind of field, read in blocks of every size, against a parser that reads
letter by letter.

``BICLIQ_FUZZ=1000`` tries so many.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import blocks, labels
from bicliq.pipeline.settings import NULL_WORDS, IngestSettings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from tests.nightly import drawn
from tests.reference.edge_rows import expected, rows_of

TRIES = int(os.environ.get("BICLIQ_FUZZ", drawn(100)))
NULLS = {"", *NULL_WORDS}
PLAIN = st.sampled_from(["1", "2", "3", "12", "0", "-4", "9223372036854775807"])
ODD = st.sampled_from([
    "007", "01", "-0", "+5", " 5", "5 ", "\t5", "0x1F", "1e3", "1.5", "9223372036854775808", "-9223372036854775809", "٣",
    "NA", "null", "nan", "None", "", "ann", "Ünï", '5" pipe', "\ufeff7", "\u2028x", "a b", "00:15", "'",
])  # fmt: skip
QUOTED = st.sampled_from(['""', '"NA"', '"12"', '"012"', '"a,b"', '"say ""hi"""', '" 5"', '"7"'])
BROKEN = st.sampled_from(['"a\nb"', '"a\r\nb"', '"\n"', '"x""\n""y"'])


@st.composite
def tables(draw: st.DrawFn, over_lines: bool = False) -> str:
    """Text of a table of two columns, a few of its lines ragged or blank, with any ends of
    lines."""
    kinds = draw(st.sampled_from([[PLAIN], [PLAIN, PLAIN, ODD], [PLAIN, ODD, QUOTED], [PLAIN, QUOTED]]))
    field = st.one_of(*kinds, *([BROKEN] if over_lines else []))
    widths = draw(st.sampled_from([[2], [2, 2, 2, 2, 1, 3]]))
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\n", "\n\n", "\r\n\r\n"]]))
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        width = draw(st.sampled_from(widths))
        lines.append(",".join(draw(field) for _ in range(width)) + draw(st.sampled_from(ends)))
    text = "".join(lines)
    return text.rstrip("\r\n") if draw(st.booleans()) and not text.rstrip("\r\n").endswith('"') else text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left.tolist(), table.right.tolist(), strict=True)}


@contextmanager
def blocks_of(n_bytes: int) -> Iterator[None]:
    """Read files in blocks of so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((blocks, "FIRST_BYTES"), (blocks, "BLOCK_BYTES"), (blocks, "PIECE"), (labels, "PIECE")):
            patch.setattr(module, name, n_bytes)
        yield


def check(path: Path, text: str, block_bytes: int, packed: bool, **options: object) -> None:
    """Read the file in small blocks; all that is wrong is dropped and counted."""
    data = ("\ufeff" if block_bytes % 2 else "") + "left,right\n" + text
    name = path / ("t.csv.gz" if packed else "t.csv")
    name.write_bytes(gzip.compress(data.encode()) if packed else data.encode())
    wanted = expected(rows_of(text), 2, NULLS, str(options.get("ids", "auto")))
    asked = IngestSettings(ragged="drop", nulls="drop", **options)
    with blocks_of(block_bytes):
        if not wanted["edges"]:
            with pytest.raises(InputError, match="no edge is left"):
                read_edge_table(name, asked)
            return
        found = read_edge_table(name, asked)
    assert edges_of(found) == wanted["edges"]
    assert {type(label) for label in found.left_ids.to_pylist()} == {type(left) for left, _ in wanted["edges"]}
    counts = {name: getattr(found.summary, name) for name in wanted if name != "edges"}
    assert counts == {name: value for name, value in wanted.items() if name != "edges"}
    dropped = found.summary.dropped
    assert found.summary.rows_read == found.summary.edges + found.summary.duplicates + dropped


@settings(max_examples=2 * TRIES, deadline=None)
@given(
    text=tables(),
    block_bytes=st.sampled_from([1, 7, 20, 1000]),
    packed=st.booleans(),
    ids=st.sampled_from(["auto", "text"]),
)
def test_every_row_is_an_edge_or_counted_and_every_label_keeps_its_text(folder, text, block_bytes, packed, ids):
    check(folder, text, block_bytes, packed, ids=ids)


@settings(max_examples=TRIES, deadline=None)
@given(text=tables(over_lines=True), block_bytes=st.sampled_from([1, 7, 20, 1000]))
def test_fields_over_several_lines_are_read_where_that_is_asked(folder, text, block_bytes):
    lone = [row for row in rows_of(text) for field, quoted in row if '"' in field and not quoted]
    if not lone:
        check(folder, text, block_bytes, False, multiline=True)


@settings(max_examples=TRIES, deadline=None)
@given(text=tables(over_lines=True), block_bytes=st.sampled_from([1, 7, 20, 1000]))
def test_no_label_holds_a_line_break_that_was_not_asked_for(folder, text, block_bytes):
    path = folder / "t.csv"
    path.write_bytes(b"left,right\n" + text.encode())
    over_lines = any("\n" in field for row in rows_of(text) for field, _ in row)
    with blocks_of(block_bytes):
        if over_lines:
            with pytest.raises(InputError, match=r"the quote before .*multiline = true"):
                read_edge_table(path, IngestSettings(ragged="drop", nulls="drop"))
        elif expected(rows_of(text), 2, NULLS)["edges"]:
            table = read_edge_table(path, IngestSettings(ragged="drop", nulls="drop"))
            found = pa.chunked_array([table.left_ids.cast(pa.string()), table.right_ids.cast(pa.string())])
            assert not any("\n" in label for label in found.to_pylist())


@settings(max_examples=TRIES, deadline=None)
@given(
    before=st.integers(0, 6), after=st.integers(0, 6), block_bytes=st.sampled_from([1, 7, 20, 1000]),
    bad=st.sampled_from(['"a,1', '1,"a', '"a"b,1', '"a" ,1', '"",""x', '"a""', '"a,1\n"b,2', '"a\n",1\n"b,2']),
    multiline=st.booleans(),
)  # fmt: skip
def test_a_quote_that_encloses_no_field_is_named_with_its_line(folder, before, after, block_bytes, bad, multiline):
    path = folder / "t.csv"
    path.write_text("left,right\n" + "1,2\n" * before + bad + "\n" + '"3",4\n' * after)
    with blocks_of(block_bytes), pytest.raises(InputError, match="quote") as caught:
        read_edge_table(path, IngestSettings(multiline=multiline))
    if not multiline:
        assert f"line {before + 2}," in str(caught.value)
