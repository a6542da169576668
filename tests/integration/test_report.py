"""The report: what it says is what the run holds, whatever the labels, in a real browser too."""

from __future__ import annotations

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import bicliq
from bicliq.flows.cli import invoke
from bicliq.pipeline.report.facts import gather
from bicliq.pipeline.report.groups import LISTED
from bicliq.pipeline.report.page import page, write_report
from bicliq.pipeline.report.pictures import bin_of, bin_start
from tests.integration.chromium import PROGRAM, browser, needs_chromium

NASTY = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a, b",
    "Ünï ☕",
    "<!--",
    "two\nlines",
    "&lt;",
]


RNG = np.random.default_rng(5)
BASKETS = {
    f"{label} {n}": [item for item in NASTY + [f"i{k}" for k in range(12)] if RNG.random() < 0.5]
    for n, label in enumerate(NASTY * 4)
}


@pytest.fixture(scope="module")
def groups():
    return bicliq.enumerate(BASKETS, min_left=2)


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


def test_the_largest_and_the_most_surprising_groups_are_listed(text, groups):
    rows = json.loads(Elements(text).scripts[0])
    listed = {(tuple(row["left"]), tuple(row["right"])): row for row in rows}
    assert len(listed) == len(rows)
    assert [row["surprise"] for row in rows] == sorted((row["surprise"] for row in rows), reverse=True)
    for row in groups.top(LISTED).to_pylist():
        assert listed[tuple(row["left"]), tuple(row["right"])]["n_edges"] == row["n_edges"]
    best = bicliq.find(BASKETS, top=LISTED, by="surprise", min_left=2)
    assert best.proven
    for group in best:
        surprise = listed[tuple(group["left"]), tuple(group["right"])]["surprise"]
        assert surprise == pytest.approx(group["value"], abs=0.051)
    assert f"{len(groups):,} maximal bicliques" in text
    assert groups.digest in text


def test_the_drawn_groups_are_those_that_differ_and_surprise(text):
    rings = {f"{ring} {u}": [f"{ring} item {v}" for v in range(7)] for ring in "ab" for u in range(6)}
    baskets = BASKETS | rings | {f"alone {n}": [f"own {n}"] for n in range(300)}
    drawn = gather(bicliq.enumerate(baskets, min_left=2).run).groups.pictures
    best = list(bicliq.find(baskets, top=9, by="surprise", diverse=True, min_left=2))
    assert "No group of this table is beyond chance" in text  # where all baskets are random
    assert [(each.n_left, each.n_right) for each in drawn] == [(group["n_left"], group["n_right"]) for group in best]
    assert len(drawn) == 2
    assert drawn[0].surprise == pytest.approx(best[0]["value"], abs=0.001)


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
    for picture in facts.groups.pictures:
        assert picture.present[: picture.left_members, : picture.right_members].all()
        around = picture.present[picture.left_members :, : picture.right_members]
        assert not around.all(axis=1).any(), "who has all of the other side is a member"
        for row, left in enumerate(picture.left[: picture.left_members]):
            for column, right in enumerate(picture.right):
                if picture.present[row, column] and column < picture.right_members:
                    assert (left, right) in edges


def test_large_groups_are_cut_and_that_is_said():
    text = page(gather(bicliq.enumerate([*[range(60)] * 50, *([1000 + n] for n in range(900))]).run))
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


# ---- times ---------------------------------------------------------------------------------------


ROWS = [
    ("ann", "jam", 3),
    ("ann", "tea", 5),
    ("bob", "jam", 2),
    ("bob", "tea", 9),
    ("ann", "jam", 1),
    ("cid", "rye", 4),
    *((who, what, 5) for who in ("ann", "bob") for what in ("rum", "gin")),
    *((f"p{n}", what, 5) for n in range(3) for what in ("jam", "tea", "rum", "gin")),
    *((f"u{n}", f"i{n}", 5) for n in range(300)),  # beside whom the others are no chance
]
LATER = [("dan", "jam", 11), ("dan", "tea", 12), ("ann", "jam", 13)]


def written(path: Path, rows, time: str = "when") -> Path:
    path.write_text("".join(f"{row[0]},{row[1]},{row[2]}\n" for row in [("who", "what", time), *rows]))
    return path


def first_seen(rows) -> dict[tuple[str, str], int]:
    return {(left, right): min(t for u, v, t in rows if (u, v) == (left, right)) for left, right, _ in rows}


def test_edges_have_the_time_at_which_they_were_first_seen(tmp_path):
    table = written(tmp_path / "shop.csv", ROWS)
    found = bicliq.enumerate(table, left="who", right="what", time="when", store=tmp_path / "store")
    times = gather(found.run).times
    seen = first_seen(ROWS)
    assert (times.first, times.last) == (1, 9)
    assert {edge: times.of[edge] for edge in seen if edge in times.of} == times.of
    assert times.of.items() >= {("ann", "jam"): 1, ("ann", "tea"): 5, ("bob", "jam"): 2, ("bob", "tea"): 9}.items()
    shown = page(gather(found.run))
    assert "Edges of the group from 1970-01-01 to 1970-01-01" in shown
    assert "first seen 1970-01-01" in shown


def test_a_version_has_the_times_of_all_its_tables(tmp_path):
    table, later = written(tmp_path / "shop.csv", ROWS), written(tmp_path / "today.csv", LATER)
    bicliq.enumerate(table, left="who", right="what", time="when", store=tmp_path / "store")
    bicliq.update(tmp_path / "store", later, time="when")
    facts = gather(bicliq.open(tmp_path / "store").run)
    assert (facts.times.first, facts.times.last) == (1, 13)
    assert facts.times.of[("dan", "tea")] == 12
    assert facts.times.of[("ann", "jam")] == 1
    assert "shop.csv and 1 update" in page(facts)
    assert "today.csv" in page(facts)


