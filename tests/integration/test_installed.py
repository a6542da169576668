"""The wheel, installed: beside packages named like our folders, and with nothing but the core."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bicliq.pipeline.extras import EXTRAS
from tests.nightly import by_night

ROOT = Path(__file__).parents[2]
SETTINGS = {"cmake.define.BICLIQ_TESTS": "ON"}  # for the rest as `make setup-dev` has compiled it
WOMEN = str(ROOT / "tests/data/southern-women.parquet")
MOST_PACKAGES = 25


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    built = tmp_path_factory.mktemp("wheel")
    program = f"from scikit_build_core import build; build.build_wheel({str(built)!r}, {SETTINGS!r})"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    (found,) = built.glob("*.whl")
    return found


def installed(folder: Path, wheel: Path) -> tuple[Path, Path]:
    """A new environment with the wheel and nothing else: its Python and its site-packages."""
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    pip(python, "--no-index", "--no-deps", str(wheel))
    return python, folder / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def pip(python: Path, *what: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--python",
        str(python),
        "install",
    ]
    return subprocess.run([*command, *what], capture_output=True, text=True, check=False)


def ten_lines() -> str:
    page = (ROOT / "README.md").read_text()
    return page.split("## Ten lines of Python")[1].split("```python\n")[1].split("```")[0]


def run_ten_lines(python: Path, folder: Path, before: str = "", after: str = "") -> str:
    """Run README's lines in a folder that has its tables; what the lines around them print last."""
    (folder / "tests").symlink_to(ROOT / "tests")
    program = f"{before}\n{ten_lines()}\n{after}"
    done = subprocess.run([python, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / "groups.csv").read_text().startswith('"biclique_id","side","label"')
    return done.stdout.splitlines()[-1]


@by_night
def test_the_wheel_lives_beside_packages_named_like_our_folders(wheel, tmp_path):
    python, site = installed(tmp_path / "beside", wheel)
    if (found := pip(python, "--no-deps", "kernels")).returncode:
        pytest.skip(f"PyPI's kernels cannot be had here: {found.stderr.strip()[-200:]}")
    theirs = {path: path.read_bytes() for path in (site / "kernels").rglob("*.py")}
    for name in ("pipeline", "flows"):
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(f"OWNER = 'the maker of {name}'\n")
    assert not pip(python, "--no-index", "--no-deps", "--force-reinstall", str(wheel)).returncode
    assert theirs
    assert all(path.read_bytes() == text for path, text in theirs.items())
    (site / "libraries.pth").write_text(str(Path(distribution("numpy").locate_file(""))))
    told = run_ten_lines(
        python, tmp_path, "import flows, pipeline", "print(pipeline.OWNER, flows.OWNER, bicliq.__file__)"
    )
    assert told == f"the maker of pipeline the maker of flows {site}/bicliq/__init__.py"


def packages_of(*extras: str) -> set[str]:
    """Packages that the core and some extras need, and what these need."""
    found: set[str] = set()
    wanted = [("bicliq", extras)]
    while wanted:
        package, extras = wanted.pop()
        for line in distribution(package).requires or ():
            need = Requirement(line)
            name = need.name.lower().replace("_", "-")
            taken = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))
            if taken and name not in found:
                found.add(name)
                wanted.append((name, tuple(need.extras)))
    return found


def environment(folder: Path, wheel: Path, *extras: str) -> Path:
    """An environment with the wheel, the libraries of the core and of some extras: its command."""
    _, site = installed(folder / "venv", wheel)
    for name in packages_of(*extras):
        for path in {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}:
            if not (site / path).exists():
                (site / path).symlink_to(distribution(name).locate_file(path))
    return folder / "venv/bin/bicliq"


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    return environment(tmp_path_factory.mktemp("core"), wheel)


def run(command: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *words], cwd=folder, capture_output=True, text=True, check=False)


def test_the_core_is_small(core):
    assert len(packages_of()) < MOST_PACKAGES, packages_of()
    facts = json.loads(run(core, core.parent, "doctor", "--json").stdout)
    assert all("not installed" in facts[f"extra {name}"] for name in EXTRAS)


