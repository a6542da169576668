"""A cluster of hosts that share nothing but an object store, some of whose workers are killed.

In the ordinary suite three hosts with a worker each, of which one is killed. ``BICLIQ_FAULTS`` (or
``make faults``) makes them 14 on each host, of which one in twenty is killed, and then cuts a host
off; it tries hosts that are folders, too, which otherwise stand in where no namespaces can be made.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.search import enumerate_table
from tests.faults.hosts import ROOT, SCHEDULER, STORE, Host, folders, namespaces, why_no_namespaces
from tests.integration.server import wait_for
from tests.integration.stored_graphs import random_graph
from tests.nightly import by_night

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

LONG = "BICLIQ_FAULTS" in os.environ
PER_HOST = 14 if LONG else 1
PARTITIONS = 120 if LONG else 24
KILLED = max(3 * PER_HOST // 20, 1)
SIZE = 130 if LONG else 80
LAKE = "s3://lake/groups"
REQUEST = re.compile(r'^(\S+) - - \[.*\] "(\w+) /lake/groups/(\S+) HTTP/1.1" (\d+)')
NO_NAMESPACES = why_no_namespaces()
pytestmark = pytest.mark.timeout(1200)  # twenty processes start at once, on hosts that keep no bytecode


@dataclass
class Rack:
    """The scheduler's and the store's host, and the others.

    Parameters
    ----------
    scheduler, store
        Addresses of both servers.
    rack, desk, others
        Where the servers run, where commands are given, and where workers are.
    """

    scheduler: str
    store: str
    rack: Host
    desk: Host
    others: list[Host]

    @property
    def variables(self) -> dict[str, str]:
        """What the environment of every host must say of the object store."""
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "testing")
        lost = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "15s"}
        return {"AWS_ENDPOINT_URL": self.store, "AWS_DEFAULT_REGION": "us-east-1", **keys, **lost}

    def bicliq(self, host: Host, *words: str) -> dict:
        """The answer of a command that is given on a host."""
        return json.loads(host.answer("bicliq.flows.cli", *words, "--json", **self.variables))

    def requests(self) -> list[tuple[str, str, str]]:
        """Requests to the store that were answered well: from where, what, and of which file."""
        found = map(REQUEST.match, self.rack.log("moto.server").splitlines())
        return [(at[1], at[2], at[3]) for at in found if at and at[4] in ("200", "206")]


@pytest.fixture(params=["namespaces", "folders"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rack]:
    apart = request.param == "namespaces"
    if apart and NO_NAMESPACES:
        pytest.skip(NO_NAMESPACES)
    if not apart and not NO_NAMESPACES and not LONG:
        pytest.skip("hosts are namespaces here, which is more")
    with (namespaces if apart else folders)(tmp_path, ["desk", "birch", "cedar", "rowan"]) as hosts:
        rack, desk, *others = hosts
        names = (SCHEDULER, STORE) if apart else (rack.address, rack.address)
        port, door = (8786, 9000) if apart else (free_port(), free_port())
        opened = Rack(f"tcp://{names[0]}:{port}", f"http://{names[1]}:{door}", rack, desk, others)
        rack.start("moto.server", "-H", names[1], "-p", str(door))
        said = ["--host", names[0], "--port", str(port), "--no-dashboard", "--preload", "tests.faults.chatter"]
        told = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "15s", "DASK_LOGGING__DISTRIBUTED": "info"}
        rack.start("dask", "scheduler", *said, **told)
        wait_until_said(rack, "Scheduler at:", 1)  # workers give up after half a minute
        for host in others:
            size = ["--nworkers", str(PER_HOST), "--nthreads", "1", "--host", host.address, "--no-dashboard"]
            host.start("dask", "worker", opened.scheduler, *size, **opened.variables)
        desk.answer("tests.faults.bucket", "lake", **opened.variables)
        wait_until_said(rack, "Register worker", 3 * PER_HOST, *others)
        yield opened


def wait_until_said(rack: Host, words: str, times: int, *others: Host) -> None:
    """Wait for the scheduler's words; where they do not come, tell what everybody said instead."""
    try:
        wait_for(lambda: rack.log("dask").count(words) >= times, 600)
    except AssertionError as late:
        logs = [f"{host.name}: {host.log('dask')[-4000:]}" for host in (rack, *others)]
        raise AssertionError("\n".join([f"{words!r} was not said {times} times", *logs])) from late


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


def write_table(folder: Path) -> Path:
    graph = random_graph(SIZE, SIZE, 0.4, seed=1)
    rows = np.stack([graph.edge_left, graph.indices], axis=1)
    np.savetxt(folder / "edges.csv", rows, "%d", ",", header="l,r", comments="")
    return folder / "edges.csv"


def committed(rack: Rack) -> int:
    return sum(what == "PUT" and file.split("/")[-2] == "commits" for _, what, file in rack.requests() if "/" in file)


