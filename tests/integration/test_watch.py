"""`bicliq watch`: files that arrive, each taken exactly once, whatever happens between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.repair import repair
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.arrivals import look
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.rollback import rollback
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.watch import Watch
from tests.integration.server import artifacts
from tests.system_calls import LISTS, OPENS, once, read_below

HERE = {"cluster": {"local": True}}
COLUMNS = {"left": "user", "right": "item"}
SHOP = [("ann", "jam"), ("ann", "tea"), ("bob", "jam"), ("bob", "tea"), ("cid", "tea")]
MORE = [("cid", "jam"), ("dan", "rum")]


@pytest.fixture
def orders(tmp_path):
    (tmp_path / "orders").mkdir()
    return tmp_path / "orders"


def put(folder, name, rows, head="user,item"):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return f"file://{path}"


def asked(tmp_path, store="store", ingest=None, **more):
    return load_settings(store=str(tmp_path / store), ingest=COLUMNS | (ingest or {}), **HERE, **more)


def watched(tmp_path, orders, **options):
    return Watch(str(orders), asked(tmp_path, **options.pop("asked", {})), settle=0, **options)


def from_scratch(tmp_path, rows, **more):
    table = put(tmp_path, "all.csv", rows)
    return run(table, asked(tmp_path, f"scratch-{len(list(tmp_path.iterdir()))}", **more))


def latest(tmp_path):
    return open_run(str(tmp_path / "store"))


def test_one_command_takes_what_is_there_and_then_what_arrives_a_version_a_look(tmp_path, orders, capsys):
    command = ["watch", str(orders), "--once", "--settle", "0", "--store", str(tmp_path / "store"), "--local"]
    command += ["--left", "user", "--right", "item", "--min-right", "2", "--json"]
    first = [put(orders, "2.csv", SHOP[:2]), put(orders, "10.csv", SHOP[2:])]

    def said():
        capsys.readouterr()
        assert invoke(command) == 0
        return json.loads(capsys.readouterr().out)

    began = said()
    assert (began["how"], began["files"]) == ("run", sorted(first))
    new = [put(orders, "below/3.csv", MORE[:1]), put(orders, "4.csv", MORE[1:])]
    for name in ("_x.csv", ".x.csv", "5.csv.tmp", "5.csv.part", "notes.txt", "_temporary/6.csv"):
        put(orders, name, [("never", "taken")])
    grown = said()
    assert (grown["how"], grown["files"]) == ("changes", sorted(new))
    assert len(grown["passed_over"]) == 6
    whole = from_scratch(tmp_path, SHOP + MORE, search={"min_right": 2})
    assert (grown["version"], grown["digest"]) == (latest(tmp_path).run, whole.digest)
    assert grown["update"]["parent"] == began["version"]
    assert said()["how"] == "nothing new"
    assert len(Store.open(str(tmp_path / "store")).runs()) == 2
    assert verify_store(Store.open(str(tmp_path / "store"))).problems == []
    assert invoke(command[:-1]) == 0
    assert "nothing new in" in capsys.readouterr().out


def test_a_folder_may_be_empty_at_first_but_must_be_there(tmp_path, orders):
    assert not watched(tmp_path, orders).take().anything
    put(orders, "1.csv", SHOP)
    assert watched(tmp_path, orders).take().run.digest == from_scratch(tmp_path, SHOP).digest
    with pytest.raises(InputError, match="no such folder"):
        Watch(str(tmp_path / "ordres"), asked(tmp_path), settle=0).take()
    with pytest.raises(InputError, match="its own tables would be taken"):
        Watch(str(tmp_path), asked(tmp_path))


def test_a_glob_names_what_is_taken(tmp_path, orders):
    put(orders, "out.1", SHOP)
    put(orders, "in.1", MORE)
    taken = Watch(f"{orders}/out.*", asked(tmp_path, ingest={"format": "csv"}), settle=0).take()
    assert taken.files == (f"file://{orders}/out.1",)


@pytest.mark.parametrize("glob", ["", "/*.csv"])
def test_what_is_no_file_is_named_and_links_to_files_are_taken(tmp_path, orders, glob):
    os.mkfifo(orders / "pipe.csv")
    (orders / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    put(tmp_path, "real.csv", SHOP)
    (orders / "link.csv").symlink_to(tmp_path / "real.csv")
    taken = Watch(f"{orders}{glob}", asked(tmp_path), settle=0).take()
    assert taken.files == (f"file://{orders}/link.csv",)
    assert [uri.rsplit("/", 1)[-1] for uri in taken.passed_over] == ["gone.csv", "pipe.csv"]
    assert taken.waiting == ()


def test_a_look_says_in_plain_text_what_was_dropped_and_passed_over(tmp_path, orders, capsys):
    command = ["watch", str(orders), "--store", str(tmp_path / "store"), "--once", "--settle", "0s", "--nulls", "drop"]
    for name in ("1.csv", "2.csv"):
        put(orders, name, [("null", "jam"), (name, "jam")])
        (orders / ".hidden").touch()
        assert invoke(command) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "1 other file passed over" in said
        assert "2 rows read: 0 repeat an edge; 1 dropped: nulls" in said


def test_a_file_that_changed_is_an_error_that_names_the_version_and_one_that_was_touched_is_none(
    tmp_path, orders, capsys
):
    file = put(orders, "1.csv", SHOP)
    began = watched(tmp_path, orders).take().run
    os.utime(orders / "1.csv", (1, 1))
    assert not watched(tmp_path, orders).take().anything
    put(orders, "1.csv", SHOP[1:])
    put(orders, "2.csv", MORE)
    command = ["watch", str(orders), "--once", "--settle", "0", "--store", str(tmp_path / "store"), "--local"]
    assert invoke(command) == 2
    error = capsys.readouterr().err
    assert f"{file}: has changed since version {began.run} took it at 20" in error
    assert error.count("\n") == 1
    assert latest(tmp_path).run == began.run


def test_a_file_that_is_still_written_waits(tmp_path, orders):
    put(orders, "1.csv", SHOP)
    put(orders, "2.csv", [])
    (orders / "3.csv").touch()
    with once(LISTS, str(orders), lambda: put(orders, "2.csv", MORE), number=2):
        taken = watched(tmp_path, orders).take()
    assert taken.files == (f"file://{orders}/1.csv",)
    assert taken.waiting == (f"file://{orders}/2.csv", f"file://{orders}/3.csv")
    later = watched(tmp_path, orders).take()
    assert (later.files, later.waiting) == ((f"file://{orders}/2.csv",), (f"file://{orders}/3.csv",))
    assert later.update.digest == from_scratch(tmp_path, SHOP + MORE).digest


def test_a_file_that_changes_while_it_is_read_is_not_taken(tmp_path, orders):
    put(orders, "1.csv", SHOP)
    began = watched(tmp_path, orders).take().run
    put(orders, "2.csv", MORE)
    changed = once(OPENS, "edges.parquet", lambda: put(orders, "2.csv", MORE[:1]))  # of the graph, which come later
    with changed as met, pytest.raises(InputError, match="changed while it was read"):
        watched(tmp_path, orders).take()
    assert met
    assert latest(tmp_path).run == began.run


def test_a_file_that_changes_nothing_is_taken_too_and_makes_no_version(tmp_path, orders):
    put(orders, "1.csv", SHOP)
    began = watched(tmp_path, orders).take().run
    run = tmp_path / "store" / "runs" / began.run / "run.json"
    written = run.read_bytes(), run.stat().st_mtime_ns
    put(orders, "2.csv", SHOP[:2])
    assert watched(tmp_path, orders).take().update.how == "nothing"
    assert (run.read_bytes(), run.stat().st_mtime_ns) == written  # what is published is not written again
    with read_below(orders) as read:
        assert not watched(tmp_path, orders).take().anything
    assert read == []
    assert len(Store.open(str(tmp_path / "store")).runs()) == 1
    put(orders, "2.csv", MORE)
    with pytest.raises(InputError, match="has changed"):
        watched(tmp_path, orders).take()


@pytest.mark.parametrize("damage", ["flip", "remove"])
def test_a_list_of_taken_files_that_is_damaged_is_named_and_its_files_are_read_again(tmp_path, orders, damage):
    put(orders, "1.csv", SHOP)
    began = watched(tmp_path, orders).take().run
    for name in ("2.csv", "3.csv"):
        put(orders, name, SHOP[:2])
        watched(tmp_path, orders).take()
    store = Store.open(str(tmp_path / "store"))
    took = tmp_path / "store" / "runs" / began.run / "took" / "00002.json"
    took.write_bytes(took.read_bytes()[::-1]) if damage == "flip" else took.unlink()
    assert any("took/00002.json" in problem for problem in verify_store(store).problems)
    if damage == "flip":
        with pytest.raises(DamageError, match="took/00002"):
            watched(tmp_path, orders).take()
    assert any("took/00002.json: emptied" in said for said in repair(store, load_settings(store=store.uri)))
    assert verify_store(store).ok
    assert watched(tmp_path, orders).take().update.how == "nothing"
    assert not watched(tmp_path, orders).take().anything


def test_files_of_a_glob_that_were_taken_are_left_out_of_an_update(tmp_path, orders):
    ingest = {"weight": "n", "duplicates": "sum"}
    for day, rows in enumerate((SHOP, MORE)):
        put(orders, f"{day}.csv", [(*row, 1) for row in rows], "user,item,n")
        watched(tmp_path, orders, asked={"ingest": ingest}).take()
    put(orders, "9.csv", [("eve", "rum", 1)], "user,item,n")
    settings = load_settings(store=str(tmp_path / "store"), **HERE)
    assert update(f"{orders}/*.csv", settings).rows_read == 1
    assert set(weights(tmp_path).values()) == {1.0}


def weights(tmp_path):
    """Weight of each edge of the latest graph, by its labels."""
    opened = latest(tmp_path)
    graph = opened.store.graph(opened.manifest.graph)
    table = graph.read_table(graph.record().named["edges.parquet"])
    left, right = (labels.to_pylist() for labels in read_labels(graph))
    rows = zip(*(table[name].to_pylist() for name in ("left", "right", "weight")), strict=True)
    return {(left[u], right[v]): weight for u, v, weight in rows}


@pytest.mark.parametrize("duplicates", ["first", "sum", "max"])
def test_a_file_that_is_taken_anew_leaves_what_a_run_of_all_files_as_they_are_gives(tmp_path, orders, duplicates):
    head, ingest = "user,item,n", {"weight": "n", "duplicates": duplicates}
    files = {
        "1.csv": [(*row, 1) for row in SHOP],
        "2.csv": [("ann", "jam", 2), ("cid", "jam", 3), ("dan", "rum", 4)],
        "3.csv": [("dan", "tea", 5)],
    }
    options = {"asked": {"ingest": ingest}}
    for name, rows in files.items():
        put(orders, name, rows, head)
        watched(tmp_path, orders, **options).take()
    files["2.csv"] = [("eve", "jam", 7), ("ann", "jam", 6), ("cid", "jam", 3)]
    files["4.csv"] = [("eve", "tea", 1)]
    for name in ("2.csv", "4.csv"):
        put(orders, name, files[name], head)
    found = watched(tmp_path, orders, replace=True, **options).take().update
    assert (found.how, found.edges, found.gone) == ("changes", 2, 1)
    scratch = asked(tmp_path, "scratch", ingest)
    rows = [row for name in ("1.csv", "3.csv", "2.csv", "4.csv") for row in files[name]]
    whole = run(put(tmp_path, "all.csv", rows, head), scratch)
    assert (found.digest, found.bicliques) == (whole.digest, whole.bicliques)
    united = {"first": 1.0, "sum": 7.0, "max": 6.0}[duplicates]
    assert weights(tmp_path)["ann", "jam"] == united
    assert ("dan", "rum") not in weights(tmp_path)
    assert verify_store(Store.open(str(tmp_path / "store"))).problems == []
    assert not watched(tmp_path, orders, replace=True, **options).take().anything
    put(orders, "2.csv", [("ann", "jam", 2), ("cid", "jam", 3), ("dan", "rum", 4)], head)
    assert watched(tmp_path, orders, replace=True, **options).take().update.how == "changes"
    assert weights(tmp_path)["dan", "rum"] == 4.0


def test_a_file_is_not_taken_anew_where_that_could_not_be_exact(tmp_path, orders):
    put(orders, "1.csv", SHOP)
    put(orders, "2.csv", MORE)
    watched(tmp_path, orders).take()
    put(orders, "2.csv", MORE[:1])
    anew = watched(tmp_path, orders, replace=True)
    (orders / "1.csv").rename(tmp_path / "1.csv")
    with pytest.raises(InputError, match=r"1\.csv: is gone, and which edges only the file had"):
        anew.take()
    (tmp_path / "1.csv").rename(orders / "1.csv")
    settings = load_settings(store=str(tmp_path / "store"), **HERE)
    update(put(tmp_path, "gone.csv", SHOP[:1]), settings, delete=True)
    with pytest.raises(InputError, match="edges were taken away"):
        anew.take()
    strict = Watch(str(orders), asked(tmp_path, "strict", {"duplicates": "error"}), settle=0, replace=True)
    strict.take()
    put(orders, "2.csv", MORE)
    with pytest.raises(InputError, match="duplicates = 'error' forbids"):
        strict.take()
    begun = asked(tmp_path, "begun")
    run(str(orders / "1.csv"), begun)
    Watch(str(orders), begun, settle=0).take()
    put(orders, "2.csv", MORE[1:])
    with pytest.raises(InputError, match="not begun by a watch"):
        Watch(str(orders), begun, settle=0, replace=True).take()


def test_other_thresholds_than_those_of_the_run_are_refused(tmp_path, orders):
    put(orders, "1.csv", SHOP)
    watched(tmp_path, orders).take()
    with pytest.raises(InputError, match="its run has min_left = 1, and 2 is asked for"):
        watched(tmp_path, orders, asked={"search": {"min_left": 2}}).take()


def test_a_table_that_sums_weights_is_not_begun_twice(tmp_path, orders):
    put(orders, "1.csv", [(*row, 1) for row in SHOP], "user,item,n")
    ingest = {"weight": "n", "duplicates": "sum"}
    run(str(orders / "1.csv"), asked(tmp_path, ingest=ingest))
    with pytest.raises(InputError, match="which files its run holds is not known"):
        watched(tmp_path, orders, asked={"ingest": ingest}).take()


def test_a_watch_stays_takes_what_arrives_and_ends_at_an_interrupt(tmp_path, orders):
    command = [sys.executable, "-m", "bicliq.flows.cli", "watch", str(orders), "--every", "0.2", "--settle", "0.1"]
    command += ["--store", str(tmp_path / "store"), "--local", "--left", "user", "--right", "item", "--json"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    stays = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        put(orders, "1.csv", SHOP)
        lines = [json.loads(stays.stdout.readline())]
        put(orders, "2.csv.part", MORE)
        time.sleep(0.5)
        (orders / "2.csv.part").rename(orders / "2.csv")
        lines.append(json.loads(stays.stdout.readline()))
        time.sleep(0.5)
    finally:
        stays.send_signal(signal.SIGINT)
        rest, error = stays.communicate(timeout=120)
    assert (stays.returncode, rest, error.count("\n")) == (130, "", 1)
    assert [line["how"] for line in lines] == ["run", "changes"]
    assert lines[1]["digest"] == from_scratch(tmp_path, SHOP + MORE).digest


def test_the_flow_looks_once_and_leaves_what_changed(tmp_path, orders, prefect_server):
    from bicliq.flows.update import watch_flow

    settings = {"store": str(tmp_path / "store"), "ingest": COLUMNS, **HERE}
    put(orders, "1.csv", SHOP)
    first = watch_flow(str(orders), settings, settle=0)
    assert first["how"] == "run"
    assert first["version"] in artifacts(prefect_server)[f"report-{first['version']}"]["data"]
    put(orders, "2.csv", MORE)
    record = watch_flow(str(orders), settings, settle=0)
    assert record["digest"] == from_scratch(tmp_path, SHOP + MORE).digest
    assert record["digest"] in artifacts(prefect_server)[f"update-{record['version']}"]["data"]
    assert watch_flow(str(orders), settings, settle=0)["how"] == "nothing new"


def test_two_looks_at_once_take_a_file_once(tmp_path, orders):
    from concurrent.futures import ThreadPoolExecutor

    put(orders, "1.csv", SHOP)
    watched(tmp_path, orders).take()
    put(orders, "2.csv", MORE)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: watched(tmp_path, orders).take().files, range(2)))
    assert sorted(map(len, both)) == [0, 1]


def test_a_look_tells_what_is_there(orders):
    put(orders, "1.csv", SHOP)
    put(orders, "notes.txt", [])
    seen = look(str(orders))
    assert [file.uri for file in seen.files] == [f"file://{orders}/1.csv"]
    assert seen.files[0].bytes == (orders / "1.csv").stat().st_size
    assert seen.passed_over == (f"file://{orders}/notes.txt",)


def test_a_file_that_was_rolled_back_is_not_taken_until_told_or_changed(tmp_path, orders, capsys):
    put(orders, "1.csv", SHOP)
    first = watched(tmp_path, orders).take().run.run
    name = put(orders, "2.csv", MORE)
    second = watched(tmp_path, orders).take().update.version
    store = str(tmp_path / "store")
    assert invoke(["rollback", first, "--store", store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["set_aside"] == [name]
    left = watched(tmp_path, orders).take()
    assert (left.anything, left.set_aside) == (False, (name,))
    assert invoke(["watch", str(orders), "--once", "--settle", "0s", "--local", "--store", store]) == 0
    assert "1 file rolled back or rejected stay" in capsys.readouterr().out.replace("\n", " ")
    again = watched(tmp_path, orders, again=True).take()
    assert (again.files, again.update.bicliques) == ((name,), open_run(store, second).manifest.bicliques)
    assert not watched(tmp_path, orders).take().set_aside
    assert invoke(["rollback", first, "--store", store]) == 0
    assert "watch --again takes it" in capsys.readouterr().out.replace("\n", " ")
    put(orders, "2.csv", [*MORE, ("dan", "jam")])
    assert watched(tmp_path, orders).take().files == (name,)
    assert verify_store(Store.open(store)).ok


def test_a_file_that_was_rejected_is_never_taken(tmp_path, orders, capsys):
    put(orders, "1.csv", SHOP)
    first = watched(tmp_path, orders).take().run.run
    name = put(orders, "2.csv", MORE)
    watched(tmp_path, orders).take()
    store = str(tmp_path / "store")
    assert invoke(["rollback", first, "--reject", "--store", store]) == 0
    assert "2.csv: no watch takes it" in capsys.readouterr().out.replace("\n", " ")
    put(orders, "2.csv", [*MORE, ("dan", "jam")])
    for again in (False, True):
        assert watched(tmp_path, orders, again=again).take().set_aside == (name,)
    assert update(name, asked(tmp_path)).edges == 3, "who names it takes it"


@pytest.mark.parametrize("every", ["0", "0s", "soon", "-1"])
def test_a_watch_that_would_never_rest_is_refused(tmp_path, capsys, every):
    assert invoke(["watch", str(tmp_path), "--every", every, "--store", str(tmp_path / "store")]) == 2
    assert "--every" in capsys.readouterr().err


def test_what_all_versions_took_is_known_and_no_record_grows_with_their_number(tmp_path, orders, monkeypatch):
    monkeypatch.setattr("bicliq.pipeline.store.taken.MOST_TAKEN", 4)
    for number in range(15):
        put(orders, f"{number:02}.csv", [(f"user{number}", "jam"), ("ann", "tea")])
        assert watched(tmp_path, orders).take().anything
    store = Store.open(str(tmp_path / "store"))
    assert max(len(store.run(run).record().taken or {}) for run in store.runs()) <= 5
    assert len(store.root.files("sources")) == 3
    assert watched(tmp_path, orders).take().anything is False
    prune(store, 1, remove=True)
    assert verify_store(store).problems == []
    for number in (0, 7, 14):
        assert update(str(orders / f"{number:02}.csv"), asked(tmp_path)).how == "taken"
    assert watched(tmp_path, orders).take().anything is False
    store.root.remove(sorted(store.root.files("sources"))[0])
    assert any("it is missing, and" in problem for problem in verify_store(store).problems)


def test_a_prune_removes_the_files_that_no_run_took(tmp_path, orders, monkeypatch):
    monkeypatch.setattr("bicliq.pipeline.store.taken.MOST_TAKEN", 1)
    for number in range(4):
        put(orders, f"{number}.csv", [(f"user{number}", "jam")])
        watched(tmp_path, orders).take()
    store = Store.open(str(tmp_path / "store"))
    base = store.run(open_run(store.uri).run).record().base
    assert len(store.root.files("sources")) == 3
    rollback(store, base)
    prune(store, 1, remove=True)
    assert (store.runs(), len(store.root.files("sources"))) == ([base], 1), "what its next version names stays"
    assert verify_store(store).problems == []
    assert update(str(orders / "3.csv"), asked(tmp_path)).how == "changes"
