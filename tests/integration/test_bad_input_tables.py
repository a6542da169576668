"""Bad tables: one InputError that names file, place and remedy, whatever is wrong with them."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.store.layout import Store

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def refused(tmp_path: Path):
    """Ingest a file that must be refused, check what always holds, and return the message."""

    def refuse(name: str, content: str | bytes | pa.Table | None = None, **settings: object) -> str:
        path = tmp_path / name
        if isinstance(content, pa.Table):
            pq.write_table(content, path)
        elif content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        store = Store.open(str(tmp_path / "store"))
        with pytest.raises(InputError) as caught:
            ingest(str(path), store, IngestSettings(**settings))
        message = str(caught.value)
        assert name.split("*")[0] in message
        assert "\n" not in message
        assert store.graphs() == []
        assert str(pickle.loads(pickle.dumps(caught.value))) == message
        return message

    return refuse


def says(message: str, *words: str) -> bool:
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"
    return True


def long_csv() -> bytes:
    return b"user,item\n" + b"".join(b"%d,%d\n" % (i * 7919 % 100_003, i * 31 % 1009) for i in range(100_000))


def test_a_gzip_file_that_is_cut_off(refused):
    assert says(refused("t.csv.gz", gzip.compress(long_csv())[:-100_000]), "cut off", "fetch it again")


def test_a_zstd_file_that_is_cut_off(refused):
    packed = pa.compress(long_csv(), codec="zstd", asbytes=True)
    assert says(refused("t.csv.zst", packed[:-100_000]), "cut off", "fetch it again")


def test_a_parquet_file_whose_pages_are_damaged(refused, tmp_path):
    ids = np.arange(100_000)
    pq.write_table(pa.table({"u": ids * 7919 % 99_991, "v": ids}), tmp_path / "good.parquet")
    content = bytearray((tmp_path / "good.parquet").read_bytes())
    content[200:20_000] = np.random.default_rng(0).bytes(19_800)
    assert says(refused("bad.parquet", bytes(content)), "damaged", "fetch it again")


@pytest.mark.parametrize(("name", "good"), [("t.csv", b"a,b\n"), ("g.adj", b"1 2\n")])
def test_bytes_that_are_no_text_far_into_the_file(refused, name, good):
    message = refused(name, good * 30_000 + good.replace(good[:1], b"\xff"))
    assert says(message, "line 30001")


def test_a_digit_that_is_no_ascii_digit(refused):
    assert says(refused("g.adj", "0 1\n² 1\n"), "line 2", "'²'", "mend the line")


def test_a_null_in_parquet_is_located(refused):
    assert says(
        refused("n.parquet", pa.table({"u": [5, None], "v": [1, 2]})), "row 1", "column u (left)", "nulls = 'drop'"
    )


def test_weights_in_parquet_that_are_text(refused):
    table = pa.table({"u": [1], "v": [1], "w": ["heavy"]})
    assert says(
        refused("w.parquet", table, weight="w", min_weight=1),
        "row 0",
        "column w (weight)",
        "'heavy'",
        "cast the column",
    )


def test_weights_in_parquet_that_are_missing(refused):
    table = pa.table({"u": [1, 2], "v": [1, 2], "w": [1.0, None]})
    assert says(
        refused("w.parquet", table, weight="w", duplicates="sum"), "row 1", "column w (weight)", "missing", "fill it in"
    )


def test_a_time_that_is_none_is_located(refused):
    text = "u,v,t\n1,2,2010-01-01\n2,3,soon\n"
    assert says(refused("t.csv", text, time="t", since="2009-01-01"), "line 3", "'soon'", "ISO date", "mend it")


@pytest.mark.parametrize("entries", [1, 3])
def test_a_matrix_with_more_or_fewer_entries_than_it_declares(refused, entries):
    text = f"%%MatrixMarket matrix coordinate pattern general\n3 3 {entries}\n1 1\n2 2\n"
    assert says(refused("m.mtx", text), "line 2", f"declares {entries}", "2 follow", "fetch it again")


def test_a_konect_file_that_is_cut_off(refused):
    lines = (DATA / "out.moreno_crime_crime").read_text().splitlines()
    assert lines[1].split()[1] == "1476"
    message = refused("out.moreno_crime_crime", "\n".join(lines[:500]) + "\n")
    assert says(message, "line 2", "declares 1476", "498 follow", "fetch it again")


def test_an_adjacency_list_that_is_cut_off(refused):
    lines = (DATA / "leadership.txt").read_text().splitlines()
    for kept in (len(lines) - 8, 10):
        message = refused("leadership.txt", "\n".join(lines[:kept]) + "\n", format="adjacency")
        assert says(message, "line 1", "declares 99 edges", "fetch it again")


def test_an_adjacency_list_that_ties_a_side_to_itself(refused):
    assert says(refused("g.adj", "4 2 2\n0 2\n1 0\n"), "line 3", "1 and 0", "not bipartite", "mend the row")


def test_one_column_for_both_sides(refused):
    assert says(refused("t.csv", "user,item\n1,5\n", left="user", right="user"), "'user'", "two columns")
    assert says(refused("t.parquet", pa.table({"u": [1], "v": [2]}), left="u", right="u"), "'u'", "two columns")


def test_a_bad_line_of_one_of_several_files_is_located_in_that_file(refused, tmp_path):
    (tmp_path / "part1.csv").write_text("u,v\n1,2\n")
    (tmp_path / "part2.csv").write_text("u,v\n1,2\n3,\n")
    assert says(refused("part*.csv"), "part2.csv, line 3", "nulls = 'drop'")


def test_files_of_two_formats_are_not_one_table(refused, tmp_path):
    (tmp_path / "part1.csv").write_text("u,v\n1,2\n")
    (tmp_path / "part2.tsv").write_text("u\tv\n1\t2\n")
    assert says(refused("part*"), "part2.tsv", "one format")


def test_a_pattern_that_matches_nothing(refused):
    assert says(refused("absent*.csv"), "nothing matches", "check the pattern")


def test_a_folder_without_tables(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    assert says(refused("empty"), "without tables", "glob")


def test_a_tag_that_holds_the_delimiter_is_located(refused):
    content = (DATA / "movielens_tags.dat").read_bytes()
    assert says(refused("tags.dat", content, left="2", right="1"), "line 2318", "6 columns", "ragged = 'drop'")


def test_a_window_that_no_row_can_pass_is_refused_before_the_file_is_opened():
    with pytest.raises(ValueError, match="since 2012-01-01 is not before until 2011-01-01"):
        IngestSettings(since="2012-01-01", until="2011-01-01")
