"""The names of `kernels` are the same things whatever is imported first."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from bicliq import kernels

SUBMODULES = sorted(name for _, name, _ in pkgutil.iter_modules(kernels.__path__) if not name.startswith("_"))


def test_no_public_name_is_a_submodules():
    assert {"clique", "counting", "enumeration"} <= set(SUBMODULES)
    assert not set(kernels.__all__) & set(SUBMODULES)


@pytest.mark.parametrize("first", SUBMODULES)
def test_a_name_is_the_same_whichever_module_is_imported_first(first):
    script = f"import bicliq.kernels.{first}; from bicliq import kernels; print([getattr(kernels, n).__module__ for n in kernels.__all__])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([getattr(kernels, name).__module__ for name in kernels.__all__])