def test_the_ten_lines_need_the_core_alone(core, tmp_path):
    assert run_ten_lines(core.parent / "python", tmp_path, after="print(big.run.manifest.complete)") == "True"


def test_the_core_answers_every_question(core, tmp_path):
    (tmp_path / "more.csv").write_text("u,v\n1,13\n")
    questions = [
        f"run {WOMEN} --store s",
        "verify --store s",
        "top --store s",
        "show --store s",
        "report --store s --out page.html",
        "export groups.csv --store s",
        "export groups.graphml --store s",
        "update more.csv --store s",
        "diff --store s",
        "compact --store s",
        "runs --store s",
        f"estimate {WOMEN}",
        f"enumerate {WOMEN}",
        f"find {WOMEN} --by surprise",
        f"count {WOMEN} 2 2",
        f"clique {WOMEN} --project left",
    ]
    program = (
        f"from bicliq.flows.cli import invoke\nfor words in {questions}:\n    assert invoke(words.split()) == 0, words"
    )
    done = subprocess.run(
        [core.parent / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@by_night
def test_a_cluster_needs_its_extra_alone(wheel, tmp_path):
    done = run(environment(tmp_path, wheel, "cluster"), tmp_path, "run", WOMEN, "--store", "s", "--workers", "1")
    assert done.returncode == 0, done.stderr


EXTRAS_NEEDED = [
    (f"run {WOMEN} --store s --workers 2", "dask", "cluster"),
    (f"run {WOMEN} --store s --scheduler tcp://127.0.0.1:1", "dask", "cluster"),
    (f"run {WOMEN} --store s --no-local", "dask", "cluster"),
    (f"run {WOMEN} --store s --prefect", "prefect", "flows"),
    (f"count {WOMEN} 2 2 --store s --prefect", "prefect", "flows"),
    ("update more.csv --store s --prefect", "prefect", "flows"),
    (f"serve {WOMEN} --store s", "prefect", "flows"),
    (f"estimate {WOMEN} --picture p.svg", "matplotlib", "plots"),
    (f"run {WOMEN} --store s3://bucket/s", "s3fs", "s3"),
    ("run gs://bucket/edges.csv --store s", "gcsfs", "gcs"),
    (f"run {WOMEN} --store az://bucket/s", "adlfs", "azure"),
    (f"run {WOMEN} --store s --lineage http://localhost:1", "openlineage", "openlineage"),
    ("export groups.duckdb --store made", "duckdb", "frames"),
    ("export groups.delta --store made", "deltalake", "delta"),
]
"""A command, what it lacks, and the extra that brings it."""

REFUSED = """
import contextlib, io, json, sys
from bicliq.flows.cli import invoke
for words in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        code = invoke(words.split())
    print(json.dumps([code, out.getvalue(), said.getvalue()]))
"""


def test_what_an_extra_brings_is_named_in_one_sentence(core, tmp_path):
    assert run(core, tmp_path, "run", WOMEN, "--store", "made").returncode == 0
    asked = [core.parent / "python", "-c", REFUSED, *(words for words, _, _ in EXTRAS_NEEDED)]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    for line, (words, library, extra) in zip(done.stdout.splitlines(), EXTRAS_NEEDED, strict=True):
        code, out, said = json.loads(line)
        assert (code, out) == (2, ""), (words, said)
        assert f"pip install 'bicliq[{extra}]'" in said, words
        assert library in said
        assert len(said.splitlines()) == 1


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_a_notebook_runs_on_the_core_or_names_its_extras(core, tmp_path, notebook):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    done = subprocess.run(
        [core.parent / "python", "-c", notebook.read_text()], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    wanted = re.findall(r"Needs\s+(?:# )?`(bicliq\[.+?\])`", notebook.read_text())
    if wanted:
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].endswith(f"which is not installed: pip install '{wanted[0]}'")
    else:
        assert done.returncode == 0, done.stderr
