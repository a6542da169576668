"""Who can be trusted with what: input, names and stores do no more than they should; secrets stay
where they are."""

from __future__ import annotations

import ast
import json
import logging
import re
from pathlib import Path

import pytest
from pydantic_core import to_jsonable_python

from bicliq.flows.cli import invoke
from bicliq.flows.words import in_markdown
from bicliq.pipeline.errors import DamageError, InputError, sentence
from bicliq.pipeline.events import warn
from bicliq.pipeline.formats import name_of
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Pruned
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from tests.sealed import reseal

ROOT = Path(__file__).parents[2]
PASSWORD = "pa55word"
ROWS = "l,r\nann,jam\nann,tea\nbob,jam\nbob,tea\n"


def settings_of(tmp_path, **changes):
    return load_settings(store=str(tmp_path / "store"), cluster={"local": True}, **changes)


def calls_and_imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
        elif isinstance(node, ast.Call):
            yield ast.unparse(node.func)
        elif isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "shell"):
            yield f"{node.arg}={ast.unparse(node.value)}"


def test_nothing_that_is_read_becomes_code():
    forbidden = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "eval", "exec", "os.system", "yaml.load"}
    forbidden |= {"allow_pickle=True", "shell=True"}
    found = {
        str(path.relative_to(ROOT)): forbidden & set(calls_and_imports(path))
        for room in ("bicliq", "kernels", "pipeline", "flows")
        for path in (ROOT / room).rglob("*.py")
    }
    assert len(found) > 100
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("name", ["../outside.parquet", "/etc/passwd", "a/../../b", "..", "a\\b"])
def test_a_record_cannot_name_a_file_outside_of_its_folder(tmp_path, name):
    folder = Store.open(str(tmp_path / "store")).run("r")
    folder.write(Pruned.at, Pruned(stored=(StoredFile(name, 1, "0"),), pruned="r"))
    with pytest.raises(DamageError, match="outside of its folder"):
        folder.read(Pruned)


@pytest.mark.parametrize(("entry", "value"), [("graph", "../../g"), ("parent", "a/b"), ("layers", ["ok", "../r"])])
def test_a_record_cannot_name_a_graph_or_run_elsewhere(tmp_path, entry, value):
    settings = settings_of(tmp_path)
    (tmp_path / "t.csv").write_text(ROWS)
    folder = Store.open(settings.store).run(run(str(tmp_path / "t.csv"), settings).run)
    if entry == "layers":
        (tmp_path / "u.csv").write_text(f"{ROWS}new,newer\n")
        folder = Store.open(settings.store).run(update(str(tmp_path / "u.csv"), settings).version)
        entry, value = "layered", {**to_jsonable_python(folder.record().layered), "layers": value}
    reseal(folder, "run.json", **{entry: value})
    with pytest.raises(DamageError, match="outside of its folder"):
        folder.record()


@pytest.mark.parametrize("name", ["..", "../store", "/etc", "a/../.."])
def test_names_of_users_cannot_leave_the_store(tmp_path, name):
    settings = settings_of(tmp_path)
    (tmp_path / "t.csv").write_text(ROWS)
    run(str(tmp_path / "t.csv"), settings)
    with pytest.raises(InputError):
        open_run(settings.store, name)
    for command in (["top", name], ["resume", name], ["verify", name], ["rollback", name], ["profile", name]):
        assert invoke([*command, "--store", settings.store]) == 2


def test_labels_are_escaped_on_the_page_and_stay_one_line_in_the_log(tmp_path, capsys):
    ring = [f'<script>alert({i})</script>,"a|b{j}"' for i in range(6) for j in range(7)]  # beyond chance
    (tmp_path / "t.csv").write_text("\n".join(["l,r", *ring, *(f"u{i},v{i}" for i in range(300))]) + "\n")
    settings = settings_of(tmp_path)
    run(str(tmp_path / "t.csv"), settings)
    assert invoke(["report", "--store", settings.store, "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    capsys.readouterr()
    assert invoke(["runs", "--store", settings.store, "--json"]) == 0


def test_labels_are_shown_as_they_are_in_markdown():
    label = "![x](http://e.example/p.png) <img src=x onerror=alert(1)> `a` | b\n# c *d* _e_ &amp; \\"
    escaped = in_markdown(label)
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)[`*_\[\]<>()#!|&]", escaped)
    assert re.sub(r"\\(.)", r"\1", escaped) == label.replace("\n", " ")


def test_an_event_is_one_line_whatever_its_facts_hold(caplog):
    warn("label", label="a\nWARNING forged\r\n\x1b[31m")
    (message,) = caplog.messages
    assert "\n" not in message
    assert "\x1b" not in message


def test_secrets_of_a_url_are_in_no_record_message_or_log(tmp_path, capsys, caplog):
    import fsspec

    with fsspec.open("memory://secrets/edges.csv", "w") as table:
        table.write(ROWS)
    caplog.set_level(logging.INFO, "bicliq")
    url = f"memory://ann:{PASSWORD}@secrets/edges.csv"
    with fsspec.open(url, "w") as table:
        table.write(ROWS)
    with fsspec.open(url.replace("edges", "new"), "w") as table:
        table.write("l,r\ncid,jam\n")
    settings = settings_of(tmp_path)
    found = run(url, settings)
    changed = update(url.replace("edges", "new"), load_settings(store=settings.store, cluster={"local": True}))
    assert changed.how == "changes"
    assert PASSWORD not in json.dumps([found.record(), changed.record()])
    held = [
        path for path in (tmp_path / "store").rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()
    ]
    assert held == []
    assert invoke(["run", f"https://ann:{PASSWORD}@127.0.0.1:9/edges.csv", "--store", settings.store]) == 2
    assert invoke(["run", f"http://127.0.0.1:9/e.csv?X-Amz-Signature={PASSWORD}", "--store", settings.store]) == 2
    warn("table ingested", source=url)
    assert PASSWORD not in capsys.readouterr().err + caplog.text
    assert PASSWORD not in sentence(InputError(f"{url}: bad")) + name_of(url)
