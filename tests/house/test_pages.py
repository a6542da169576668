"""The pages of the documentation: links lead somewhere, decisions keep their form."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
DECISION = re.compile(r"^### (\d+)\. (.+)$", re.MULTILINE)
NAMED = re.compile(r"(?:\bdecision |decisions\.md\)?, )(\d+)")
PARTS = ("Context", "Decision", "Consequence")
PAGES = files(".md")


@cache
def text_of(path: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchor_of(heading: str) -> str:
    """The anchor that a reader of Markdown makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    return {anchor_of(heading) for heading in HEADING.findall(text_of(path))}


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_links_lead_somewhere(path):
    for link in LINK.findall(text_of(path)):
        if "://" in link:
            continue
        page, _, anchor = link.partition("#")
        target = (ROOT / path.parent / page).resolve() if page else ROOT / path
        assert target.exists(), f"{path}: {link} leads nowhere"
        if anchor:
            named = target.relative_to(ROOT)
            assert anchor in anchors(named), f"{path}: {named} has no heading #{anchor}"


def test_every_page_of_the_docs_is_named_by_another():
    linked = {
        (ROOT / path.parent / link.partition("#")[0]).resolve()
        for path in PAGES
        for link in LINK.findall(text_of(path))
        if "://" not in link and not link.startswith("#")
    }
    alone = [str(path) for path in PAGES if path.parts[0] == "docs" and ROOT / path not in linked]
    assert not alone, f"no page leads to {alone}; name them in docs/README.md"


def test_decisions_are_short_and_have_all_their_parts():
    page = text_of(Path("docs/decisions.md"))
    found = list(DECISION.finditer(page))
    ends = [each.start() for each in found[1:]] + [len(page)]
    for each, end in zip(found, ends, strict=True):
        body = page[each.end() : end].split("\n## ")[0].strip()
        missing = [part for part in PARTS if f"- **{part}:** " not in body]
        assert not missing, f"decision {each[1]} says nothing of its {missing}; the form is at the top of the page"
        assert body.count("\n") < 6, f"decision {each[1]} has more than six lines"


def test_numbers_of_decisions_are_used_once():
    page = text_of(Path("docs/decisions.md"))
    numbers = [int(each[1]) for each in DECISION.finditer(page)]
    assert len(set(numbers)) == len(numbers), "two decisions have one number"
    following = re.search(r"The next number is (\d+)", page)
    assert following, "the page says which number is next"
    assert max(numbers) < int(following[1]), "the next number is above all that are there"


def test_decisions_that_others_name_are_there():
    there = {each[1] for each in DECISION.finditer(text_of(Path("docs/decisions.md")))}
    for path in files(".py", ".hpp", ".cpp", ".cu", ".md"):
        if path.name != "CHANGELOG.md":
            named = set(NAMED.findall((ROOT / path).read_text(encoding="utf-8")))
            assert named <= there, f"{path}: docs/decisions.md has no decision {sorted(named - there)}"


def test_pages_that_the_sources_name_exist():
    named = re.compile(r"\bdocs/[\w/.-]+\.md")
    sources = [path for path in files(".py", ".hpp", ".cpp", ".cu", ".md", ".toml", "") if path.name != "CHANGELOG.md"]
    gone = [
        f"{path}: {page}"
        for path in sources
        for page in named.findall((ROOT / path).read_text(encoding="utf-8"))
        if not (ROOT / page).exists()
    ]
    assert not gone, f"pages that do not exist: {gone}"


def test_pages_are_short():
    """Who writes more takes something away: figures of yesterday, or what only one file needs."""
    size = {
        path: (ROOT / path).stat().st_size for path in PAGES if path.parts[0] == "docs" or path == Path("README.md")
    }
    assert size[Path("docs/results.md")] <= 25_600
    assert size[Path("docs/methods.md")] <= 30_720
    assert sum(size.values()) <= 220_000
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 120


def test_methods_have_no_dates():
    """What is done, and why it works, is of today; the commit says of which code a figure is."""
    assert not re.findall(r"\b20\d\d-\d\d", (ROOT / "docs/methods.md").read_text(encoding="utf-8"))
