"""`make odr` sees two classes of one name, whose functions are small enough to vanish as well."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.sources import ROOT

ONE = "struct Sizes { int a; int f() const { return a; } };\nint one(int x) { return Sizes{x}.f(); }\n"
OTHER = (
    "struct Sizes { long a, b; long f() const { return a + b; } };\n"
    "int one(int);\nlong two(long x) { return Sizes{x, x}.f() + one(3); }\n"
)


def said_of(folder: Path, *sources: str) -> str:
    """What a compiler says against sources that become one module, with the options of the job."""
    (options,) = re.findall(r"set\(whole (.+)\)", (ROOT / "kernels" / "src" / "CMakeLists.txt").read_text())
    for number, source in enumerate(sources):
        (folder / f"{number}.cpp").write_text(source)
    command = ["g++", "-shared", "-fPIC", "-O3", *options.split(), *sorted(folder.glob("*.cpp")), "-o", folder / "a.so"]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no GCC")
def test_two_classes_of_one_name_end_the_job(tmp_path: Path) -> None:
    assert "type 'struct Sizes' violates the C++ One Definition Rule" in said_of(tmp_path, ONE, OTHER)
    assert said_of(tmp_path, ONE, OTHER.replace("Sizes", "Limits")) == ""
