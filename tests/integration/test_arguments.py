"""Wrong arguments of every command: exit code 2, one line that says what is wrong, and nothing on
standard output.

The commands, their options and the kinds of these come from the application itself, so a new one is
tried as well.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from bicliq.flows.cli import invoke
from bicliq.flows.cli.app import application
from tests.heard_disk import heard
from tests.nightly import part_of
from tests.real_graphs import DATA

UC = str(DATA / "UCforum.parquet")
COLUMNS = {"--left": "user", "--right": "item"}

WORKS: dict[str, tuple[list[str], dict[str, str]]] = {
    "run": (["t.csv"], {**COLUMNS, "--store": "new", "--local": ""}),
    "enumerate": (["t.csv"], COLUMNS),
    "estimate": (["t.csv"], COLUMNS),
    "find": (["t.csv"], {**COLUMNS, "--top": "2"}),
    "count": (["t.csv", "2", "2"], {**COLUMNS, "--store": "new"}),
    "clique": (["t.csv"], {**COLUMNS, "--project": "left"}),
    "itemsets": (["t.csv"], COLUMNS),
    "rules": (["t.csv"], COLUMNS),
    "lattice": (["t.csv"], COLUMNS),
    "ingest": (["t.csv"], {**COLUMNS, "--store": "new"}),
    "profile": (["{graph}"], {"--store": "store"}),
    "plan": (["{graph}"], {"--store": "store"}),
    "resume": ([], {"--store": "store", "--local": ""}),
    "runs": ([], {"--store": "store"}),
    "update": (["t.csv"], {"--store": "store"}),
    "watch": (["t.csv"], {**COLUMNS, "--store": "new", "--once": "", "--settle": "0", "--local": ""}),
    "diff": ([], {"--store": "store"}),
    "rollback": (["{graph}"], {"--store": "store"}),
    "compact": ([], {"--store": "store"}),
    "prune": ([], {"--store": "store", "--keep-last": "1", "--older-than": "30d"}),
    "top": ([], {"--store": "store"}),
    "show": ([], {"--store": "store"}),
    "export": (["out.csv"], {"--store": "store"}),
    "report": ([], {"--store": "store", "--out": "page.html"}),
    "verify": ([], {"--store": "store"}),
    "serve": (["t.csv"], COLUMNS),
    "doctor": ([], {}),
}
"""Arguments with which a command does its work; a flag has no value."""

NUMBERS = ("nonsense", "", "-1", "nan", "9" * 25)
WORDS = ("nonsense", "")
TEXTS = {
    "--left": "no such column",
    "--right": "no such column",
    "--weight": "no such column",
    "--time": "no such column",
    "--delimiter": ",,",
    "--comment": " ",
    "--encoding": "nonsense",
    "--fold": "nonsense",
    "--window-jump": "-1",
    "--objectives": "nonsense",
    "--max-bytes": "nonsense",
    "--memory-limit": "nonsense",
    "--memory-budget": "nonsense",
    "--webhook": "nonsense",
    "--lineage": "nonsense",
    "--since": "yesterday",
    "--until": "yesterday",
    "--window": "a month",
    "--every": "sometimes",
    "--settle": "soon",
    "--scheduler": "nonsense",
    "--dashboard": "nonsense",
    "--store": "nosuch://store",
    "--cron": "0 0 31 2 *",
    "--name": "a/b",
    "--picture": "picture.nonsense",
    "--run": "no such run",
    "--metric": "nonsense",
    "--antecedents": "no such item",
    "--consequents": "no such item",
    "--within": "no/such/file",
    "--left-weights": "no/such/file",
    "--right-weights": "no/such/file",
}
"""A value that an option of text refuses."""

MEANT = {
    ("*", "--compact-share"): {"9" * 25},
    ("clique", "--time-limit"): {"9" * 25},
    ("top", "-k"): {"9" * 25},
    ("verify", "--sample"): {"9" * 25},
    ("find", "--time-limit"): {"9" * 25},
    ("rules", "--min-threshold"): {"-1"},
    ("lattice", "--min-stability"): {"9" * 25},
    ("*", "--min-surprise"): {"-1", "9" * 25},
    ("*", "--min-weight"): {"-1", "9" * 25},
    ("*", "--webhook-surprise"): {"9" * 25},
    **{("*", f"--{of}-{then}"): {"9" * 25} for of in ("rows", "degree", "paths") for then in ("warn", "fail")},
}
"""Numbers above that mean something to an option."""


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


COMMANDS = dict(commands(application()))


def options_of(name: str) -> list[Any]:
    return [p for p in COMMANDS[name].params if p.param_type_name == "option" and not p.is_flag]


def nonsense(name: str, option: Any) -> Iterator[str]:
    """Values that an option cannot mean, by its kind."""
    flag = option.opts[0]
    annotation = inspect.signature(COMMANDS[name].callback, eval_str=True).parameters[option.name].annotation
    kind = option.metavar or str(get_args(annotation)[0])
    if re.search("int|float|number", kind):
        meant = MEANT.get((name, flag), set()) | MEANT.get(("*", flag), set())
        yield from (value for value in NUMBERS if value not in meant)
    elif re.search("word|Literal", kind):
        yield from WORDS
    elif flag in TEXTS:
        yield TEXTS[flag]


def line_of(name: str, without: str = "") -> list[str]:
    """A command line that works, less one option."""
    arguments, options = WORKS[name]
    line = [*name.split(), *arguments]
    for flag, value in options.items():
        clash = flag == "--local" and without in ("--workers", "--scheduler")
        if flag != without and not clash:
            line += [flag, value] if value else [flag]
    return line


@pytest.fixture
def folder(tmp_path, monkeypatch, published):
    """A folder with a table and a published run."""
    here = tmp_path / "here"
    here.mkdir()
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")  # what `..` holds goes into no one table
    monkeypatch.chdir(here)
    (here / "t.csv").write_bytes((published / "t.csv").read_bytes())
    (here / "store").symlink_to(published / "store")
    return next((published / "store" / "graphs").iterdir()).name


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("arguments")
    rows = "".join(f"u{i % 7},i{i * i % 11},{i},{i}\n" for i in range(40))
    (folder / "t.csv").write_text("user,item,weight,time\n" + rows)
    columns = [part for flag, value in COLUMNS.items() for part in (flag, value)]
    assert invoke(["run", str(folder / "t.csv"), *columns, "--store", str(folder / "store"), "--local"]) == 0
    with temporary_settings(restore_defaults={PREFECT_API_URL}):  # no server, or `serve` would stay
        yield folder


def refusal(capsys: pytest.CaptureFixture[str], line: list[str], graph: str) -> str:
    """Demand that a command line is refused as the contract says, and return what was said."""
    code = invoke([part.replace("{graph}", graph) for part in line])
    said = capsys.readouterr()
    assert code == 2, (line, code, said.err)
    assert said.out == "", line
    assert len(said.err.splitlines()) == 1, (line, said.err)
    assert said.err.startswith("bicliq: "), line
    return said.err


def test_every_command_is_tried_here():
    assert set(WORKS) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_nonsense_in_an_option_is_refused_in_one_line(name, folder, capsys):
    tried = [
        refusal(capsys, [*line_of(name, option.opts[0]), option.opts[0], value], folder)
        for option in options_of(name)
        for value in nonsense(name, option)
    ]
    assert all(len(said) > len("bicliq: \n") for said in tried)
    assert len(tried) >= len(options_of(name)) // 2


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_and_one_without_its_value_are_refused_in_one_line(name, folder, capsys):
    assert "--nonsense" in refusal(capsys, [*line_of(name), "--nonsense"], folder)
    for option in options_of(name)[-1:]:
        flag = option.opts[0]
        assert flag in refusal(capsys, [*line_of(name, flag), flag], folder)


@pytest.mark.parametrize("name", [name for name in COMMANDS if WORKS[name][0]])
@pytest.mark.parametrize("value", ["", "no/such/thing", "nosuch://thing", ".."])
def test_nonsense_in_an_argument_is_refused_in_one_line(name, value, folder, capsys):
    line = line_of(name)
    line[len(name.split())] = value
    refusal(capsys, line, folder)


@pytest.mark.parametrize(
    ("name", "flag"),
    part_of(
        ((name, option.opts[0]) for name in COMMANDS for option in options_of(name) if not option.multiple), every=4
    ),
)
def test_an_option_given_twice_is_refused(name, flag, folder, capsys):
    line = [*line_of(name, flag), flag, "1", flag, "1"]
    assert f"{flag} is given 2 times" in refusal(capsys, line, folder)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["run", "t.csv", "--local", "--workers", "2"], "--local and --workers contradict"),
        (["run", "t.csv", "--local", "--no-local"], "--local is given 2 times"),
        (["run", "t.csv", "--scheduler", "tcp://h:1", "--workers", "2"], "--scheduler and --workers contradict"),
        (["run", "t.csv", "--store", ""], "names no place"),
        (["enumerate", "t.csv", "--digest", "--count-only"], "contradict"),
        (["count", "t.csv", "2", "2", "--workers", "2"], "--workers is for counts that go to a store"),
        (["count", "t.csv", "2", "2", "--prefect"], "--prefect is for counts that go to a store"),
        (["count", "t.csv", "--all", "2", "2", "--max-p", "3", "--max-q", "3"], "leave out 2 2"),
        (["count", "t.csv"], "give P and Q"),
        (
            ["clique", "{graph}", "--stored", "--store", "store", "--min-weight", "3"],
            "leave the options of the input out",
        ),
        (["find", "t.csv", "--store", "store"], "--store is where the run"),
        (["find", "--run", "x", "--store", "store", "--left", "user"], "leave the options of the input out"),
        (["serve", "t.csv", "--cron", "0 3 * * *", "--interval", "60"], "contradict"),
        (["enumerate", "t.csv", "--side", "foo"], "'foo'"),
    ],
)
def test_what_contradicts_itself_is_refused_in_one_line(line, words, folder, capsys):
    assert words in refusal(capsys, line, folder)


def failure(capsys: pytest.CaptureFixture[str], line: list[str]) -> dict[str, Any]:
    """Demand that a command fails with one object on standard output, and says so on the other."""
    code = invoke([*line, "--json"])
    said = capsys.readouterr()
    (written,) = said.out.splitlines()
    wrong = json.loads(written)
    assert set(wrong) == {"error", "kind", "exit_code"}
    assert wrong["exit_code"] == code
    assert f"bicliq: {wrong['error']}" == said.err.splitlines()[-1]
    return wrong


def test_json_says_what_is_wrong_as_one_object(folder, capsys):
    wrong = failure(capsys, ["enumerate", "t.csv", "--left", "nobody"])
    assert (wrong["kind"], wrong["exit_code"]) == ("InputError", 2)
    assert "nobody" in wrong["error"]
    limited = ["--left", "user", "--right", "item", "--max-bicliques", "1", "--on-limit", "error"]
    wrong = failure(capsys, ["run", "t.csv", "--store", "s", "--local", *limited])
    assert (wrong["kind"], wrong["exit_code"]) == ("LimitReached", 3)


def test_json_is_utf8_whatever_the_locale_and_a_table_is_shown_as_far_as_the_locale_can(tmp_path):
    (tmp_path / "names.csv").write_text("wer,was\nJürgen,Brötchen 🥐\nJürgen,[bold]Käse[/bold]\n", encoding="utf-8")
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(DATA.parents[1])}

    def said(*arguments: str) -> bytes:
        command = [sys.executable, "-m", "bicliq.flows.cli", *arguments, "--store", "store"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True).stdout

    said("run", "names.csv", "--local")
    raw = said("top", "--json")
    assert "Brötchen 🥐".encode() in raw
    assert json.loads(raw)["bicliques"][0]["right"] == ["Brötchen 🥐", "[bold]Käse[/bold]"]
    table = said("top").decode("ascii")
    assert r"J\xfcrgen" in table
    assert "[bold]K" in table


def test_an_error_that_nobody_foresaw_is_one_line_and_shows_its_traceback_when_asked(monkeypatch, capsys):
    def broken(does: str, path: str) -> None:
        raise ZeroDivisionError("by zero")

    with heard(broken):
        assert invoke(["runs", "--store", "heard://store"]) == 1
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "bicliq: ZeroDivisionError: by zero; this is a defect of bicliq; BICLIQ_TRACEBACK=1 shows where it happened"
    ]
    monkeypatch.setenv("BICLIQ_TRACEBACK", "1")
    with heard(broken):
        assert invoke(["runs", "--store", "heard://store"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(published):
    command = f"{sys.executable} -m bicliq.flows.cli top -k 10 --dense --json --store {published}/store | head -c 1"
    done = subprocess.run(["bash", "-c", command], cwd=DATA.parents[1], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{", "")
