"""Tables of categories and numbers become contexts whose attributes say what holds."""

from __future__ import annotations

import json
import operator
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bicliq
from bicliq.flows.cli import invoke

PEOPLE = """name,age,city,member,height,zip
ann,17,Oslo,true,1.60,0150
bob,30,Bergen,false,1.8,5003
cid,52,Oslo,true,,0150
dan,30.0,"Bodø, N",false,1.75,8001
"""
HOLDS = {">=": operator.ge, "<": operator.lt, "=": operator.eq}


def people(folder):
    path = folder / "people.csv"
    path.write_text(PEOPLE)
    return path


def crosses(context):
    """Attributes of each object, by its name."""
    graph = context.graph
    rows = [graph.indices[a:b] for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]
    names = context.attributes.to_pylist()
    return {name: {names[m] for m in row} for name, row in zip(context.objects.to_pylist(), rows, strict=True)}


def test_columns_are_scaled_by_what_they_hold(tmp_path):
    context = bicliq.scale(people(tmp_path))
    assert crosses(context) == {
        "ann": {"age<30", "age<52", "city=Oslo", "member", "height<1.75", "height<1.8", "zip=0150"},
        "bob": {"age>=30", "age<52", "city=Bergen", "height>=1.75", "height>=1.8", "zip=5003"},
        "cid": {"age>=30", "age>=52", "city=Oslo", "member", "zip=0150"},
        "dan": {"age>=30", "age<52", "city=Bodø, N", "height>=1.75", "height<1.8", "zip=8001"},
    }
    said = "\n".join(context.account["assumed"])
    assert "'name' is another in each row, and was taken for names of objects" in said
    assert "'age' interordinal, 'city' nominal, 'member' as it is" in said
    assert "'height' has no value in 1 of 4 rows" in said
    assert context.record["scales"]["age"] == ["age>=30", "age<30", "age>=52", "age<52"]


@pytest.mark.parametrize(
    ("scale", "attributes"),
    [
        ("nominal", ["x=1", "x=2", "x=5", "x=9"]),
        ("ordinal", ["x>=2", "x>=5", "x>=9"]),
        ("interordinal", ["x>=2", "x<2", "x>=5", "x<5", "x>=9", "x<9"]),
        ("ordinal/2", ["x>=5"]),
        ("interordinal:3, 7.5", ["x>=3", "x<3", "x>=7.5", "x<7.5"]),
        ("none", []),
    ],
)
def test_each_scale_makes_its_attributes(scale, attributes):
    frame = pd.DataFrame({"x": [2, 1, 5, 9], "y": ["a", "b", "a", "b"]})
    context = bicliq.scale(frame, {"x": scale, "y": "nominal"})
    assert context.attributes.to_pylist() == [*attributes, "y=a", "y=b"]
    assert context.account["assumed"] == []


def test_ordered_categories_and_times_have_an_order():
    sizes = pd.Categorical(["S", "L", "M", None], ["S", "M", "L"], ordered=True)
    frame = pd.DataFrame({"size": sizes, "day": pd.to_datetime(["2020-01-01", "2021-05-05", None, "2020-01-01"])})
    context = bicliq.scale(frame, {"size": "ordinal"})
    assert crosses(context)[1] == {"size>=M", "size>=L", "day>=2021-05-05 00:00:00"}
    assert crosses(context)[3] == set()
    assert bicliq.scale(frame, {"size": "interordinal:L", "day": "none"}).attributes.to_pylist() == [
        "size>=L",
        "size<L",
    ]


@pytest.mark.parametrize("seed", range(5))
def test_attributes_hold_where_their_names_say_so(seed):
    chance = np.random.default_rng(seed)
    for _ in range(40):
        n = int(chance.integers(1, 30))
        columns = {}
        for name in "abc":
            values = chance.choice(chance.normal(size=chance.integers(1, 14)).round(2), n)
            columns[name] = np.where(chance.random(n) < 0.1, np.nan, values)
        kinds = ("nominal", "ordinal", "interordinal", "ordinal/3", "interordinal/4", "ordinal:-0.5,0.5")
        scales = {name: str(chance.choice(kinds)) for name in columns if chance.random() < 0.8}
        make = pl.DataFrame if chance.random() < 0.5 else pd.DataFrame
        context = bicliq.scale(make(columns), scales)
        found = crosses(context)
        for attribute in context.attributes.to_pylist():
            name, how, level = re.fullmatch("(.)(>=|<|=)(.+)", attribute).groups()
            holds = HOLDS[how](columns[name], float(level))
            assert [g for g, has in found.items() if attribute in has] == np.flatnonzero(holds).tolist()
        for name, scale in scales.items():
            known = {value for value in columns[name] if value == value}
            own = [one for one in context.record["scales"][name]]
            levels = {"nominal": len(known), "ordinal": max(len(known) - 1, 0), "ordinal:-0.5,0.5": 2}
            assert len(own) == levels.get(scale, len(own))


