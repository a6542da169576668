"""Imports go down only, between storeys and between rooms; optional libraries are imported where
they are used."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter

import pytest

from bicliq.flows.cli import invoke
from bicliq.pipeline.extras import EXTRAS, PROTOCOLS
from tests.house.rooms import MAY_IMPORT, STILL_TO_MEND, allowed, room_of
from tests.house.sources import PACKAGES, ROOT, files, imports, modules, tree_of

ABOVE_KERNELS = {"dask", "distributed", "prefect", "pandas", "pyarrow", "fsspec", "typer", "rich"}
ABOVE_PIPELINE = {"prefect", "typer", "rich"}
OPTIONAL = {module for extra in EXTRAS.values() for module in extra.modules} | {"psutil", "sqlalchemy", "fastapi"}
"""What is not in the core. Flows are made of Prefect."""
OF_A_CLUSTER = {
    "bicliq.pipeline.placement.batches": {"distributed"},
    "bicliq.pipeline.placement.dashboard": {"distributed"},
    "bicliq.pipeline.placement.dashboard_page": {"bokeh", "distributed"},
}


def libraries(name: str, *, when_loaded: bool = False) -> set[str]:
    """Top-level names that a module imports."""
    tree = tree_of(modules()[name])
    found = set()
    for node in tree.body if when_loaded else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_every_module_is_in_a_room_of_the_table():
    homeless = [str(path) for name, path in modules().items() if room_of(name) is None]
    assert not homeless, f"say in tests/house/rooms.py what these may import: {homeless}"


def test_every_room_of_the_table_exists():
    gone = [room for room in MAY_IMPORT if room not in modules()]
    assert not gone, f"take these out of tests/house/rooms.py: {gone}"


def test_the_table_of_rooms_has_no_cycle():
    rooms = {
        room: {other for other in MAY_IMPORT if other != room and allowed(room, other)}
        for room in MAY_IMPORT
        if room not in ("bicliq.kernels", "bicliq.kernels.cuda")
    }
    assert list(TopologicalSorter(rooms).static_order())


def test_rooms_import_only_what_the_table_allows():
    wrong = [
        f"{each}: {room} may import {MAY_IMPORT[room]} only"
        for each in imports()
        if (room := room_of(each.importer)) is not None
        and not allowed(room, each.imported)
        and (each.importer, each.imported) not in STILL_TO_MEND
    ]
    assert not wrong, "move what is imported to a room below (tests/house/rooms.py has the table):\n" + "\n".join(wrong)


def test_what_was_mended_is_off_the_list():
    present = {(each.importer, each.imported) for each in imports()}
    mended = [pair for pair in STILL_TO_MEND if pair not in present]
    assert not mended, f"take these out of STILL_TO_MEND in tests/house/rooms.py: {mended}"


def test_no_modules_import_each_other_when_they_are_loaded():
    graph: dict[str, set[str]] = {name: set() for name in modules()}
    for each in imports():
        if each.when == "loaded" and each.imported != each.importer:
            graph[each.importer].add(each.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(
            f"imports in a circle: {' <- '.join(error.args[1])}; import inside a function, or move what both need"
        )


def test_the_kernels_know_neither_tables_nor_clusters():
    for name in modules():
        if name.startswith("bicliq.kernels"):
            assert not libraries(name) & ABOVE_KERNELS, modules()[name]


def test_the_pipeline_knows_neither_prefect_nor_a_terminal():
    for name in modules():
        if name.startswith("bicliq.pipeline"):
            assert not libraries(name) & ABOVE_PIPELINE, modules()[name]


@pytest.mark.parametrize("package", PACKAGES)
def test_optional_libraries_are_not_imported_at_module_level(package):
    of_package = [name for name in modules() if name == package or name.startswith(f"{package}.")]
    assert of_package
    for name in of_package:
        flow = {"prefect"} if room_of(name) == "bicliq.flows" else set()
        assert libraries(name, when_loaded=True) & OPTIONAL <= OF_A_CLUSTER.get(name, flow), modules()[name]


def test_help_loads_none_of_the_heavy_libraries():
    heavy = ("prefect", "dask", "pandas", "pyarrow", "numpy", "pydantic")
    script = (
        "import sys; from bicliq.flows.cli import invoke; code = invoke(['--help']);"
        f" print([m for m in {heavy} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    "command", ["run", "verify", "enumerate", "count", "find", "clique", "update", "top", "show", "diff"]
)
def test_a_small_table_loads_neither_pandas_nor_scipy_nor_a_cluster(command, tmp_path):
    (tmp_path / "edges.csv").write_text("a,b\nx,1\nx,2\ny,2\nz,3\n")
    (tmp_path / "more.csv").write_text("a,b\nx,3\nw,2\n")
    table, more, store = str(tmp_path / "edges.csv"), str(tmp_path / "more.csv"), ["--store", str(tmp_path / "store")]
    before = {"verify": ("run",), "update": ("run",), **dict.fromkeys(("top", "show", "diff"), ("run", "update"))}
    arguments = {"run": [table, *store], "update": [more, *store], "count": [table, "2", "2"]}
    arguments |= dict.fromkeys(("verify", "top", "show", "diff"), store)
    for made in before.get(command, ()):
        assert invoke([made, *arguments[made]]) == 0
    heavy = ("pandas", "scipy", "dask", "distributed", "prefect", "matplotlib", "pygments")
    line = [command, *arguments.get(command, [table]), "--json"]
    script = (
        f"import sys; from bicliq.flows.cli import invoke; code = invoke({line});"
        f" print([m for m in {heavy} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"  # after what was taken for granted


def extras_named() -> set[str]:
    """Extras that code, notebooks and pages tell people to install, or import the libraries of."""
    named = set(
        re.findall(r"bicliq\[([a-z0-9,-]+)\]", "".join((ROOT / path).read_text() for path in files(".py", ".md")))
    )
    for path in files(".py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("needs", "install"):
                named |= {word.value for word in node.args[:1] if isinstance(word, ast.Constant)}
    return {extra for names in (*named, *PROTOCOLS.values()) for extra in names.split(",")}


def test_every_extra_that_is_named_is_one():
    named = extras_named()
    assert set(EXTRAS) - named <= {"gpu-cu12"}  # which doctor names
    assert named <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_extras_are_those_of_the_package():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {*EXTRAS, "all", "dev", "docs", "notebooks"} == set(named)
    for name, extra in EXTRAS.items():
        wanted = " ".join(named[name]).lower().replace("-", "_")
        assert all(module in wanted for module in extra.modules if module != "rmm"), name  # which cuDF brings
