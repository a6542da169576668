"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import bicliq

FACE = [f"bicliq.{path.stem}" for path in Path(bicliq.__file__).parent.glob("*.py") if path.stem != "__init__"]
MODULES = [
    "bicliq",
    *FACE,
    *(
        name
        for package in ("bicliq.kernels", "bicliq.pipeline", "bicliq.flows")
        for name in (
            package,
            *(each.name for each in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")),
        )
        if "._cpu" not in name and not name.endswith("__main__")  # the extensions, and what runs when imported
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    examples = [case for name in MODULES for case in finder.find(importlib.import_module(name)) if case.examples]
    assert len(examples) > 40
