"""A store that somebody else can write to: links, special files, records that mean harm."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import StorageError
from bicliq.pipeline.repair import repair
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.update import update
from tests.forked import Forked, be_a_command
from tests.integration.stored_graphs import copied
from tests.nightly import part_of
from tests.sealed import reseal

HALF_WRITTEN = "publications/.begun.json.50aaddef5b4c489a991434891813f3c2.tmp"
WALKS = ["top --json", "verify", "verify --repair", "prune --keep-last 1 --yes", "runs"]
PATIENCE = 60
"""Seconds within which a command that meets a file without an end must have ended."""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("first")
    rows = [f"{left},{right}" for left in "abcdefghij" for right in "klmnopqrst" if (ord(left) * ord(right)) % 7 > 1]
    (folder / "e.csv").write_text("\n".join(["l,r", *rows, ""]))
    (folder / "u.csv").write_text("l,r\na,y\nc,y\n")
    settings = load_settings(store=str(folder / "s"), cluster={"local": True})
    run(str(folder / "e.csv"), settings)
    update(str(folder / "u.csv"), settings)
    return settings


@pytest.fixture
def settings(first: Settings, tmp_path: Path) -> Settings:
    shutil.copy(Path(first.store).with_name("e.csv"), tmp_path)
    return copied(first, tmp_path)


def command(*words: str) -> tuple[int, str, str]:
    """Give a command in a process of its own, with eight GB at most: its exit code and words."""
    process = Forked(within_a_limit, *words)
    out, said = process.communicate(PATIENCE)
    return process.wait(), out, said


def within_a_limit(*words: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (8_000_000 << 10, resource.RLIM_INFINITY))
    be_a_command(*words)


# ---- leftovers and links -------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["repair", "prune"])
def test_a_half_written_publication_of_a_killed_process_goes(settings, how):
    store = Store.open(settings.store)
    store.root.write_bytes(HALF_WRITTEN, b"")
    if how == "repair":
        assert repair(store, settings) == [f"{HALF_WRITTEN}: removed, a temporary file of a process that was killed"]
    else:
        assert HALF_WRITTEN in [one.what for one in prune(store, 5, remove=True).removed]
    found = verify_store(store)
    assert (found.problems, found.leftovers) == ([], [])


def test_a_repair_leaves_alone_what_a_living_process_is_about_to_name(settings):
    store = Store.open(settings.store)
    made = compact(store).run
    folder = store.run(made)
    folder.remove("plan.json", *folder.files("commits"), *folder.files("bicliques"), "manifest.json")
    with folder.claim("compact"):
        repair(store, settings)
        assert folder.has("plan.parquet")
    repair(store, settings)
    assert verify_store(store).ok


def test_a_repair_follows_no_link_out_of_the_store(settings, tmp_path):
    victim, lock = tmp_path / "victim.txt", Path(settings.store) / "claims" / "update.lock"
    victim.write_text("precious")
    lock.unlink()
    lock.symlink_to(victim)
    said = repair(Store.open(settings.store), settings)
    assert any("left to you" in sentence for sentence in said)
    assert victim.read_text() == "precious"
    with pytest.raises(StorageError, match="cannot lock"):
        update(str(tmp_path / "e.csv"), settings)


def test_a_prune_removes_nothing_behind_a_link(settings, tmp_path):
    store = Store.open(settings.store)
    first = store.run(open_run(store.uri).run).asked.parent
    outside = tmp_path / "outside"
    shutil.copytree(Path(settings.store) / "runs" / first, outside)
    (Path(settings.store) / "runs" / "111111111111").symlink_to(outside)
    prune(store, 1, remove=True)
    assert (outside / "run.json").exists()


# ---- files that never end ------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "kind"), part_of(itertools.product(WALKS, ("fifo", "endless", "huge")), 2))
def test_a_file_without_an_end_is_told_at_once(settings, kind, words):
    manifest = next(Path(settings.store).glob("runs/*/manifest.json"))
    manifest.unlink()
    if kind == "fifo":
        os.mkfifo(manifest)
    elif kind == "endless":
        manifest.symlink_to("/dev/zero")
    else:
        manifest.touch()
        os.truncate(manifest, 1 << 40)
    code, out, said = command(*words.split(), "--store", settings.store)
    assert "Traceback" not in said
    assert "defect" not in said
    assert code in (0, 1, 2)
    assert ("damaged" if words == "runs" else "manifest.json") in said + out


# ---- records -------------------------------------------------------------------------------------


def graph_and_base(store: Store) -> tuple[str, str]:
    for graph in store.graphs():
        base = store.graph(graph).record().base
        if base is not None:
            return graph, str(base)
    raise AssertionError("no graph is made of another")


def harm_graph(store: Store, place: int = 0, **what: object) -> None:
    """Change the record of a graph that is told by its differences, or (1) of its base."""
    reseal(store.graph(graph_and_base(store)[place]), "graph.json", **what)


def harm_version(store: Store, **what: object) -> None:
    reseal(store.run(open_run(store.uri).run), "run.json", **what)


HARM = {
    "a graph of itself": lambda s: harm_graph(s, base=graph_and_base(s)[0]),
    "graphs of each other": lambda s: harm_graph(s, 1, base=graph_and_base(s)[0]),
    "a version of itself": lambda s: harm_version(s, parent=open_run(s.uri).run),
    "a version without its graph": lambda s: harm_version(s, graph=None),
    "a negative size": lambda s: harm_graph(s, n_left=-1),
    "an endless size": lambda s: harm_graph(s, n_left=1 << 60),
    "a size that is no number": lambda s: harm_graph(s, n_right="many"),
    "a size in words": lambda s: harm_graph(s, n_right="7"),
    "what none has": lambda s: harm_graph(s, colour="red"),
}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize(
    "words", ["verify", "top", "update u.csv --run {run}", "compact", "verify --repair", "runs", "export x.csv"]
)
def test_a_record_that_means_harm_is_damage(settings, tmp_path, harm, words, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store.open(settings.store)
    base = store.run(open_run(store.uri).run).asked.parent
    (tmp_path / "u.csv").write_text("l,r\nq,y\n")
    HARM[harm](store)
    code = invoke([*words.format(run=base).split(), "--store", settings.store])
    said = capsys.readouterr()
    assert "defect" not in said.err
    assert "RecursionError" not in said.err
    assert code in (0, 1, 2)
    if words == "verify":
        assert code == 1


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a::b", os.fsdecode(b"st\xff")])
def test_a_store_that_cannot_be_named_so_is_refused(settings, tmp_path, name, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir(tmp_path))
    assert invoke(["run", "e.csv", "--store", name, "--local"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert set(os.listdir(tmp_path)) == before


def test_names_that_are_no_utf8_are_foreign_and_left(settings):
    runs = Path(settings.store) / "runs"
    (runs / os.fsdecode(b"x\xffy")).touch()
    (runs / os.fsdecode(b"d\xfe")).mkdir()
    (runs / os.fsdecode(b"d\xfe") / "run.json").write_text("{")
    for words in (["verify"], ["verify", "--repair"]):
        code, _, said = command(*words, "--store", settings.store)
        assert code == 1
        assert "defect" not in said
        assert "runs/x\\udcffy: it is foreign" in said
    assert command("runs", "--store", settings.store)[0] == 0


def test_a_store_without_runs_is_said_to_have_none(tmp_path, capsys):
    store = Store.open(str(tmp_path / "empty"))
    store.root.write_bytes("cliques/none", b"")
    assert invoke(["verify", "--store", store.uri]) in (0, 1)
    assert "there are no runs in it" in capsys.readouterr().out


@pytest.mark.parametrize("kilobytes", [350_000, 500_000])
def test_a_limit_of_the_system_is_no_damage(settings, kilobytes):
    line = ["bash", "-c", f'ulimit -v {kilobytes}; exec "$@"', "-", sys.executable, "-m", "bicliq.flows.cli"]
    ended = subprocess.run([*line, "verify", "--store", settings.store], capture_output=True, text=True)
    assert "defect" not in ended.stderr
    assert "damage" not in ended.stderr
    told = any(
        word in ended.stderr
        for word in ("raise its limit", "raise the limits", "memory ran out", "MemoryError", "allocate memory")
    )
    assert ended.returncode <= 0 or told  # Arrow or the C library ends it where a thread has no room
