"""Notifications, at a real HTTP server; none of them ever fails a run."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import bicliq.pipeline.notify
from bicliq.flows.cli.app import invoke
from bicliq.flows.etl import etl
from bicliq.flows.find import find
from bicliq.flows.rules import rules_flow
from bicliq.flows.update import update_flow, watch_flow
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.questions.find import FindAsked, find_in_run
from bicliq.pipeline.rules import Fitting, find_fitting
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import NotifySettings, SearchSettings, load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.watch import Watch
from tests.integration.server import ask, wait_for
from tests.real_graphs import COUNTS, DATA

EDGES = str(DATA / "UCforum.adj")


class Webhook(HTTPServer):
    """Keeps what it is told, and answers with a status."""

    status = 200

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Listen)
        self.told: list[dict] = []
        self.users: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/services/secret"


class _Listen(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.headers["Content-Type"] == "application/json"
        self.server.users.append(self.headers["Authorization"])
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def webhook():
    server = Webhook()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def settings(tmp_path, webhook, **notify):
    return load_settings(
        store=str(tmp_path / "store"), cluster={"local": True}, notify={"webhook": webhook.url, **notify}
    )


def test_a_finished_run_is_told_with_its_groups_beyond_chance_and_a_text_for_people(tmp_path, webhook):
    record = run(EDGES, settings(tmp_path, webhook))
    (told,) = webhook.told
    assert (told["event"], told["run"], told["digest"]) == ("finished", record.run, record.digest)
    assert told["bicliques"] == COUNTS["UCforum"]
    asked = FindAsked(top=bicliq.pipeline.notify.GROUPS, by="surprise", diverse=True)
    best = find_in_run(record.run, asked, load_settings(store=record.store))["groups"]
    assert [(g["n_left"], g["n_right"]) for g in told["groups"]] == [(g["n_left"], g["n_right"]) for g in best]
    assert told["text"].startswith(f"Bicliq: run {record.run} finished: 16,261 maximal bicliques of 899 left")
    assert len(told["text"].splitlines()) == 1 + len(best) > 1


def test_a_run_that_changes_nothing_is_not_told_again(tmp_path, webhook):
    asked, other = settings(tmp_path, webhook), tmp_path / "other.csv"
    first = run(EDGES, asked).run
    assert run(EDGES, asked).run == resume(first, asked).run == first
    assert len(webhook.told) == 1
    Store.open(asked.store).run(first).uncommit_partition(0)  # found again
    run(EDGES, asked)
    assert len(webhook.told) == 2
    other.write_text("u,v\nann,jam\n")
    run(other, asked)
    assert len(webhook.told) == 3
    run(EDGES, asked)  # the latest one again
    assert [told["run"] for told in webhook.told][3:] == [first]


def test_a_failed_run_is_told_with_its_reason(tmp_path, webhook):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n<3>\n")
    with pytest.raises(InputError, match="line 3"):
        run(tmp_path / "bad.csv", settings(tmp_path, webhook))
    (told,) = webhook.told
    assert told["event"] == "failed"
    assert "line 3" in told["reasons"][0]
    assert "line 3" in told["text"]
    assert "<" not in told["text"]


@pytest.mark.parametrize(
    ("rules", "events"),
    [
        ({"webhook_on": "failed"}, []),
        ({"webhook_on": "finished"}, ["finished"]),
        ({"webhook_groups": COUNTS["UCforum"]}, ["finished"]),
        ({"webhook_groups": COUNTS["UCforum"] + 1}, []),
        ({"webhook_groups": 1, "webhook_edges": 10**6}, []),
    ],
)
def test_only_runs_that_fit_the_rules_are_told(tmp_path, webhook, rules, events):
    run(EDGES, settings(tmp_path, webhook, **rules))
    assert [told["event"] for told in webhook.told] == events


def test_groups_count_from_the_edges_that_are_asked_for(tmp_path, webhook):
    record = run(EDGES, settings(tmp_path, webhook, webhook_on="failed"))
    sizes = open_run(record.store).table()
    large = sum(p * q >= 40 for p, q in zip(*(sizes[n].to_pylist() for n in ("n_left", "n_right")), strict=True))
    for asked in (large, large + 1):
        run(EDGES, settings(tmp_path / str(asked), webhook, webhook_groups=asked, webhook_edges=40))
    (told,) = webhook.told
    assert f"{large:,} bicliques of at least 40 edges" in told["reasons"][1]
    assert all(group["n_left"] * group["n_right"] >= 40 for group in told["groups"])


def by_lot(rings):
    """Edges of a table without structure, with so many rings of 6 × 7 in it."""
    random = np.random.default_rng(1)
    weights = [np.arange(1, n + 1) ** -0.9 for n in (600, 120)]
    edges = set(zip(*(random.choice(w.size, 4000, p=w / w.sum()).tolist() for w in weights), strict=True))
    blocks = [product(range(100 + 6 * i, 106 + 6 * i), range(60 + 7 * i, 67 + 7 * i)) for i in range(rings)]
    return [(f"u{u}", f"i{v}") for u, v in sorted(edges.union(*blocks))]


def test_groups_stand_beside_what_chance_gives_and_those_that_it_gives_are_told_where_a_rule_asks(tmp_path, webhook):
    for rings in (0, 1):
        table = pa.table(dict(zip(("who", "what"), zip(*by_lot(rings), strict=True), strict=True)))
        asked = settings(tmp_path / str(rings), webhook)
        run(table, asked.model_copy(update={"search": SearchSettings(min_left=2, min_right=2)}))
    plain, ring = webhook.told
    assert plain["groups"] == []
    assert plain["text"].splitlines()[1:] == [bicliq.pipeline.notify.NONE_BEYOND]
    group = ring["groups"][0]
    assert (group["n_left"], group["n_right"], group["n_edges"]) == (6, 7, 42)
    assert all(each["surprise"] > 0 for each in ring["groups"])
    assert f"(chance gives {group['expected']:.2g} of its 42 edges: surprise {group['surprise']:.0f})" in ring["text"]
    run(table, settings(tmp_path / "named", webhook, webhook_members="u0"))
    assert webhook.told[2]["groups"][0]["surprise"] < 0
    assert "not beyond chance; left u0)" in webhook.told[2]["text"]


@pytest.fixture(scope="module")
def forum(tmp_path_factory):
    """The table of a published run, with its labels, and what `find` knows of it."""
    store = str(tmp_path_factory.mktemp("forum"))
    record = run(EDGES, load_settings(store=store, cluster={"local": True}))
    return store, record, open_run(store).table().to_pylist()


def fitting(store, most=5, **rules):
    return find_fitting(open_run(store), NotifySettings(**rules), most)


def test_groups_with_one_of_several_members_of_either_side_count_and_say_which(forum):
    store, _, rows = forum
    left, right = str(rows[0]["left"][0]), str(rows[-1]["right"][0])
    watched = {left, right, "nobody"}
    has = [
        row
        for row in rows
        if {str(x) for x in (*row["left"], *row["right"])} & watched and row["n_left"] * row["n_right"] >= 6
    ]
    found = fitting(store, webhook_members=(left, right, "nobody"), webhook_edges=6)
    assert found.groups == len(has)
    assert 0 < len(has) < len(rows)
    assert [group["n_edges"] for group in found.shown] == sorted(
        (r["n_left"] * r["n_right"] for r in has), reverse=True
    )[:5]
    for group in found.shown:
        named = {reason.split(" ", 1)[1] for reason in group["reasons"][1:]}
        assert named == {str(x) for x in (*group["left"], *group["right"])} & watched
        assert group["reasons"][0] == f"{group['n_edges']} edges, at least 6"
    assert fitting(store, webhook_members=("nobody",)) == Fitting(0, [])


def test_surprising_groups_are_those_that_find_finds(forum):
    store, record, _ = forum
    best = find_in_run(record.run, FindAsked(top=40, by="surprise", min_surprise=-99), load_settings(store=store))[
        "groups"
    ]
    least = (best[8]["value"] + best[9]["value"]) / 2
    found = fitting(store, 9, webhook_surprise=least)
    assert found.groups == 9
    assert [group["surprise"] for group in found.shown] == pytest.approx(
        [group["value"] for group in best[:9]], abs=2e-3
    )
    assert {frozenset(map(str, g["left"])) for g in found.shown} == {frozenset(map(str, g["left"])) for g in best[:9]}
    assert all(f"at least {least:g}" in group["reasons"][-1] for group in found.shown)
    both = fitting(store, 5, webhook_surprise=least, webhook_members=(str(best[0]["left"][0]),))
    assert 1 <= both.groups <= 9


def test_a_rule_on_members_tells_only_of_runs_that_have_one(tmp_path, webhook):
    run(EDGES, settings(tmp_path, webhook, webhook_members="nobody"))
    assert webhook.told == []
    record = run(EDGES, settings(tmp_path / "two", webhook, webhook_members="nobody,7", webhook_surprise=1))
    (told,) = webhook.told
    assert "with nobody or 7 of a surprise of at least 1, and 1 are worth a notification" in told["reasons"][1]
    assert all(group["reasons"] and group["surprise"] >= 1 for group in told["groups"])
    assert told["groups"][0]["reasons"][0] in told["text"]
    assert told["run"] == record.run


def test_who_cannot_be_told_never_fails_a_run(tmp_path, webhook, caplog, monkeypatch):
    monkeypatch.setattr(bicliq.pipeline.notify, "SECONDS_APART", 0)
    webhook.status = 500
    assert run(EDGES, settings(tmp_path, webhook)).bicliques == COUNTS["UCforum"]
    assert len(webhook.told) == bicliq.pipeline.notify.TRIES
    assert "HTTP Error 500" in caplog.text
    nobody = load_settings(
        store=str(tmp_path / "other"), cluster={"local": True}, notify={"webhook": "http://127.0.0.1:9/secret"}
    )
    assert run(EDGES, nobody).bicliques == COUNTS["UCforum"]
    assert "refused" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("url", ["hooks.example.com", "ftp://x/y", "https://"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(InputError, match="webhook"):
        load_settings(notify={"webhook": url})


@pytest.mark.usefixtures("prefect_server")
def test_flows_tell_of_their_end_too(tmp_path, webhook):
    asked = {"store": str(tmp_path / "s"), "cluster": {"local": True}, "notify": {"webhook": webhook.url}}
    record = etl(EDGES, asked)
    etl(EDGES, asked)  # nothing changed: nobody is told again
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError):
        etl(str(tmp_path / "bad.csv"), asked)
    finished, failed = webhook.told
    assert (finished["event"], finished["run"]) == ("finished", record["run"])
    assert (failed["event"], failed["source"]) == ("failed", str(tmp_path / "bad.csv"))
    assert "line 3" in failed["reasons"][0]


@pytest.mark.usefixtures("prefect_server")
@pytest.mark.parametrize("name", ["find", "rules"])
def test_flows_of_questions_tell_of_their_failure(tmp_path, webhook, name):
    asked = {"store": str(tmp_path / "s"), "notify": {"webhook": webhook.url}}
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    flow = {"find": find, "rules": rules_flow}[name]
    for source, of in ((str(tmp_path / "bad.csv"), str(tmp_path / "bad.csv")), (None, "run 0123")):
        with pytest.raises(BicliqError):
            flow(source, {}, asked, None if source else "0123")
        assert webhook.told[-1]["event"] == "failed"
        assert webhook.told[-1]["source"] == of


SHOP = [("ann", "jam"), ("ann", "tea"), ("bob", "jam"), ("bob", "tea"), ("cid", "tea"), ("zoe", "rum")]


def csv(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["user,item", *map(",".join, rows)]) + "\n")
    return str(path)


@pytest.fixture
def shop(tmp_path):
    """A published run of which nobody was told."""
    run(csv(tmp_path / "base.csv", SHOP), load_settings(store=str(tmp_path / "store"), cluster={"local": True}))


@pytest.mark.usefixtures("shop")
def test_an_update_is_told_with_the_groups_that_appeared(tmp_path, webhook):
    found = update(csv(tmp_path / "new.csv", [("cid", "jam")]), settings(tmp_path, webhook))
    (told,) = webhook.told
    assert (told["event"], told["run"], told["digest"]) == ("finished", found.version, found.digest)
    assert (told["parent"], told["appeared"], told["vanished"]) == (found.parent, 1, 2)
    assert told["text"].startswith(f"Bicliq: version {found.version} of run {found.parent}: 1 edges joined, 0 gone; 1 ")
    assert told["groups"] == []
    assert told["text"].splitlines()[1:] == [bicliq.pipeline.notify.NONE_BEYOND]
    update(csv(tmp_path / "same.csv", [("cid", "jam")]), settings(tmp_path, webhook))
    assert len(webhook.told) == 1


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("rules", "told_of"),
    [
        ({"webhook_members": "zoe"}, 0),
        ({"webhook_members": "cid"}, 1),
        ({"webhook_edges": 6, "webhook_groups": 1}, 1),
        ({"webhook_edges": 7, "webhook_groups": 1}, 0),
        ({"webhook_groups": 2}, 0),
        ({"webhook_surprise": 0.1}, 0),
        ({"webhook_surprise": 50}, 0),
        ({"webhook_on": "failed"}, 0),
    ],
)
def test_rules_of_an_update_look_at_what_appeared_and_not_at_what_was_there(tmp_path, webhook, rules, told_of):
    found = update(csv(tmp_path / "new.csv", [("cid", "jam")]), settings(tmp_path, webhook, **rules))
    assert len(webhook.told) == told_of
    for told in webhook.told:
        assert told["run"] == found.version
        assert "1 bicliques that appeared" in told["reasons"][1]
        assert told["groups"][0]["reasons"]


@pytest.mark.usefixtures("shop")
def test_a_second_update_does_not_tell_of_what_the_first_one_brought(tmp_path, webhook):
    for rows in ([("cid", "jam")], [("zoe", "gin")]):
        found = update(csv(tmp_path / "new.csv", rows), settings(tmp_path, webhook, webhook_edges=2))
    layers = open_run(found.store, found.version).folder.record().layers
    assert layers == [found.version]  # it took in the layer of the first
    shown = [[(group["left"], sorted(group["right"])) for group in told["groups"]] for told in webhook.told]
    assert shown == [[(["ann", "bob", "cid"], ["jam", "tea"])], [(["zoe"], ["gin", "rum"])]]
    assert "not beyond chance; 2 edges, at least 2)" in webhook.told[1]["text"]


@pytest.mark.usefixtures("shop")
def test_surprise_of_what_appeared_is_that_of_find(tmp_path, webhook):
    new = [(f"r{u}", f"s{v}") for u in range(6) for v in range(7)] + [(f"once {n}", f"one {n}") for n in range(200)]
    found = update(csv(tmp_path / "new.csv", new), settings(tmp_path, webhook, webhook_surprise=0))
    values = {frozenset(g["left"]) | frozenset(g["right"]): g["surprise"] for g in webhook.told[0]["groups"]}
    every = find_in_run(
        found.version, FindAsked(top=99, by="surprise", min_surprise=-99), load_settings(store=found.store)
    )["groups"]
    every = {frozenset(group["left"]) | frozenset(group["right"]): group["value"] for group in every}
    assert values
    assert values == pytest.approx({members: every[members] for members in values}, abs=2e-3)


def test_a_watch_tells_of_its_run_its_updates_and_once_of_a_failure(tmp_path, webhook):
    watch = Watch(str(tmp_path / "in"), settings(tmp_path, webhook), settle=0)
    csv(tmp_path / "in" / "1.csv", SHOP)
    first = watch.take().run
    csv(tmp_path / "in" / "2.csv", [("cid", "jam")])
    second = watch.take().update
    watch.take()
    assert [told["run"] for told in webhook.told] == [first.run, second.version]
    csv(tmp_path / "in" / "2.csv", [("cid", "rum")])
    with pytest.raises(InputError, match="has changed"):
        watch.take()
    (tmp_path / "in" / "2.csv").unlink()
    (tmp_path / "in" / "3.csv").write_text("user,item\nann\n")
    with pytest.raises(InputError, match="line 2"):
        watch.take()
    assert [told["event"] for told in webhook.told[2:]] == ["failed", "failed"]
    assert "2.csv" in webhook.told[2]["text"]


@pytest.mark.usefixtures("shop")
def test_flows_of_updates_tell_the_webhook_once_and_prefect_as_well(tmp_path, webhook, prefect_server):
    asked = {"store": str(tmp_path / "store"), "cluster": {"local": True}, "notify": {"webhook": webhook.url}}
    record = update_flow(csv(tmp_path / "new.csv", [("cid", "jam")]), asked)
    csv(tmp_path / "in" / "1.csv", [("dan", "jam")])
    looked = watch_flow(str(tmp_path / "in"), asked, settle=0)
    (tmp_path / "bad.csv").write_text("user,item\n1,2\n3\n")
    with pytest.raises(InputError):
        update_flow(str(tmp_path / "bad.csv"), asked)
    assert [told["event"] for told in webhook.told] == ["finished", "finished", "failed"]
    assert [told["run"] for told in webhook.told[:2]] == [record["version"], looked["version"]]
    runs = [told["run"] for told in webhook.told[:2]]
    asked_for = {
        "filter": {"event": {"name": ["bicliq.run.told"]}, "resource": {"id": [f"bicliq.run.{r}" for r in runs]}}
    }
    wait_for(lambda: len(ask(f"{prefect_server}/events/filter", asked_for)["events"]) >= len(runs), 60)
    events = ask(f"{prefect_server}/events/filter", asked_for)["events"]
    assert sorted(event["payload"]["run"] for event in events) == sorted(runs)


def test_a_user_and_a_password_are_sent_and_shown_to_nobody(tmp_path, webhook, capfd, monkeypatch):
    url = webhook.url.replace("://", "://zebra%40home:p%3Ass@")
    monkeypatch.setenv("BICLIQ__NOTIFY__WEBHOOK", url)
    line = ["run", EDGES, "--store", str(tmp_path / "s"), "--local", "-v"]
    assert invoke(line) == 0
    assert [base64.b64decode(user.split()[1]).decode() for user in webhook.users] == ["zebra@home:p:ss"]
    webhook.status = 500
    assert invoke([*line, "--min-left", "2"]) == 0
    said = capfd.readouterr()
    assert "notification failed" in said.err
    for secret in ("p%3Ass", "p:ss", "services", "zebra"):
        assert secret not in said.out + said.err
    kept = [file.read_bytes() for file in (tmp_path / "s").rglob("*.json")]
    assert not any(b"p%3Ass" in content for content in kept)


@pytest.mark.parametrize(
    "url",
    [
        "hooks.example.com/services/hidden", "https://ann:hid/den@host/x", "https://ann:hidden@/x", "ftp://ann:hidden@host/x",
        "https://host:hidden/x", "https://ann:hid den@host/x",
    ],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_and_not_shown(tmp_path, url, capfd, monkeypatch):
    for line in (["--webhook", url], ["--lineage", url]):
        assert invoke(["run", EDGES, "--store", str(tmp_path / "s"), *line]) == 2
        said = capfd.readouterr()
        assert "write a URL" in said.err
        assert "hid" not in said.out + said.err
    monkeypatch.setenv("BICLIQ__NOTIFY__WEBHOOK", url)
    assert invoke(["top", "--store", str(tmp_path / "s")]) == 2
    assert "hid" not in capfd.readouterr().err


def test_a_file_that_a_watch_sets_aside_is_told_once(tmp_path, webhook):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("user,item\na,b\n")
    (tmp_path / "in" / "2.csv").write_text("user,item\na,b,c\n")
    watch = Watch(str(tmp_path / "in"), settings(tmp_path, webhook), settle=0, quarantine=True)
    while watch.take().more:
        pass
    assert [told["event"] for told in webhook.told] == ["finished", "quarantined"]
    assert webhook.told[1]["source"].endswith("2.csv")