@pytest.mark.parametrize(
    ("scales", "reading", "said"),
    [
        ({"city": "ordinal"}, {}, "cannot be ordinal; take nominal"),
        ({"age": "ord"}, {}, "is none of nominal"),
        ({"age": "nominal:3"}, {}, "is none of nominal"),
        ({"age": "ordinal/1"}, {}, "is none of nominal"),
        ({"age": "ordinal:old"}, {}, "cannot be cut at 'old'"),
        ({"agee": "ordinal"}, {}, "has no column 'agee'; there are"),
        ({}, {"right": "age"}, "right is for edge tables"),
        ({}, {"left": "city"}, "2 objects are called 'Oslo'"),
        ({}, {"left": "town"}, "'town' is no column"),
        ({"name": "nominal"}, {"left": "name"}, "is scaled, too"),
    ],
)
def test_what_has_no_scale_is_a_sentence(scales, reading, said, tmp_path):
    with pytest.raises(bicliq.InputError, match=re.escape(said)):
        bicliq.scale(people(tmp_path), scales, **reading)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3\n", "line 3: '3' has 1 fields, and 2 columns have names"),
        ("a,a\n1,2\n", "2 columns are called 'a'"),
        ("a,\n1,2\n", "some columns have no name"),
        ("a,b\n", "has no row below the names"),
        ("a=b,a\nc,b=c\n", "2 attributes are called 'a=b=c'"),
    ],
)
def test_tables_that_cannot_be_scaled_are_refused(text, said, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(bicliq.InputError, match=re.escape(said)):
        bicliq.scale(path)


def test_other_files_and_lists_are_refused(tmp_path):
    (tmp_path / "t.mtx").write_text("1 2\n")
    for source, said in ((tmp_path / "t.mtx", "no file of columns"), ([["a", "b"]], "no columns with names")):
        with pytest.raises(bicliq.InputError, match=said):
            bicliq.scale(source)
    lists = pd.DataFrame({"l": [["a"], ["b"]], "x": [1, 2]})
    with pytest.raises(bicliq.InputError, match="holds lists"):
        bicliq.scale(lists)
    assert bicliq.scale(lists, {"l": "none"}).attributes.to_pylist() == ["x>=2", "x<2"]


def test_the_command_scales_what_the_function_does(capsys, tmp_path):
    path = people(tmp_path)
    asked = ["lattice", str(path), "--json", "--scale", "age=ordinal:18,50", "--scale", "zip=none"]
    assert invoke(asked) == 0
    record = json.loads(capsys.readouterr().out)
    context = bicliq.scale(path, {"age": "ordinal:18,50", "zip": "none"})
    assert record["scales"] == context.record["scales"]
    assert record["n_concepts"] == len(bicliq.concepts(context))
    parquet = tmp_path / "people.parquet"
    pd.DataFrame({"age": [1, 2], "city": ["a", "b"]}).to_parquet(parquet)
    assert invoke(["lattice", str(parquet), "--scale", "auto", "--implications", "direct", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] == len(bicliq.implications(bicliq.scale(parquet), "direct"))
    for wrong, said in ((["--scale", "age"], "names no column and its scale"), (["--scale", "age=none"] * 2, "twice")):
        assert invoke(["lattice", str(path), *wrong]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "attributes", "objects"),
    [
        ("# of 2026\nid,age\n1,20\n2,30\n3,30\n", ["age>=30", "age<30"], ["1", "2", "3"]),
        ("#id,age\n1,20\n2,30\n3,30\n", ["age>=30", "age<30"], ["1", "2", "3"]),
        ("sep=;\nage;x\n1,5;7\n2,5;7\n", ["age=1,5", "age=2,5"], [0, 1]),
        ("age\n3\n3.0\n4\n", ["age>=4", "age<4"], [0, 1, 2]),
    ],
)
def test_the_head_of_a_table_is_read_as_it_is_meant(text, attributes, objects, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    context = bicliq.scale(path)
    assert context.attributes.to_pylist() == attributes
    assert context.objects.to_pylist() == objects
    assert any("names of columns" in sentence for sentence in context.account["assumed"])
    assert any("comments" in sentence for sentence in context.account["assumed"]) == text.startswith("# ")


def test_odd_numbers_are_values_as_they_are():
    frame = pd.DataFrame({"x": [1.0, np.inf, -np.inf], "n": [2**60, 2**60 + 1, 5], "none": [None, None, None]})
    context = bicliq.scale(frame)
    assert context.attributes.to_pylist() == [
        *("x>=1", "x<1", "x>=inf", "x<inf"),
        *(f"n{how}{2**60 + one}" for one in (0, 1) for how in (">=", "<")),
    ]
    assert crosses(context)[1] == {"x>=1", "x>=inf", f"n>={2**60}", f"n>={2**60 + 1}"}
    assert "'none' has no value in 3 of 3 rows" in "".join(context.account["assumed"])
