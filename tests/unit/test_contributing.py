"""What CONTRIBUTING.md has others copy compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig

import pytest

from tests.house.sources import ROOT


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no compiler")
def test_the_sink_compiles() -> None:
    nanobind = pytest.importorskip("nanobind")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```cpp\n(.+?)^```", page, re.DOTALL | re.MULTILINE)
    folders = ROOT / "kernels" / "src", nanobind.include_dir(), sysconfig.get_path("include")
    done = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", "-x", "c++", "-DBICLIQ_ISA=portable", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
        + [f"-I{folder}" for folder in folders]
        + ["-"],
        input=source,
        text=True,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
