"""What is public is there, is shown in an example, and is used by a test."""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

from tests.house.sources import files, modules, tree_of

FACES = ("bicliq.kernels", "bicliq")
"""Packages whose names are the library that others import."""

STILL_TO_TEST = {
    "bicliq.pipeline.formats",
}
"""Modules of whose public names some are used by no test. Only ever fewer."""


@cache
def public_names() -> dict[str, list[str]]:
    """Names of `__all__` by module."""
    found = {}
    for module, path in modules().items():
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found[module] = list(ast.literal_eval(node.value))
    return found


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs (module, name) that a file takes: by name, or as an attribute of a module that it
    imports."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
            aliases |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in aliases:
            yield aliases[ast.unparse(node.value)], node.attr


@cache
def used_by_tests() -> set[tuple[str, str]]:
    """All that the tests take from the packages, but for what these rules themselves do."""
    paths = [path for path in files(".py") if path.parts[0] == "tests" and path.parts[1] != "house"]
    return {pair for path in paths for pair in imported_names(path)}


def homes(module: str, name: str) -> set[tuple[str, str]]:
    """Where a name can be taken from: the module that shows it, and the one that it comes from."""
    taken = {(source, one) for source, one in imported_names(modules()[module]) if one == name}
    return {(module, name), *taken}


def test_there_are_public_names():
    assert {"bicliq", "bicliq.kernels", "bicliq.pipeline.formats"} <= set(public_names())


@pytest.mark.parametrize("module", sorted(public_names()))
def test_public_names_are_there(module):
    shown = importlib.import_module(module)
    missing = [name for name in public_names()[module] if not hasattr(shown, name)]
    assert not missing, f"{modules()[module]}: __all__ names {missing}, which are not there"


@pytest.mark.parametrize("module", sorted(public_names()))
def test_no_public_name_is_that_of_a_module(module):
    """Whoever imports a module of that name would find it in the place of the public thing."""
    shown = importlib.import_module(module)
    beside = {found.name for found in iter_modules(getattr(shown, "__path__", []))}
    assert not beside & set(public_names()[module])
    assert not [name for name in public_names()[module] if isinstance(getattr(shown, name), ModuleType)]


@pytest.mark.parametrize(
    "first", ["", "import bicliq.pipeline.stages.search_run, bicliq.pipeline.run, bicliq.kernels.clique"]
)
@pytest.mark.parametrize("face", FACES)
def test_public_names_are_the_same_in_any_order_of_imports(face, first):
    script = f"{first}\nimport {face}\nprint(*(type(getattr({face}, n)).__name__ for n in {face}.__all__))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout
    assert "module" not in done.stdout.split()


@pytest.mark.parametrize("module", sorted(public_names()))
def test_public_names_are_used_by_a_test(module):
    unused = [name for name in public_names()[module] if not homes(module, name) & used_by_tests()]
    if module in STILL_TO_TEST:
        assert unused, f"take {module} off STILL_TO_TEST"
        return
    assert not unused, f"{modules()[module]}: no test imports {unused}; test them, or take them out of __all__"


@pytest.mark.parametrize("face", FACES)
def test_public_names_are_shown_in_an_example(face):
    """A function has an example of its own."""
    shown = importlib.import_module(face)
    missing = []
    for name in public_names()[face]:
        thing = getattr(shown, name)
        elsewhere = isinstance(thing, type)
        if not elsewhere and not examples_of(thing):
            missing.append(name)
    assert not missing, f"{face}: no example shows {missing}; write one in their docstrings, or in that of {face}"


def examples_of(thing: object, *, recurse: bool = True) -> str:
    """The code of the examples in the docstrings of a module, a class or a function."""
    cases = doctest.DocTestFinder(recurse=recurse).find(thing, "thing")
    return "\n".join(example.source for case in cases for example in case.examples)
