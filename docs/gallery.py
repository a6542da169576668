"""Draws the pictures of gallery.md again: runs its Python blocks, in the folder of the clone."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).with_name("gallery.md")


def blocks(page: Path = PAGE) -> list[str]:
    """Python blocks of a page, in their order."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def draw(page: Path = PAGE) -> None:
    """Run every block of a page, each by itself."""
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), {"__name__": "gallery"})


if __name__ == "__main__":
    draw()