def test_rows_that_were_dropped_tell_no_time(tmp_path):
    table = written(tmp_path / "shop.csv", ROWS)
    found = bicliq.enumerate(table, left="who", right="what", time="when", since="2", store=tmp_path / "store")
    assert gather(found.run).times.of[("ann", "jam")] == 3


def test_a_konect_file_has_its_times_without_being_asked(tmp_path):
    seen = {(u, v): 100 * u + v for u in range(1, 6) for v in range(1, 6)}
    lines = [f"{u} {v} 1 {time}\n" for (u, v), time in seen.items()] + [f"{n} {n} 1 7\n" for n in range(6, 300)]
    (tmp_path / "out.shop").write_text("".join(["% bip weighted\n", *lines]))
    found = bicliq.enumerate(tmp_path / "out.shop", store=tmp_path / "store")
    assert gather(found.run).times.of == seen


@pytest.mark.parametrize(
    ("spoil", "asked", "said"),
    [
        (lambda path: None, {}, "name it with --time"),
        (lambda path: path.write_text("who,what,when\nann,jam,1\n"), {"time": "when"}, "no longer the table"),
        (lambda path: path.unlink(), {"time": "when"}, "cannot be read again"),
    ],
)
def test_times_that_are_not_known_are_left_out_with_the_reason(tmp_path, spoil, asked, said):
    table = written(tmp_path / "shop.csv", ROWS)
    found = bicliq.enumerate(table, left="who", right="what", **asked, store=tmp_path / "store")
    spoil(table)
    assert said in page(gather(found.run))


def test_a_table_in_memory_has_no_times(text):
    assert "The table was in memory" in text


# ---- what else is said ---------------------------------------------------------------------------


def test_two_steps_away_are_the_others_who_share_something(groups):
    left, right = (gather(groups.run).two_step[side] for side in ("left", "right"))
    edges = {(who, what) for who, items in BASKETS.items() for what in items}
    others = [len({w for w, item in edges if item in BASKETS[who]} - {who}) for who in BASKETS]
    assert left.histogram == sorted((n, others.count(n)) for n in set(others))
    assert (left.looked_at, right.looked_at) == (left.vertices, right.vertices) == (len(BASKETS), 19)


def test_what_changed_since_the_parent_is_what_diff_says(tmp_path):
    bicliq.enumerate(BASKETS, min_left=2, store=tmp_path)
    bicliq.update(tmp_path, {"new one": NASTY})
    found = bicliq.open(tmp_path)
    said = page(gather(found.run))
    changes = found.changes()
    assert gather(found.run).changes == changes.record(10)
    assert f"{changes.count('appeared'):,} groups appeared and {changes.count('vanished'):,} vanished" in said
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in said


def test_a_table_that_is_run_again_is_compared_with_its_run_before(tmp_path):
    table = written(tmp_path / "shop.csv", ROWS)
    first = bicliq.enumerate(table, left="who", right="what", store=tmp_path / "store")
    assert "There is no earlier run" in page(gather(first.run))
    written(table, ROWS + LATER)
    again = bicliq.enumerate(table, left="who", right="what", store=tmp_path / "store")
    facts = gather(again.run)
    assert facts.changes["before"] == first.run.run
    assert [group["left"] for group in facts.changes["appeared"]] == [["ann", "bob", "dan", "p0", "p1", "p2"]]
    other = bicliq.enumerate(table, left="who", right="what", min_left=2, store=tmp_path / "store")
    assert "There is no earlier run" in page(gather(other.run)), "other sizes were asked for"


def test_expectation_checks_and_machine_are_there(groups, text):
    facts = gather(groups.run)
    expected = [facts.expected.bicliques, facts.manifest.bicliques]
    assert all(f"<td class='n'>{number:,}</td>" in text for number in expected)
    assert "most edges of a vertex" in text
    assert facts.manifest.machine["system"] in text


# ---- in a browser --------------------------------------------------------------------------------


@needs_chromium
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
        [PROGRAM, *options, "--dump-dom", f"file://{place}"], capture_output=True, text=True, timeout=120, check=True
    )
    body = done.stdout.split('<table id="groups">')[1].split("<tbody>")[1].split("</tbody>")[0]
    listed = len(gather(groups.run).groups.rows)
    assert body.count("<tr>") == listed
    assert f"{listed:,} of {listed:,} groups" in done.stdout
    assert "<script>" not in body
    assert "<img" not in body
    assert "&lt;!--" in body


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window_and_is_filtered_and_sorted_in_it(groups, tmp_path, width, scheme):
    place = write_report(groups.run, tmp_path / "report.html")
    with browser(tmp_path / "home", width) as tab:
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.open(f"file://{place}")
        tab.wait_for("Time and machine", "Set digest")
        assert tab.value("document.documentElement.scrollWidth") <= width
        dark = tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
        assert dark == (scheme == "dark")
        column = "[...document.querySelectorAll('#groups tbody tr')].map(row => +row.cells[1].textContent)"
        tab.value("document.querySelector('#groups th[data-key=n_edges] button').click()")
        edges = tab.value(column)
        assert edges == sorted(edges, reverse=True)
        assert edges[0] == groups.top(1)["n_edges"][0].as_py()
        tab.value("document.querySelector('.filters input').value = 'ünï'")
        tab.value("document.querySelector('.filters input').dispatchEvent(new Event('input'))")
        some = tab.value("document.querySelector('#groups tbody').textContent")
        assert 0 < len(tab.value(column)) < len(edges)
        assert "Ünï" in some
