"""Matrices and baskets in several files and in updates: no vertex is another one by its number."""

from __future__ import annotations

import json

import pytest

from bicliq.flows.cli import invoke


def asked(capsys, *line):
    code = invoke([*map(str, line), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "a.txt": "jam tea\nrum\n", "b.txt": "jam rum\n", "m.csv": ",jam,tea\nann,1,0\nbob,1,1\n",
        "n.csv": ",jam,rum\ndan,1,1\n", "e.csv": "user,item\ndan,jam\n", "p.csv": "1,0\n1,1\n", "q.csv": "0,1\n1,1\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files_whose_lines_are_numbered_alike_are_no_one_table(folder, capsys):
    code, said = asked(capsys, "enumerate", folder / "[ab].txt", "--format", "baskets")
    assert (code, "numbered alike, and would become one; join the files" in said["error"]) == (2, True)
    code, said = asked(capsys, "enumerate", folder / "[pq].csv", "--format", "matrix")
    assert (code, "rows without names" in said["error"]) == (2, True)
    code, said = asked(capsys, "enumerate", folder / "[mn].csv", "--format", "matrix")
    assert (code, said["edges"]) == (0, 5)


def test_an_update_of_a_matrix_is_read_as_a_matrix(folder, capsys):
    store = ["--store", folder / "s"]
    assert asked(capsys, "run", folder / "m.csv", "--format", "matrix", *store, "--local")[0] == 0
    code, said = asked(capsys, "update", folder / "n.csv", *store)
    assert (code, said["edges"], said["n_edges"]) == (0, 2, 5)
    code, said = asked(capsys, "update", folder / "e.csv", *store)
    assert (code, "say --format csv if it is an edge table" in said["error"]) == (2, True)
    code, said = asked(capsys, "update", folder / "e.csv", "--format", "csv", *store)
    assert (code, said["unchanged"]) == (0, 1)


@pytest.mark.parametrize(
    ("first", "other", "what"), [("a.txt", "b.txt", "basket 1"), ("p.csv", "q.csv", "row 0")], ids=["baskets", "matrix"]
)
def test_an_update_is_not_joined_to_others_of_the_same_numbers(folder, capsys, first, other, what):
    store, kind = ["--store", folder / "s"], "matrix" if what == "row 0" else "baskets"
    assert asked(capsys, "run", folder / first, "--format", kind, *store, "--local")[0] == 0
    code, said = asked(capsys, "update", folder / other, *store)
    assert (code, f"{what} is another one than {what} of the run" in said["error"]) == (2, True)
    with (folder / first).open("a") as file:  # one that grew is
        file.write((folder / other).read_text())
    code, said = asked(capsys, "update", folder / first, *store)
    assert (code, said["edges"]) == (0, 2 if kind == "baskets" else 3)
