"""Every setting is an option, a variable and a key of the settings file, and all three mean the
same."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
import typer.main
from pydantic import ByteSize

from bicliq.flows.cli.app import application
from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import CONTRADICTIONS, PANELS, TAKES
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import (
    CheckSettings,
    IngestSettings,
    Settings,
    fields_of,
    load_settings,
)
from bicliq.pipeline.settings_file import SETTINGS_FILE
from bicliq.pipeline.variables import OTHER_VARIABLES, variable_of

ROOT = Path(__file__).parents[2]
FIELDS = dict(fields_of())
NAMED = {path: ".".join(path) for path in FIELDS}
TEXTS = {
    "since": "2011-01-01",
    "window_jump": "90d",
    "window": "30d",
    "in_step": "60s",
    "until": "2012-01-01",
    "scheduler": "tcp://host:8786",
    "dashboard": ":8787",
    "delimiter": ";",
    "encoding": "cp1252",
    "fold": "case",
    "webhook": "https://hooks.example.com/x",
    "lineage": "http://catalogue.example.com:5000",
    **{f"{name}_above": "0.2:0.5" for name in ("rows", "dropped", "labels", "degree", "paths")},
}
COMPANIONS = {"search.on_limit": {("search", "max_bicliques"): "7"}}
"""Settings that one needs beside it."""


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """A folder without a settings file, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.upper().startswith("BICLIQ_"):
            monkeypatch.delenv(name)
    return tmp_path


def another_value(path: tuple[str, ...]) -> str:
    """A value of a setting that is not its default, as text."""
    field = FIELDS[path]
    kinds = get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else (field.annotation,)
    kind: Any = next(kind for kind in kinds if kind is not NoneType)
    if path[-1] in TEXTS:
        return TEXTS[path[-1]]
    if get_origin(kind) is Literal:
        return next(choice for choice in get_args(kind) if choice != field.default)
    if kind is bool:
        return str(not field.default).lower()
    if kind is int:
        return str((field.default or 6) + 1)
    if kind is ByteSize:
        return "3.5 GiB"
    if get_args(kind) and get_origin(get_args(kind)[0]) is Literal:
        return ",".join(get_args(get_args(kind)[0])[:2])
    return "0.5" if kind is float else "one,two"


def set_of(settings: Settings, path: tuple[str, ...]) -> Any:
    value: Any = settings
    for part in path:
        value = getattr(value, part)
    return value


def flags(path: tuple[str, ...], text: str) -> list[str]:
    """A setting as it is written on the command line."""
    flag = path[-1].replace("_", "-")
    if text in ("true", "false"):
        return [f"--{flag}" if text == "true" else f"--no-{flag}"]
    return [f"--{flag}", text]


def settings_of_line(line: list[str]) -> Settings:
    """What a command that takes all settings is given for this line."""
    room, given = Room(), []
    room.command("serve")(lambda settings: given.append(settings))
    typer.main.get_command(room.app())(line, standalone_mode=False)
    return given[0]


def toml_of(path: tuple[str, ...], text: str) -> str:
    bare = text in ("true", "false") or re.fullmatch(r"\d+(\.\d+)?", text)
    line = f"{path[-1]} = {text if bare else repr(text)}"
    return f"[{path[0]}]\n{line}\n" if len(path) > 1 else f"{line}\n"


@pytest.mark.parametrize("path", FIELDS, ids=NAMED.get)
def test_an_option_a_variable_and_the_file_give_the_same_settings(path, nowhere, monkeypatch):
    text = another_value(path)
    beside = COMPANIONS.get(NAMED[path], {})
    by_option = settings_of_line([*flags(path, text), *(part for at, v in beside.items() for part in flags(at, v))])

    monkeypatch.setenv(variable_of(path), text)
    for other, value in beside.items():
        monkeypatch.setenv(variable_of(other), value)
    by_variable = load_settings()
    for name in (path, *beside):
        monkeypatch.delenv(variable_of(name))

    (nowhere / SETTINGS_FILE).write_text(toml_of(path, text) + "".join(f"{at[-1]} = {v}\n" for at, v in beside.items()))
    by_file = load_settings()
    assert by_option == by_variable == by_file
    assert set_of(by_option, path) != FIELDS[path].default


@pytest.mark.parametrize("check", ["rows", "dropped", "labels", "degree", "paths"])
def test_thresholds_of_a_check_have_the_names_of_before_still(check, nowhere, monkeypatch):
    now = settings_of_line([f"--{check}-above", "0.2:0.5"])
    assert settings_of_line([f"--{check}-warn", "0.2", f"--{check}-fail", "0.5"]) == now
    assert settings_of_line([f"--{check}-fail", "0.5"]) == settings_of_line([f"--{check}-above", ":0.5"])
    monkeypatch.setenv(f"BICLIQ__CHECKS__{check.upper()}_WARN", "0.2")
    (nowhere / SETTINGS_FILE).write_text(f"[checks]\n{check}_fail = 0.5\n")
    assert load_settings() == now
    with pytest.raises(InputError, match=rf"checks: {check}_warn is a part of {check}_above by now"):
        settings_of_line([f"--{check}-above", "0.2"])
    assert load_settings(**now.model_dump(mode="json", exclude={"checks"})).checks == now.checks
    with pytest.raises(InputError, match=rf"checks: {check}_fail 'x': write a number"):
        settings_of_line([f"--{check}-fail", "x"])
    assert CheckSettings.model_validate({f"{check}_warn": None, f"{check}_fail": None}) == CheckSettings()