def kill_some(rack: Rack, random: np.random.Generator) -> None:
    """Kill workers at random, one when the first tenth is committed, and so on."""
    for number in range(KILLED):
        wait_for(lambda number=number: committed(rack) >= (number + 1) * PARTITIONS // (KILLED + 9), 300)
        workers = [process for host in rack.others for process in host.workers()]
        workers[random.integers(len(workers))].kill()


def searched_after_their_commit(requests: list[tuple[str, str, str]]) -> list[str]:
    """Partitions that were read by somebody when they were committed already."""
    done, found = set(), []
    for _, what, file in requests:
        number = re.search(r"/(commits|partitions)/part(?:ition)?-(\d+)", file)
        if number is None:
            continue
        if what == "PUT" and number[1] == "commits":
            assert number[2] not in done, "it is committed once"
            done.add(number[2])
        elif what == "GET" and file.endswith(".arrow") and number[2] in done:
            found.append(number[2])
    assert len(done) == PARTITIONS
    return found


@by_night
def test_hosts_that_share_nothing_find_the_same_and_search_nothing_twice(cluster, tmp_path):
    random = np.random.default_rng(int(os.environ.get("BICLIQ_FAULTS_SEED", "20261122")))
    expected = enumerate_table(str(write_table(tmp_path)), load_settings(), "digest")
    write_table(cluster.desk.outside)
    words = ["run", "edges.csv", "--store", LAKE, "--scheduler", cluster.scheduler, "--threads", "1"]
    killer = threading.Thread(target=kill_some, args=(cluster, random))
    killer.start()
    found = cluster.bicliq(cluster.desk, *words, "--partitions", str(PARTITIONS))
    killer.join(60)
    assert not killer.is_alive()
    assert (found["bicliques"], found["digest"]) == (expected["bicliques"], expected["digest"])
    assert (found["searched"], found["complete"]) == (PARTITIONS, True)

    requests = cluster.requests()
    assert searched_after_their_commit(requests) == []
    reads = Counter(file for _, what, file in requests if what == "GET" and file.endswith(".arrow"))
    assert sum(reads.values()) <= PARTITIONS + KILLED, "what a killed worker searched is read again, and no more"
    verified = cluster.bicliq(cluster.others[0], "verify", found["run"], "--store", LAKE)
    assert verified["problems"] == []
    for host in cluster.others:
        kept = {str(path) for path in host.files() if not str(path).startswith(("tmp/dask-scratch-space", "home/"))}
        assert kept <= {"ready", "dask.log", "bicliq.flows.cli.log"}, "partitions lie in the store alone"
    if cluster.desk.enter:
        readers = {at for at, what, file in requests if what == "GET" and file.endswith(".arrow")}
        assert readers <= {host.address.replace("10.0.", "10.1.") for host in cluster.others}
        words[words.index(LAKE)] = "groups"
        refused = cluster.desk.start("bicliq.flows.cli", *words, **cluster.variables)
        assert refused.wait(200) == 2, "a folder of the desk is no store for the others"
        assert "one that all machines of the cluster reach by this name" in cluster.desk.log("bicliq.flows.cli")
        little_is_said(cluster)


def little_is_said(cluster: Rack) -> None:
    """A partition costs the scheduler a few messages, and few bytes."""
    ends = {"desk": [cluster.desk], "workers": cluster.others}
    bytes_ = {name: [sum(host.bytes(wire) for host in ends[name]) for wire in ("scheduler", "store")] for name in ends}
    cluster.rack.end("dask")
    said = json.loads((cluster.rack.outside / "chatter.json").read_text())
    messages = defaultdict[str, int](int)
    for name, count in said.items():
        direction, _, address = name.partition(" ")
        for end, hosts in ends.items():
            if address in {host.address for host in hosts}:
                messages[f"{direction} {end}"] += count
    beats = said["from: heartbeat_worker"]
    print(json.dumps({"partitions": PARTITIONS, "messages": messages, "heartbeats": beats, "bytes": bytes_}))
    own = sum(messages.values()) - 2 * beats
    assert own < 60 * PARTITIONS
    assert said["from: update-graph"] < 3 * PARTITIONS, "one task a partition, and those that cut them"


@pytest.mark.skipif(not LONG, reason="BICLIQ_FAULTS is not set")
def test_a_host_that_is_cut_off_is_no_loss(cluster, tmp_path):
    """Nobody is told: its connections just fall silent."""
    expected = enumerate_table(str(write_table(tmp_path)), load_settings(), "digest")
    write_table(cluster.desk.outside)
    words = ["run", "edges.csv", "--store", LAKE, "--scheduler", cluster.scheduler, "--threads", "1"]

    def cut_off() -> None:
        wait_for(lambda: committed(cluster) >= PARTITIONS // 10, 300)
        host = cluster.others[-1]
        if host.enter:
            host.unplug()
        else:
            host.end()

    cutter = threading.Thread(target=cut_off)
    cutter.start()
    found = cluster.bicliq(cluster.desk, *words, "--partitions", str(PARTITIONS))
    cutter.join(60)
    assert (found["digest"], found["complete"]) == (expected["digest"], True)
    assert searched_after_their_commit(cluster.requests()) == []
    counted = ["count", "edges.csv", "3", "3", "--store", LAKE, "--scheduler", cluster.scheduler]
    alone = subprocess.run(
        [sys.executable, "-m", "bicliq.flows.cli", "count", str(tmp_path / "edges.csv"), "3", "3", "--json"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert cluster.bicliq(cluster.desk, *counted)["counts"] == json.loads(alone.stdout)["counts"]
