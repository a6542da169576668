"""The files of the house, and what their modules import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("bicliq.kernels", "bicliq.pipeline", "bicliq.flows", "bicliq")
"""Each is a folder at the top, named by its last part."""

CODE = {".py", ".hpp", ".cpp", ".cu"}
NOT_OURS = {"__pycache__", ".venv", ".ruff_cache", "build", ".git"}


@cache
def files(*suffixes: str) -> list[Path]:
    """Files of the house with these suffixes, as paths from its root."""
    rooms = [
        ROOT / room for room in ("benchmarks", "bicliq", "kernels", "pipeline", "flows", "tests", "notebooks", "docs")
    ]
    found = [*ROOT.glob("*"), *(path for room in rooms for path in room.rglob("*"))]
    return sorted(
        path.relative_to(ROOT)
        for path in found
        if path.is_file() and path.suffix in suffixes and not NOT_OURS & set(path.relative_to(ROOT).parts)
    )


@cache
def modules() -> dict[str, Path]:
    """Modules of the packages by their dotted names."""
    named = {}
    for path in files(".py"):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        if path.parts[0] == "bicliq":
            named[name] = path
        elif f"bicliq.{path.parts[0]}" in PACKAGES:
            named[f"bicliq.{name}"] = path
    return named


@cache
def tree_of(path: Path) -> ast.Module:
    """Syntax tree of a Python file of the house."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Import:
    """One module of the house imports another."""

    importer: str
    imported: str
    line: int
    when: str
    """"loaded" (at module level), "called" (inside a function) or "typed" (for type checkers
    only)."""

    def __str__(self) -> str:
        return f"{modules()[self.importer]}:{self.line}: {self.importer} imports {self.imported}"


@cache
def imports() -> list[Import]:
    """Every import between modules of the packages."""
    return [one for name, path in modules().items() for one in _imports_of(name, tree_of(path))]


def _imports_of(name: str, tree: ast.Module) -> Iterator[Import]:
    for node, when in _with_times(tree, "loaded"):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names if alias.name in modules()]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{modules()[name]}:{node.lineno}: a relative import; write the whole name"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [each if each in modules() else str(node.module) for each in inside]
            targets = [each for each in dict.fromkeys(targets) if each in modules()]
        else:
            continue
        for target in targets:
            yield Import(name, target, node.lineno, when)


def _with_times(node: ast.AST, when: str) -> Iterator[tuple[ast.AST, str]]:
    """All nodes, and whether they run when the module is loaded, when a function is called, or
    never."""
    for child in ast.iter_child_nodes(node):
        at = when
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            at = "called" if when == "loaded" else when
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            at = "typed"
        yield child, at
        yield from _with_times(child, at)