@pytest.mark.parametrize("text", ["", ":", "0.1:0.2:0.3", "many", "-1", "nan", "true", "0.1;0.5", "0.5:0.1"])
def test_thresholds_that_are_none_are_refused(text):
    with pytest.raises(InputError, match=r"setting checks.rows_above .*warns.*fails"):
        load_settings(checks={"rows_above": text})
    with pytest.raises(InputError, match=r"setting checks.labels_above '0.5:1.5': a share is 1 at most"):
        load_settings(checks={"labels_above": "0.5:1.5"})
    with pytest.raises(InputError, match=r"setting checks.labels_warn .*: a share is 1 at most"):
        load_settings(checks={"labels_warn": 2})


@pytest.mark.parametrize("path", FIELDS, ids=NAMED.get)
def test_every_setting_is_an_option_of_run_and_serve_with_its_sentence_and_its_choices(path):
    for command in ("serve",) if NAMED[path] == "notify.stale_hours" else ("run", "serve"):  # a run is never stale
        parameter = next(p for p in command_of(command).params if p.name == path[-1])
        assert parameter.opts[0] == "--" + path[-1].replace("_", "-")
        assert parameter.help.startswith(FIELDS[path].description)
        if get_origin(kind := FIELDS[path].annotation) is Literal:
            assert rf"\[{', '.join(get_args(kind))}" in parameter.help
        assert parameter.rich_help_panel == PANELS[path[0]]


@pytest.mark.parametrize("command", ["run", "enumerate", "count", "clique", "ingest", "serve"])
def test_every_command_that_reads_a_table_takes_all_settings_of_the_input(command):
    assert set(IngestSettings.model_fields) <= {p.name for p in command_of(command).params}


def test_no_two_settings_share_an_option_and_the_table_names_only_what_is_there():
    assert len({path[-1] for path in FIELDS}) == len(FIELDS)
    assert set(PANELS) == set(Settings.model_fields)
    known = {*PANELS, *NAMED.values(), *("-" + name for name in NAMED.values())}
    assert {entry for takes in TAKES.values() for entry in takes} <= known
    assert {name for pair in CONTRADICTIONS for name in pair} <= set(path[-1] for path in FIELDS)
    assert set(PANELS) == set(Settings.model_fields)


def test_choices_and_defaults_are_in_the_help():
    help_of = {p.name: p.help for p in command_of("run").params}
    assert r"\[first, sum, max, error; default first]" in help_of["duplicates"]
    assert r"\[default 1]" in help_of["min_left"]
    assert help_of["max_bicliques"] == FIELDS["search", "max_bicliques"].description


@pytest.mark.parametrize(
    "name",
    ["BICLIQ__SERACH__MIN_LEFT", "BICLIQ_SEARCH_MIN_LEFT", "BICLIQ__SEARCH__MIN_LEFTS", "bicliq__search__minleft"],
)
def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant(name, monkeypatch):
    monkeypatch.setenv(name, "3")
    with pytest.raises(InputError, match=rf"{name}.*BICLIQ__SEARCH__MIN_LEFT\b"):
        load_settings()


def test_variables_that_are_no_settings_are_let_through_and_all_of_them_are_listed(monkeypatch):
    for name in OTHER_VARIABLES:
        monkeypatch.setenv(name, "1")
    assert load_settings() == Settings()
    asked = set()
    folders = ("bicliq", "kernels", "pipeline", "flows", "notebooks", "tests")
    texts = [path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for text in texts:
        for call in ast.walk(ast.parse(text)) if "BICLIQ_" in text else ():
            if isinstance(call, ast.Call) and "environ" in ast.unparse(call.func):
                asked |= {
                    n.value
                    for n in ast.walk(call)
                    if isinstance(n, ast.Constant) and str(n.value).startswith("BICLIQ_")
                }
    assert {"BICLIQ_LANES", "BICLIQ_TRACEBACK"} <= asked
    assert {name for name in asked if not name.startswith("BICLIQ__")} <= set(OTHER_VARIABLES)


def test_an_error_names_the_option_the_variable_or_the_file(nowhere, monkeypatch):
    with pytest.raises(InputError, match=r"^setting search.min_left 0: .* greater than or equal to 1$"):
        load_settings(search={"min_left": 0})
    monkeypatch.setenv("BICLIQ__SEARCH__MIN_LEFT", "x")
    with pytest.raises(InputError, match=r"^variable BICLIQ__SEARCH__MIN_LEFT 'x': .* integer"):
        load_settings()
    monkeypatch.delenv("BICLIQ__SEARCH__MIN_LEFT")
    (nowhere / SETTINGS_FILE).write_text("[search]\nmin_left = -1\nmin_rigth = 3\n")
    with pytest.raises(InputError) as caught:
        load_settings()
    assert "bicliq.toml: search.min_left -1" in str(caught.value)
    assert "bicliq.toml: search.min_rigth: there is no such setting (did you mean search.min_right?)" in str(
        caught.value
    )


@pytest.mark.parametrize("store", ["", "  ", "a\0b"])
def test_a_store_without_a_name_is_refused(store):
    with pytest.raises(InputError, match="names no place"):
        load_settings(store=store)


def test_a_dashboard_is_switched_off_by_a_variable(monkeypatch):
    monkeypatch.setenv("BICLIQ__CLUSTER__DASHBOARD", "false")
    assert load_settings().cluster.dashboard is False


def command_of(name: str) -> Any:
    command: Any = application()
    for part in name.split():
        command = command.commands[part]
    return command
