"""What is written to a terminal and to programs: one object a failure, one a line of the log, and
labels that no terminal obeys."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.redact import printable
from tests.forked import command
from tests.nightly import NIGHTLY

HOSTILE = "\033]52;c;cm0gLXJmIH4=\033\\\\ann,jam\n\033[2Jbob,jam\n\x9b31mcid,jam\n:heart:,jam\n"


def anew(*arguments):
    line = [sys.executable, "-m", "bicliq.flows.cli", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["run", "nowhere.csv"], "InputError", 2),
        (["top", "--store", "nowhere"], "StorageError", 2),
        (["run"], "UsageError", 2),
        (["find", "a.csv", "--tpo", "3"], "UsageError", 2),
        (["enumerate", "a.csv", "--max-bicliques", "1", "--on-limit", "error"], "LimitReached", 3),
    ],
)
def test_a_failure_is_an_object_for_programs_and_a_sentence_for_people(
    tmp_path, monkeypatch, capsys, arguments, kind, code
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("user,item\na,x\nb,y\nc,z\n")
    assert invoke([*arguments, "--json"]) == code
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["kind"], found["exit_code"]) == (kind, code)
    assert said.err.endswith(f"bicliq: {found['error']}\n")
    assert invoke(arguments) == code
    assert capsys.readouterr().out == ""


def test_every_line_of_a_json_log_is_json(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("user,item\n" + "".join(f"u{i % 50},v{i % 41}\n" for i in range(900)))
    script = "import warnings, logging; warnings.warn('old'); logging.getLogger('distributed.worker').error('lost')"
    monkeypatch.chdir(tmp_path)
    lines_given = (
        ["run", "--log-json"],
        ["run", "nowhere.csv", "--log-json"],
        ["run", "a.csv", "--store", "t", "--local", "--log-json"],
        ["run", "a.csv", "--store", "s", "--workers", "1", "--log-json", "-v"],
    )
    for arguments in lines_given if NIGHTLY else lines_given[:3]:
        done = anew(*arguments) if "--workers" in arguments else command(*arguments)
        _, said = done.communicate(timeout=240)
        lines = [json.loads(line) for line in said.splitlines()]
        assert lines
        assert all({"time", "level", "event"} <= line.keys() for line in lines)
        if done.returncode:
            assert (lines[-1]["level"], lines[-1]["exit_code"]) == ("error", 2)
    shown = f"from bicliq.pipeline.events import show; show(verbose=False, as_json=True); import distributed; {script}"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, timeout=120)
    said = {line["logger"]: line["event"] for line in map(json.loads, done.stderr.splitlines())}
    assert "old" in said["py.warnings"]
    assert said["distributed.worker"] == "lost"


def test_the_version_is_said(capsys):
    from importlib.metadata import version

    assert invoke(["--version"]) == 0
    assert capsys.readouterr().out == f"bicliq {version('bicliq')}\n"


def test_labels_are_shown_and_not_obeyed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("l,r\n" + HOSTILE)
    assert invoke(["run", "e.csv", "--store", "s", "--local", "-v"]) == 0
    done = [capsys.readouterr()]
    for words in ("top --store s", "show --store s", "find e.csv", "clique e.csv --project left"):
        assert invoke(words.split()) == 0
        done.append(capsys.readouterr())
    for each in done:
        assert not set(each.out + each.err) & {"\033", "\x9b"}
    for each in done[1:]:
        assert "\\x1b[2Jbob" in " ".join(each.out.split())
        assert ":heart:" in each.out
    assert invoke(["top", "--store", "s", "--json"]) == 0
    as_json = capsys.readouterr().out
    assert any("\033[2Jbob" in row["left"] for row in json.loads(as_json)["bicliques"])
    assert "\033" not in as_json


@pytest.mark.parametrize(
    "arguments", [["run", "\033[31m.csv"], ["run", "\033[31m.csv", "--left", "x"], ["top", "--store", "\033[31m"]]
)
def test_names_and_messages_are_shown_and_not_obeyed(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "\033[31m.csv").write_text("\033[2Jl,r,w\na,b,c\n")
    assert invoke([*arguments, "-v"]) == 2
    said = capsys.readouterr().err
    assert "\033" not in said
    assert "\\x1b[31m" in said


def test_what_a_terminal_obeys_is_escaped():
    assert printable("a\tb\r\x07\u202eé\u200d😀") == "a\\tb\\r\\x07\\u202eé\u200d😀"


def test_a_settings_file_that_was_found_is_named_where_it_reaches_beyond_the_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "t.csv").write_text("u,v\na,1\nb,1\n")
    (tmp_path / "bicliq.toml").write_text('store = "elsewhere"\n[search]\nmin_left = 2\n')
    monkeypatch.chdir(tmp_path)
    command = ["run", "t.csv", "--left", "u", "--right", "v", "--json"]
    assert invoke(command) == 0
    assert f"{tmp_path}/bicliq.toml sets store" in capsys.readouterr().err
    assert invoke([*command, "--store", "here"]) == 0
    assert "bicliq.toml" not in capsys.readouterr().err
