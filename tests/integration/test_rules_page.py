"""The page of association rules: what it draws, lists and says, and what a browser does with it."""

from __future__ import annotations

import json
import re

import pytest

from bicliq.flows.cli import invoke
from tests.integration.chromium import browser, needs_chromium
from tests.integration.test_report import Elements


def rules_page_of(tmp_path, capsys, *more: str, least: str = "0.5") -> list[dict]:
    baskets = {"b1": ["<b>jam", "tea"], "b2": ["<b>jam", "tea", "oil"], "b3": ["oil", "tea"], "b4": ["bread"]}
    (tmp_path / "t.dat").write_text("".join(",".join(items) + "\n" for items in baskets.values()))
    line = ["rules", str(tmp_path / "t.dat"), "--format", "baskets", "--min-support", "0.25", "--min-threshold", least]
    assert invoke([*line, "--report", str(tmp_path / "rules.html"), "--json", *more]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["report"] == str(tmp_path / "rules.html")
    return record["rules"]


def test_the_page_of_rules_draws_and_lists_them(tmp_path, capsys):
    rules = rules_page_of(tmp_path, capsys)
    text = (tmp_path / "rules.html").read_text()
    found = Elements(text)
    rows = json.loads(found.scripts[0])
    assert [(row["left"], row["right"], row["confidence"]) for row in rows] == [
        (rule["antecedents"], rule["consequents"], rule["confidence"]) for rule in rules
    ]
    assert [tag for tag, _ in found.found].count("circle") == len(rules)
    assert "&lt;b&gt;jam → tea" in text
    assert "Non-redundant rules in t.dat" in text


def test_the_page_says_what_was_asked_and_draws_nothing_of_no_rules(tmp_path, capsys):
    asked = ["--consequents", "<b>jam", "--max-len", "2", "--which", "approximate"]
    assert len(rules_page_of(tmp_path, capsys, *asked)) == 1
    words = "consequent contains &lt;b&gt;jam, at most 2 items, approximate ones alone."
    text = (tmp_path / "rules.html").read_text()
    assert f"Asked for: min support 0.25, min confidence 0.5, {words}" in text
    assert "(1 basket)" in text
    assert rules_page_of(tmp_path, capsys, *asked, "--metric", "lift", least="9") == []
    text = (tmp_path / "rules.html").read_text()
    assert f"No rule is as asked: min support 0.25, min lift 9, {words} Ask for less." in text
    assert not {"svg", "script"} & {tag for tag, _ in Elements(text).found}


def test_the_axis_of_support_has_round_numbers(tmp_path, capsys):
    (tmp_path / "t.dat").write_text("a,b\n" * 23 + "a\n" * 77)
    out = str(tmp_path / "rules.html")
    assert invoke(["rules", str(tmp_path / "t.dat"), "--format", "baskets", "--report", out]) == 0
    capsys.readouterr()
    axis = re.findall(r'text-anchor="middle">([0-9.]+)<', (tmp_path / "rules.html").read_text())
    assert axis == ["0", "0.05", "0.1", "0.15", "0.2", "0.25"]


COLUMN = "[...document.querySelectorAll('#groups tbody tr')].map(row => row.cells[{}].textContent)"
TYPED = "(() => {{ const field = document.querySelector('[data-of={}]'); field.value = '{}'; field.dispatchEvent(new Event('input')) }})()"


@needs_chromium
def test_a_browser_sorts_and_filters_rules(tmp_path, capsys):
    rules = rules_page_of(tmp_path, capsys, "--metric", "conviction", least="0")
    with browser(tmp_path / "home", 1280) as tab:
        tab.open(f"file://{tmp_path / 'rules.html'}")
        tab.wait_for("Rules to look through", f"{len(rules)} of {len(rules)} rules")
        shown = [float(text.replace("∞", "inf")) for text in tab.value(COLUMN.format(4))]
        assert shown == sorted(shown, reverse=True)
        assert shown[0] == float("inf") > shown[-1]
        tab.value("document.querySelector('#groups th[data-key=confidence] button').click()")
        shown = [*map(float, tab.value(COLUMN.format(1)))]
        assert shown == sorted(shown, reverse=True)
        for of, least, metric in (
            ("confidence", 0.6, "confidence"),
            ("lift", 1.1, "lift"),
            ("support", 0.4, "support"),
        ):
            tab.value(TYPED.format(of, least))
            fitting = [rule for rule in rules if rule[metric] >= least]
            assert 0 < len(tab.value(COLUMN.format(0))) == len(fitting) < len(rules)
            tab.value(TYPED.format(of, ""))
        for side, name in (("left", "antecedents"), ("right", "consequents")):
            tab.value(TYPED.format(side, "OIL"))
            assert 0 < len(tab.value(COLUMN.format(0))) == sum("oil" in rule[name] for rule in rules) < len(rules)
            tab.value(TYPED.format(side, ""))


@needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_every_column_of_rules_can_be_reached(tmp_path, capsys, width):
    rules_page_of(tmp_path, capsys)
    with browser(tmp_path / "home", width) as tab:
        tab.open(f"file://{tmp_path / 'rules.html'}")
        tab.wait_for("Rules to look through")
        assert tab.value("document.documentElement.scrollWidth <= innerWidth")
        tab.value("document.querySelector('.tall').scrollLeft = 9999")
        assert tab.value("document.querySelector('#groups th:last-child').getBoundingClientRect().right <= innerWidth")
