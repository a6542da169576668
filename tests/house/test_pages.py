"""The pages of the documentation: links lead somewhere, decisions keep their form."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
DECISION = re.compile(r"^## (\d+)\. (.+)$", re.MULTILINE)
PARTS = ("Context", "Decision", "Consequence", "Status")
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


def test_decisions_are_numbered_and_have_all_their_parts():
    page = text_of(Path("docs/decisions.md"))
    found = list(DECISION.finditer(page))
    assert [int(each[1]) for each in found] == list(range(1, len(found) + 1)), "numbers run from 1 without a gap"
    ends = [each.start() for each in found[1:]] + [len(page)]
    for each, end in zip(found, ends, strict=True):
        body = page[each.end() : end]
        missing = [part for part in PARTS if f"- **{part}:** " not in body]
        assert not missing, f"decision {each[1]} says nothing of its {missing}; the form is at the top of the page"
        status = body.split("- **Status:** ")[1]
        assert re.match(r"accepted\b|superseded by \d+", status), (
            f"decision {each[1]}: accepted, or superseded by which?"
        )


def test_every_decision_has_a_subject():
    top, *decisions = re.split(r"^## \d+\. ", text_of(Path("docs/decisions.md")), flags=re.MULTILINE)
    found = set[int]()
    for numbers in re.findall(r"^\|[^|]+\|([\d, to]+)\|$", top, re.MULTILINE):
        ends = [[int(end) for end in each.split(" to ")] for each in numbers.split(",")]
        found.update(number for each in ends for number in range(each[0], each[-1] + 1))
    missing = set(range(1, len(decisions) + 1)) ^ found
    assert not missing, f"decisions {sorted(missing)}: the table at the top names no subject of them"


def test_what_supersedes_a_decision_says_so():
    page = text_of(Path("docs/decisions.md"))
    bodies = dict(zip(DECISION.split(page)[1::3], DECISION.split(page)[3::3], strict=True))
    gone = {number: re.search(r"superseded by (\d+)", body) for number, body in bodies.items()}
    for number, newer in gone.items():
        if newer:
            assert f"supersedes {number}" in bodies[newer[1]], (
                f"decision {newer[1]} supersedes {number}, and must say so"
            )
    assert any(gone.values())


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
