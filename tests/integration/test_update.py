"""`bicliq update`: tables joined to a run or taken out of it, and what readers see."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq import kernels
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import PublishSettings, load_settings
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.verify import verify, verify_store
from bicliq.pipeline.stages.verify_roots import EVERY_ROOT
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Reading
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.versions import APPEARED, VANISHED, Layer
from bicliq.pipeline.versions.layer import MOST, histogram_after
from bicliq.pipeline.versions.rollback import make_latest
from bicliq.pipeline.versions.sources import reading_of, source_files
from bicliq.pipeline.versions.update import update, version_id
from bicliq.pipeline.versions.update_record import UpdateRecord
from tests.integration.killed import killed
from tests.integration.server import artifacts
from tests.real_graphs import DATA

HERE = {"cluster": {"local": True}}


def csv(path, rows, head="user,item"):
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


SHOP = [("ann", "jam"), ("ann", "tea"), ("bob", "jam"), ("bob", "tea"), ("cid", "tea")]


@pytest.fixture
def shop(tmp_path):
    settings = load_settings(store=str(tmp_path / "store"), ingest={"left": "user", "right": "item"}, **HERE)
    run(csv(tmp_path / "base.csv", SHOP), settings)
    return load_settings(store=settings.store, **HERE)


def from_scratch(tmp_path, rows, **asked):
    settings = load_settings(store=str(tmp_path / "scratch"), ingest={"left": "user", "right": "item"}, **HERE, **asked)
    return run(csv(tmp_path / "all.csv", rows), settings)


def said(capsys, *arguments):
    capsys.readouterr()
    assert invoke([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_prints_the_contract_and_runs_lists_the_version(tmp_path, shop, capsys):
    new = csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum"), ("ann", "jam")])
    record = said(capsys, "update", new, "--store", shop.store)
    whole = from_scratch(tmp_path, [*SHOP, ("cid", "jam"), ("dan", "rum")])
    assert (record["bicliques"], record["digest"]) == (whole.bicliques, whole.digest)
    assert (record["how"], record["edges"], record["unchanged"], record["rows_read"]) == ("changes", 2, 1, 3)
    listed = said(capsys, "runs", "--store", shop.store)["runs"]
    assert [entry["parent"] for entry in listed] == [None, record["parent"]]
    assert listed[1]["update"]["sources"] == [f"file://{new}"]
    assert invoke(["update", new, "--store", shop.store]) == 0
    assert "took the same files" in capsys.readouterr().out
    assert invoke(["runs", "--store", shop.store]) == 0
    assert f"{record['parent']} and new.csv (+2 -2)" in capsys.readouterr().out
    for command in (
        ["top"],
        ["show", "--with-left", "dan"],
        ["report"],
        ["verify"],
        ["export", str(tmp_path / "g.csv")],
    ):
        assert invoke([*command, "--store", shop.store]) == 0
    assert (tmp_path / "g.csv").read_text().count("dan") == 1
    found = said(capsys, "find", "--run", record["version"], "--store", shop.store)
    assert len(found["groups"]) == whole.bicliques


@pytest.mark.parametrize("compression", ["zstd", "lz4_raw", "none"])
def test_files_of_a_version_have_the_codec_of_its_base(tmp_path, compression):
    settings = load_settings(store=str(tmp_path / "store"), ingest={"left": "user", "right": "item"}, **HERE)
    run(
        csv(tmp_path / "base.csv", SHOP),
        settings.model_copy(update={"publish": PublishSettings(compression=compression)}),
    )
    found = update(
        csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")]), load_settings(store=settings.store, **HERE)
    )
    folder = Store.open(settings.store).run(found.version)
    layer = Layer(folder, folder.record())
    codecs = {"zstd": "ZSTD", "lz4_raw": "LZ4", "none": "UNCOMPRESSED"}
    for name in (APPEARED, VANISHED):
        group = pq.read_metadata(folder.path_of(layer.file(name).name)).row_group(0)
        assert {group.column(i).compression for i in range(group.num_columns)} == {codecs[compression]}
    whole = from_scratch(tmp_path, [*SHOP, ("cid", "jam"), ("dan", "rum")])
    assert open_run(settings.store).manifest.digest == whole.digest


def test_what_is_taken_away_is_what_a_run_without_it_gives(tmp_path, shop):
    found = update(csv(tmp_path / "old.csv", [("ann", "jam"), ("zoe", "jam")]), shop, delete=True)
    assert (found.edges, found.unchanged) == (1, 1)
    assert found.digest == from_scratch(tmp_path, SHOP[1:]).digest
    again = update(csv(tmp_path / "new.csv", [("ann", "jam")]), shop)
    assert again.digest == from_scratch(tmp_path, SHOP).digest


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("most_rows", [2, 1 << 16])
def test_rows_that_vanish_lie_by_the_partitions_of_the_base(tmp_path, monkeypatch, delete, most_rows):
    monkeypatch.setattr("bicliq.pipeline.versions.layer.FOLDED_ROWS", 0)  # the layer is one of smaller sides
    monkeypatch.setitem(MOST, "most_rows", most_rows)
    rows = np.argwhere(np.random.default_rng(5).random((12, 12)) < 0.5).tolist()
    some, rest = rows[::9], [row for i, row in enumerate(rows) if i % 9]
    settings = load_settings(
        store=str(tmp_path / "store"), ingest={"left": "user", "right": "item"}, plan={"partitions": 3}, **HERE
    )
    run(csv(tmp_path / "base.csv", rows if delete else rest), settings)
    found = update(csv(tmp_path / "some.csv", some), load_settings(store=settings.store, **HERE), delete=delete)
    whole = from_scratch(tmp_path, rest if delete else rows)
    assert (found.how, found.bicliques, found.digest) == ("changes", whole.bicliques, whole.digest)
    assert verify(Store.open(settings.store), found.version, roots=EVERY_ROOT).problems == []
    vanished = open_run(settings.store).folder.record().version.vanished
    assert vanished.columns == "smaller"
    assert len({partition for partition, _ in vanished.partitions}) > 1
    assert max(rows for _, rows in vanished.partitions) <= most_rows


def test_files_that_were_taken_are_taken_again_only_after_they_were_taken_away(tmp_path, shop):
    new = csv(tmp_path / "new.csv", [("dan", "jam")])
    first = update(new, shop)
    assert isinstance(first, UpdateRecord)
    again = update(new, shop)
    assert (again.how, again.version, again.appeared) == ("taken", first.version, 0)
    assert again.record()["bytes"] == 0
    assert update(new, shop, delete=True).how == "changes"
    assert update(new, shop).how == "changes"
    csv(tmp_path / "new.csv", [("eve", "jam")])
    assert update(new, shop).edges == 1


@pytest.mark.parametrize("delete", [False, True])
def test_a_table_that_changes_nothing_makes_no_version(tmp_path, shop, delete):
    rows = [("dan", "rum")] if delete else SHOP[:2]
    found = update(csv(tmp_path / "same.csv", rows), shop, delete=delete)
    assert (found.how, found.edges, found.unchanged) == ("nothing", 0, len(rows))
    assert len(Store.open(shop.store).runs()) == 1


def test_new_rows_come_in_every_format(tmp_path, shop):
    pq.write_table(pa.table({"item": ["jam"], "user": ["cid"]}), tmp_path / "a.parquet")
    (tmp_path / "b.tsv").write_text("user\titem\ndan\ttea\n")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"stars,item,user\n5,jam,eve\n"))
    for name in ("a.parquet", "b.tsv", "c.csv.gz"):
        assert update(str(tmp_path / name), shop).edges == 1
    more = [("cid", "jam"), ("dan", "tea"), ("eve", "jam")]
    assert open_run(shop.store).manifest.digest == from_scratch(tmp_path, [*SHOP, *more]).digest


def test_columns_policies_and_thresholds_are_those_of_the_run(tmp_path):
    head = "when,user,item,stars"
    rows = [(1, "ann", "jam", 5), (2, "bob", "jam", 4), (3, "ann", "tea", 1), (4, "bob", "tea", 5)]
    ingest = {"left": "user", "right": "item", "weight": "stars", "duplicates": "sum", "min_weight": 3}
    search = {"min_left": 2}
    settings = load_settings(store=str(tmp_path / "s"), ingest=ingest, search=search, **HERE)
    run(csv(tmp_path / "base.csv", rows, head), settings)
    later = load_settings(store=settings.store, **HERE)
    more = [(5, "cid", "tea", 2), (6, "cid", "jam", 3), (7, "ann", "tea", 3)]
    found = update(csv(tmp_path / "more.csv", more, head), later)
    assert found.edges == 2
    whole = run(
        csv(tmp_path / "all.csv", rows + more, head), settings.model_copy(update={"store": str(tmp_path / "t")})
    )
    assert (found.bicliques, found.digest) == (whole.bicliques, whole.digest)
    columns = {"left": "user", "right": "item", "weight": "stars"}
    known = Reading("csv", columns, {"duplicates": "sum", "min_weight": None})
    reading = reading_of(str(tmp_path / "more.csv"), known, load_settings().ingest, delete=True)
    assert (reading.left, reading.weight, reading.duplicates) == ("user", None, "first")
    with pytest.raises(InputError, match="min_weight 2"):
        update(str(tmp_path / "base.csv"), load_settings(store=settings.store, ingest={"min_weight": 2}, **HERE))


@pytest.mark.parametrize(
    ("rows", "head", "options", "problem"),
    [
        ([("a", "b")], "buyer,product", [], "there is no column 'user'"),
        ([], "user,item", [], "no edge is left"),
        (SHOP, "user,item", ["--delete"], "no edge of the graph would be left"),
        (SHOP, "user,item", ["--run", "zzz"], "is no run of this store"),
    ],
)
def test_what_cannot_be_taken_is_one_line_and_changes_nothing(tmp_path, shop, capsys, rows, head, options, problem):
    new = csv(tmp_path / "new.csv", rows, head)
    assert invoke(["update", new, "--store", shop.store, *options]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert len(Store.open(shop.store).runs()) == 1


def test_a_run_that_is_not_whole_is_not_updated(tmp_path):
    settings = load_settings(store=str(tmp_path / "s"), search={"max_bicliques": 1}, **HERE)
    run(csv(tmp_path / "base.csv", SHOP), settings)
    with pytest.raises(InputError, match="cut off by its limit"):
        update(csv(tmp_path / "new.csv", [("x", "y")]), settings)


def test_a_version_has_nothing_to_resume(tmp_path, shop):
    found = update(csv(tmp_path / "new.csv", [("dan", "jam")]), shop)
    with pytest.raises(InputError, match="nothing to resume"):
        resume(found.version, shop)


UPDATE = """
from bicliq.pipeline.versions.update import update
from tests.integration.killed import killed
update(given[0], load_settings(store=given[1], cluster={"local": True}))
"""


@pytest.mark.parametrize("at", ["before", "after"])
def test_an_update_that_is_killed_leaves_a_whole_version_and_takes_nothing_twice(tmp_path, shop, at):
    new = csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")])
    killed(UPDATE, new, shop.store, method="write", when=at)
    store = Store.open(shop.store)
    assert len(store.runs()) == (1 if at == "before" else 2)
    found = verify_store(store)
    assert len(found.leftovers) == (2 if at == "before" else 0)
    assert [problem.split("; ")[1] for problem in found.problems] == [
        "let bicliq verify --repair write it, or give its command again"
    ] * (at == "after")
    assert update(new, shop).how == ("changes" if at == "before" else "taken")
    whole = from_scratch(tmp_path, [*SHOP, ("cid", "jam"), ("dan", "rum")])
    assert open_run(shop.store).manifest.digest == whole.digest
    assert verify_store(store).leftovers == []


@pytest.mark.parametrize("mended_by", ["verify --repair", "the same command"])
def test_an_update_that_is_killed_before_its_number_is_said_and_mended(tmp_path, shop, capsys, mended_by):
    new = csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")])
    killed(UPDATE, new, shop.store, method="write", when="after")
    assert invoke(["verify", "--store", shop.store]) == 1
    said = capsys.readouterr()
    (problem,) = (line for line in (said.out + said.err).splitlines() if "it is missing" in line)
    assert "number-00000002.json" in problem
    assert "is the latest; let bicliq verify --repair write it, or give its command again" in problem
    again = ["verify", "--repair"] if mended_by == "verify --repair" else ["update", new]
    assert invoke([*again, "--store", shop.store]) == 0
    assert invoke(["verify", "--store", shop.store]) == 0
    whole = from_scratch(tmp_path, [*SHOP, ("cid", "jam"), ("dan", "rum")])
    assert open_run(shop.store).manifest.digest == whole.digest
    assert update(new, shop).how == "taken"


def test_a_damaged_layer_is_found_and_said(tmp_path, shop, capsys):
    found = update(csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")]), shop)
    folder = Store.open(shop.store).run(found.version)
    layer = Layer(folder, folder.record())
    assert layer.vanished().num_rows == found.vanished
    path = layer.folder.path_of(layer.file(VANISHED).name)
    with open(path, "r+b") as file:
        file.seek(8)
        file.write(b"xxxx")
    assert invoke(["verify", "--store", shop.store, "--repair"]) == 1
    shown = capsys.readouterr()
    assert "a version cannot be mended" in shown.out
    assert "vanished.parquet" in shown.err
    with pytest.raises(BicliqError, match="checksum"):
        open_run(shop.store).table()


def test_a_base_that_is_mended_is_not_the_latest_run_for_it(tmp_path, shop):
    found = update(csv(tmp_path / "new.csv", [("dan", "jam")]), shop)
    base = Store.open(shop.store).run(found.parent)
    with open(base.path_of(base.committed()[0].file), "ab") as file:
        file.write(b"x")
    assert invoke(["verify", "--store", shop.store, "--repair"]) == 0
    assert open_run(shop.store).run == found.version


def test_more_that_vanished_than_there_was_is_an_error():
    assert histogram_after([(1, 2), (3, 1)], [(3, 1)], [(2, 1)]) == [(1, 2), (2, 1)]
    with pytest.raises(BicliqError, match="more bicliques of a size vanished"):
        histogram_after([(1, 2)], [(1, 3)], [])


def test_versions_are_named_by_what_they_take(tmp_path):
    files = source_files(csv(tmp_path / "a.csv", SHOP))
    names = {version_id(parent, files, delete=delete) for parent in "ab" for delete in (False, True)}
    assert len(names) == 4


CROWN = [*((f"c{i}", f"d{j}") for i in range(17) for j in range(17) if i != j), ("ann", "hub")]
"""Has 2^17 bicliques: any rows, with the columns that are none of theirs."""

TO_ALL = [("all", f"d{j}") for j in range(17)]
"""A row that changes all of them."""

HUB = [(f"u{i}", "hub") for i in range(400)]
"""Rows over which 160,000 paths lead: enough for an estimate."""


def in_crown(tmp_path, rows=()):
    """The settings of a store with a crown, and more."""
    asked = {"store": str(tmp_path / "crown"), **HERE}
    run(csv(tmp_path / "crown.csv", [*CROWN, *rows]), load_settings(**asked, ingest={"left": "user", "right": "item"}))
    return load_settings(**asked)


def test_a_full_run_is_made_where_it_is_cheaper_and_said(tmp_path):
    settings, few = in_crown(tmp_path), [("c0", "jam"), ("c1", "jam"), ("ann", "jam")]
    some = update(csv(tmp_path / "some.csv", few), settings)
    many = update(csv(tmp_path / "many.csv", TO_ALL + HUB), settings)
    assert (some.how, many.how) == ("changes", "full run")
    assert many.reason.startswith("about ")
    assert "a full run is cheaper" in many.reason
    whole = from_scratch(tmp_path, CROWN + few + TO_ALL + HUB)
    assert (many.bicliques, many.digest, many.appeared) == (whole.bicliques, whole.digest, None)
    assert open_run(settings.store).run == many.version
    assert update(str(tmp_path / "many.csv"), settings).how == "taken"
    assert verify_store(Store.open(settings.store)).problems == []


@pytest.mark.parametrize("delete", [False, True])
def test_a_search_that_finds_far_more_than_was_expected_is_given_up(tmp_path, monkeypatch, delete):
    settings = in_crown(tmp_path, TO_ALL + HUB if delete else ())
    monkeypatch.setattr(kernels.ChangeSearch, "estimate", lambda search, *, rough: 1)  # none is so wrong at all times
    found = update(csv(tmp_path / "new.csv", TO_ALL + HUB), settings, delete=delete)
    whole = from_scratch(tmp_path, CROWN if delete else CROWN + TO_ALL + HUB)
    assert (found.how, found.bicliques, found.digest) == ("full run", whole.bicliques, whole.digest)
    assert "where about 1 were expected: a full run is cheaper" in found.reason
    record = Store.open(found.store).run(found.version).record().update
    assert (record.how, record.reason, record.appeared) == ("full run", found.reason, None)
    assert verify_store(Store.open(settings.store)).problems == []
    assert verify_store(Store.open(settings.store)).leftovers == []
    assert update(str(tmp_path / "new.csv"), settings, delete=delete).how == "taken"


def test_a_batch_that_is_too_small_for_an_estimate_may_be_given_up_too(tmp_path):
    found = update(csv(tmp_path / "new.csv", TO_ALL), in_crown(tmp_path))
    assert (found.how, found.digest) == ("full run", from_scratch(tmp_path, CROWN + TO_ALL).digest)
    assert "around what changed, where few were expected: a full run is cheaper" in found.reason


def test_hashes_of_bicliques_add_up_to_the_digest():
    lists = [0, 2, 3], [0, 1, 1], [0, 1, 3], [0, 0, 1]
    assert int(kernels.biclique_hashes(*lists).sum(dtype=np.uint64)) == kernels.set_digest(*lists)


def test_the_flow_updates_as_the_command_does(tmp_path, shop, prefect_server):
    from bicliq.flows.update import update_flow

    new = csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")])
    record = update_flow(new, {"store": shop.store, **HERE})
    assert record["digest"] == from_scratch(tmp_path, [*SHOP, ("cid", "jam"), ("dan", "rum")]).digest
    left = artifacts(prefect_server)
    assert record["digest"] in left[f"update-{record['version']}"]["data"]
    assert "grown" in left[f"changes-{record['version']}"]["data"]
    page = left[f"report-{record['version']}"]["data"].split("`")[1]
    assert record["digest"] in Path(page.removeprefix("file://")).read_text()
    assert update_flow(new, {"store": shop.store, **HERE})["how"] == "taken"


def test_a_history_of_edits_is_replayed_day_by_day(tmp_path):
    lines = [line.split() for line in (DATA / "out.edit-nawiki").read_text().splitlines() if line[0] != "%"]
    lines.sort(key=lambda fields: int(fields[3]))
    days = [int(fields[3]) // 86_400 for fields in lines]
    some = sorted(set(days))[220:223]

    def konect(name, first, last):
        rows = ["\t".join(fields) for day, fields in zip(days, lines, strict=True) if first <= day < last]
        (tmp_path / f"out.{name}").write_text("% bip positive\n" + "\n".join(rows) + "\n")
        return str(tmp_path / f"out.{name}")

    settings = load_settings(store=str(tmp_path / "s"), search={"min_left": 2, "min_right": 2}, **HERE)
    run(konect("base", 0, some[0]), settings)
    for day in some:
        found = update(konect(f"day{day}", day, day + 1), settings)
        whole = run(konect("all", 0, day + 1), settings.model_copy(update={"store": str(tmp_path / f"t{day}")}))
        assert (found.bicliques, found.digest) == (whole.bicliques, whole.digest)
    assert verify_store(Store.open(settings.store)).problems == []


def test_a_version_that_is_rolled_back_to_is_what_readers_and_updates_take(tmp_path, shop, capsys):
    new = csv(tmp_path / "new.csv", [("cid", "jam")])
    first = update(csv(tmp_path / "first.csv", [("dan", "rum")]), shop)
    second = update(new, shop)
    for run_, latest in ((first.parent, second), (first.version, first)):
        record = said(capsys, "rollback", run_, "--store", shop.store)
        assert (record["run"], record["before"]) == (run_, second.version if latest is second else first.parent)
        assert open_run(shop.store).run == run_
    again = update(new, shop)
    assert (again.how, again.version) == ("taken", second.version)
    assert open_run(shop.store).run == second.version
    assert verify_store(Store.open(shop.store)).problems == []
    assert invoke(["rollback", "zzz", "--store", shop.store]) == 2


def test_what_a_killed_update_left_in_its_graph_goes_with_the_next(tmp_path, shop):
    again = load_settings(store=str(tmp_path / "again"), **HERE)
    shutil.copytree(shop.store, again.store)
    new = csv(tmp_path / "new.csv", [("cid", "jam")])
    graph = update(new, shop).graph
    (tmp_path / "again" / "graphs" / graph).mkdir()
    (tmp_path / "again" / "graphs" / graph / f".edges.parquet.{'0' * 32}.tmp").write_bytes(b"half")
    assert update(new, again).graph == graph
    found = verify_store(Store.open(again.store))
    assert (found.problems, found.leftovers) == ([], [])


def test_a_clock_that_was_put_back_makes_no_version_older_than_its_parent(tmp_path, shop):
    store = Store.open(shop.store)
    base = open_run(shop.store).run
    publish(store, base, created="2999-01-01T00:00:00+00:00")  # as a clock has it that is ahead
    versions = [update(csv(tmp_path / "first.csv", [("dan", "rum")]), shop)]
    assert open_run(shop.store).run == versions[0].version
    many = [(f"u{i}", "tea") for i in range(3000)]  # over which 9 million paths lead
    versions.append(update(csv(tmp_path / "second.csv", many), shop))
    assert [version.how for version in versions] == ["changes", "full run"]
    for run_ in (versions[1].version, base, versions[0].version):
        make_latest(store, run_)
        assert open_run(shop.store).run == run_


def test_only_what_is_published_is_rolled_back_to(tmp_path):
    settings = load_settings(store=str(tmp_path / "s"), search={"max_bicliques": 1}, **HERE)
    found = run(csv(tmp_path / "base.csv", SHOP), settings)
    with pytest.raises(InputError, match="only what is published"):
        make_latest(Store.open(settings.store), found.run)
