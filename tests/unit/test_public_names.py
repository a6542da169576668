"""The names of `kernels` are the same things whatever is imported first."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

from bicliq import kernels

SUBMODULES = sorted(name for _, name, _ in pkgutil.iter_modules(kernels.__path__) if not name.startswith("_"))


def test_no_public_name_is_a_submodules():
    assert {"clique", "counting", "enumeration"} <= set(SUBMODULES)
    assert not set(kernels.__all__) & set(SUBMODULES)


IMPORTED_FIRST = """
import importlib, sys
for first in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "bicliq" and "._" not in name]:
        del sys.modules[name]  # but the extension, which is loaded once
    importlib.import_module(f"bicliq.kernels.{first}")
    from bicliq import kernels
    print(first, [getattr(kernels, name).__module__ for name in kernels.__all__])
"""


def test_names_are_the_same_whichever_module_is_imported_first():
    command = [sys.executable, "-c", IMPORTED_FIRST, *SUBMODULES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = [getattr(kernels, name).__module__ for name in kernels.__all__]
    assert done.stdout.splitlines() == [f"{first} {modules}" for first in SUBMODULES]
