"""Imports go down only: flows -> pipeline -> kernels; optional libraries are never imported at module level."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ABOVE_KERNELS = {"pipeline", "flows", "dask", "distributed", "prefect", "pandas", "pyarrow", "fsspec", "typer", "rich"}
FORBIDDEN = {
    "kernels": ABOVE_KERNELS,
    "pipeline": {"flows", "prefect", "typer", "rich"},
}
OPTIONAL = {"cupy", "cudf", "cugraph", "dask_cuda", "dask_cudf", "rmm", "s3fs", "duckdb"}


def imported(path: Path, *, top_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level else list(ast.walk(tree))
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def modules(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, f"no modules in {package}"
    return found


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_imports_go_down_only(package: str) -> None:
    for path in modules(package):
        assert not imported(path) & FORBIDDEN[package], path


@pytest.mark.parametrize("package", ["kernels", "pipeline", "flows"])
def test_optional_libraries_are_not_imported_at_module_level(package: str) -> None:
    for path in modules(package):
        assert not imported(path, top_level=True) & OPTIONAL, path


def test_help_loads_none_of_the_heavy_libraries() -> None:
    script = "import sys; from flows.cli import invoke; code = invoke(['--help']); print(sorted(m for m in ('prefect', 'dask', 'pandas', 'pyarrow') if m in sys.modules), file=sys.stderr); sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
