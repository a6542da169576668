"""Files in other encodings, and what is no file: read where that is said, or one sentence."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from bicliq import clique
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings, load_settings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from tests.forked import command

TEXT = "Käufer,Ware\r\nJosé,Öl\r\nZoë,Öl\r\n"


def read(source: Path | str, **settings: object) -> EdgeTable:
    return read_edge_table(str(source), IngestSettings(**settings))


def bicliq(*arguments: str) -> tuple[int, str]:
    """Exit code and words of a command that may hang."""
    process = command(*arguments)
    _, said = process.communicate(60)
    return process.wait(), said


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8", "cp850"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_named_encoding_is_read(tmp_path, encoding, packed):
    raw = TEXT.encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    table = read(path, encoding=encoding)
    assert table.left_ids.to_pylist() == ["José", "Zoë"]
    assert table.right_ids.to_pylist() == ["Öl"]
    assert table.summary.columns == {"left": "Käufer", "right": "Ware"}


def test_a_large_file_keeps_its_lines_over_the_chunks_that_are_decoded(tmp_path):
    rows = [(f"é{i}", f"{i % 7}") for i in range(300_000)]
    (tmp_path / "t.csv").write_bytes(("a,b\n" + "".join(f"{u},{v}\n" for u, v in rows)).encode("utf-16"))
    table = read(tmp_path / "t.csv", encoding="utf-16")
    assert len(table.left) == len(rows)
    assert sorted(table.left_ids.to_pylist()) == sorted(u for u, _ in rows)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("late", [False, True])
def test_the_likely_encoding_is_named_and_works(tmp_path, encoding, late):
    late = late and encoding == "cp1252"  # UTF-16 shows in the first bytes
    text = "left,right\n" + "ann,oil\n" * (400_000 if late else 10) + "José,Öl\n"
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=f"encoding = '{encoding}'") as caught:
        read(tmp_path / "t.csv")
    if encoding == "cp1252":
        assert "José" in str(caught.value)
    assert read(tmp_path / "t.csv", encoding=encoding).left_ids.to_pylist() == ["José", "ann"]


def test_bytes_that_are_none_of_the_encoding_are_named_by_their_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\nann,x\nb\x81b,y\n")
    with pytest.raises(InputError, match=r"t\.csv, line 3: b'\\x81' is no cp1252 text"):
        read(tmp_path / "t.csv", encoding="cp1252")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_text_without_the_mark_that_its_encoding_begins_with_is_refused_with_the_name_that_works(
    tmp_path, encoding, packed
):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    data = "user,item\nann,jam\n".encode(encoding)
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InputError, match=rf"t\.csv.*, line 1: .* encoding = '{encoding}'"):
        read(path, encoding=encoding[:6])
    assert read(path, encoding=encoding).left_ids.to_pylist() == ["ann"]


@pytest.mark.parametrize("name", ["base64", "no-such", "hex"])
def test_an_encoding_that_is_none_is_refused(name):
    with pytest.raises(InputError, match="there is no such encoding"):
        load_settings(ingest={"encoding": name})


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["file", "glob", "folder"])
def test_a_name_that_is_no_text_is_one_sentence(tmp_path, where):
    path = tmp_path / os.fsdecode(b"\xff.csv")
    path.write_text("a,b\nann,x\n")
    code, said = bicliq("enumerate", str({"file": path, "glob": tmp_path / "*.csv", "folder": tmp_path}[where]))
    assert code == 2, said
    assert "are no UTF-8 text" in said
    assert "defect" not in said


@pytest.mark.parametrize("name", ["/dev/zero", "link.csv", "pipe.csv", "pipe.clq"])
def test_what_is_no_file_is_refused_at_once(tmp_path, name):
    if name == "link.csv":
        os.symlink("/dev/zero", tmp_path / name)
    elif name != "/dev/zero":
        os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="is a pipe or a device"):
        clique(str(tmp_path / name))


def test_what_is_no_file_is_refused_wherever_a_command_takes_one(tmp_path):
    path, edges = str(tmp_path / "pipe.csv"), str(tmp_path / "e.csv")
    Path(edges).write_text("a,b\nann,x\nbob,x\n")
    os.mkfifo(path)
    for words in (
        ["enumerate", path],
        ["find", edges, "--within", path],
        ["find", edges, "--by", "weight", "--left-weights", path],
    ):
        code, said = bicliq(*words)
        assert (code, "is a pipe or a device" in said) == (2, True), said


def test_a_pipe_in_a_folder_of_tables_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\nann,x\n")
    os.mkfifo(tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"b\.csv: is a pipe or a device"):
        read(tmp_path)


def test_a_list_that_is_no_text_is_one_sentence(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\nann,x\nbob,x\n")
    (tmp_path / "w").write_bytes(b"Jos\xe9\n")
    code, said = bicliq("find", str(tmp_path / "e.csv"), "--within", str(tmp_path / "w"))
    assert code == 2
    assert "is no UTF-8 text" in said
