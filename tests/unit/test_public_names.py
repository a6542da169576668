"""What `kernels` offers: these names and no others, each with a docstring, whatever is imported first."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

import pytest

import kernels
from kernels import (
    Backend,
    BackendError,
    BicliqError,
    BicliqueBatch,
    BicliqueStream,
    CapacityError,
    CliqueResult,
    CountResult,
    CountTable,
    EnumerationResult,
    Progress,
    available_threads,
    choose_count,
    choose_side,
    count_all_bicliques,
    count_bicliques,
    enumerate_maximal_bicliques,
    group_roots,
    maximum_clique,
    project_one_mode,
    set_digest,
    stream_maximal_bicliques,
    why_not,
)

TYPES = [
    Backend, BackendError, BicliqError, BicliqueBatch, BicliqueStream, CapacityError, CliqueResult, CountResult, CountTable,
    EnumerationResult, Progress,
]  # fmt: skip
FUNCTIONS = [
    available_threads, choose_count, choose_side, count_all_bicliques, count_bicliques, enumerate_maximal_bicliques, group_roots,
    maximum_clique, project_one_mode, set_digest, stream_maximal_bicliques, why_not,
]  # fmt: skip
SUBMODULES = sorted(name for _, name, _ in pkgutil.iter_modules(kernels.__path__) if not name.startswith("_"))


def test_the_public_names_are_these():
    assert kernels.__all__ == sorted(one.__name__ for one in TYPES + FUNCTIONS)
    assert all(inspect.isclass(one) for one in TYPES)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_says_what_it_takes_and_returns(function):
    assert inspect.getdoc(function)
    assert "return" in inspect.get_annotations(function)


def test_no_public_name_is_a_submodules():
    assert {"clique", "counting", "enumeration"} <= set(SUBMODULES)
    assert not set(kernels.__all__) & set(SUBMODULES)


@pytest.mark.parametrize("first", SUBMODULES)
def test_a_name_is_the_same_whichever_module_is_imported_first(first):
    script = f"import kernels.{first}, kernels; print([getattr(kernels, n).__module__ for n in kernels.__all__])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([getattr(kernels, name).__module__ for name in kernels.__all__])
