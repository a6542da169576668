"""Prose in files: comments on lines of their own, docstrings, and paragraphs of Markdown."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import ROOT, tree_of

WIDTH = 100
"""Columns of prose."""

HASH_FILES = {"", ".toml", ".yaml", ".yml", ".txt", ".sh"}
DIRECTIVE = re.compile(r"\s*(#|//)\s*(noqa|fmt:|type:|ruff:|mypy:|pragma|!|%%|clang-format|NOLINT)")
COLUMNS = re.compile(r"\S {2,}\S")
"""Text whose spaces say something: a table or a drawing."""

CPP = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"([^()\s\\]*)\(.*?\)\1" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE,
)
"""Comments of C++, and what may hold the marks of one without being one."""


def too_wide(path: Path) -> list[tuple[int, int]]:
    """Lines of prose beyond `WIDTH` columns: their numbers from 1, and their columns.

    Tables, code, examples, text in columns, directives and lines that hold one long word (a URL)
    may be wider.
    """
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
    return [
        (number, len(lines[number - 1]))
        for number in prose_lines(path, lines)
        if len(lines[number - 1]) > WIDTH and not _may_be_wide(lines[number - 1])
    ]


def prose_lines(path: Path, lines: list[str]) -> Iterator[int]:
    """Numbers of the lines that are prose."""
    if path.suffix == ".py":
        yield from _python(path, lines)
    elif path.suffix in (".hpp", ".cpp", ".cu"):
        yield from _cpp(lines)
    elif path.suffix == ".md":
        yield from _markdown(lines)
    elif path.suffix in HASH_FILES:
        yield from (number for number, line in enumerate(lines, 1) if line.lstrip().startswith("#"))


def _may_be_wide(line: str) -> bool:
    longest = max((len(word) for word in line.split()), default=0)
    return bool(DIRECTIVE.match(line) or COLUMNS.search(line.strip())) or longest > WIDTH - 20


def _python(path: Path, lines: list[str]) -> Iterator[int]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            example = False
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                line = lines[number - 1].strip()
                example = bool(line) and (example or line.startswith(">>>"))
                if not example:
                    yield number
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            yield token.start[0]


def _cpp(lines: list[str]) -> Iterator[int]:
    text = "\n".join(lines)
    for match in CPP.finditer(text):
        if match.group(0).startswith(("//", "/*")):
            first = text.count("\n", 0, match.start()) + 1
            if not lines[first - 1].split("/", 1)[0].strip():
                yield from range(first, first + match.group(0).count("\n") + 1)


def _markdown(lines: list[str]) -> Iterator[int]:
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|") and not line.startswith("!["):
            yield number
