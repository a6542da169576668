"""The report: what it says is what the run holds, whatever the labels, in a real browser too."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

import bicliq
from flows.cli import invoke
from pipeline.report.facts import gather
from pipeline.report.page import page, write_report
from pipeline.report.pictures import bin_of, bin_start

NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a, b",
    "Ünï ☕",
    "<!--",
    "two\nlines",
    "&lt;",
]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(5)
    baskets = {f"{label} {n}": [item for item in NASTY + [f"i{k}" for k in range(12)] if rng.random() < 0.5]
               for n, label in enumerate(NASTY * 4)}  # fmt: skip
    return bicliq.enumerate(baskets, min_left=2)


@pytest.fixture(scope="module")
def text(groups):
    return page(gather(groups.run))


class Elements(HTMLParser):
    """Elements of a page with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.found and self.found[-1][0] == "script":
            self.scripts[-1] += data


def test_no_label_becomes_markup(text):
    elements = Elements(text)
    tags = [tag for tag, _ in elements.found]
    assert tags.count("script") == 2
    assert "img" not in tags
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]


def test_nothing_is_fetched(text):
    elements = Elements(text)
    assert not [
        value for _, attributes in elements.found for name, value in attributes.items() if name in ("src", "href")
    ]
    assert "link" not in [tag for tag, _ in elements.found]
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp", text)


def test_the_listed_groups_are_the_largest_of_the_run(text, groups):
    rows = json.loads(Elements(text).scripts[0])
    top = groups.top(200).to_pylist()
    assert [(row["left"], row["right"]) for row in rows] == [(row["left"], row["right"]) for row in top]
    assert f"{len(groups):,} maximal bicliques" in text
    assert groups.digest in text


def test_figures_are_those_of_the_records(groups):
    facts = gather(groups.run)
    assert sum(facts.sizes.values()) == len(groups)
    counted: dict[tuple[int, int], int] = {}
    for row in groups:
        key = row["n_left"], row["n_right"]
        counted[key] = counted.get(key, 0) + 1
    assert facts.sizes == counted


def test_a_picture_shows_a_full_group_and_the_edges_around_it(groups):
    facts = gather(groups.run)
    edges = {
        (left, right)
        for row in bicliq.open(groups.run.store, groups.run.run)
        for left in row["left"]
        for right in row["right"]
    }
    for picture in facts.pictures:
        assert picture.present[: picture.left_members, : picture.right_members].all()
        around = picture.present[picture.left_members :, : picture.right_members]
        assert not around.all(axis=1).any(), "who has all of the other side is a member"
        for row, left in enumerate(picture.left[: picture.left_members]):
            for column, right in enumerate(picture.right):
                if picture.present[row, column] and column < picture.right_members:
                    assert (left, right) in edges


def test_large_groups_are_cut_and_that_is_said():
    text = page(gather(bicliq.enumerate([range(60)] * 50).run))
    assert "the first 24 × 30 of them" in text
    assert "up to 40 members" in text
    assert json.loads(Elements(text).scripts[0])[0]["n_right"] == 60


def test_a_run_without_bicliques_and_one_that_was_cut_off_have_a_report():
    assert "0 maximal bicliques" in page(gather(bicliq.enumerate([["a"], ["b"]], min_left=2).run))
    assert "A limit ended the search" in page(gather(bicliq.enumerate([["a"], ["b"]], max_bicliques=1).run))


def test_every_size_has_one_bin():
    starts = [bin_start(number) for number in range(60)]
    assert starts == sorted(set(starts))
    assert all(starts[bin_of(size)] <= size < starts[bin_of(size) + 1] for size in range(1, 5000))


def test_the_command_writes_to_the_store_or_where_asked(tmp_path, capsys):
    bicliq.enumerate({"a": ["x"], "b": ["x"]}, store=tmp_path / "store")
    place = str(tmp_path / "store")
    assert invoke(["report", "--store", place, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["report"]
    assert written.endswith(".html")
    out = tmp_path / "mine.html"
    out.write_text("precious")
    assert invoke(["report", "--store", place, "--out", str(out)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_text() == "precious"
    assert invoke(["report", "--store", place, "--out", str(out), "--overwrite"]) == 0
    assert invoke(["verify", "--store", place]) == 0, "a report in the store is no damage"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [400, 1200])
def test_a_browser_fills_the_table_and_shows_labels_as_text(groups, tmp_path, width):
    place = write_report(groups.run, tmp_path / "report.html")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
        f"--user-data-dir={tmp_path / 'p'}",
    )
    done = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", f"file://{place}"], capture_output=True, text=True, timeout=120, check=True
    )
    body = done.stdout.split('<table id="groups">')[1].split("<tbody>")[1].split("</tbody>")[0]
    listed = min(len(groups), 200)
    assert body.count("<tr>") == listed
    assert f"{listed:,} of {listed:,} groups" in done.stdout
    assert "<script>" not in body
    assert "<img" not in body
    assert "&lt;!--" in body
