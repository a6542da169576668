"""Tasks on a real cluster and in this process: who hears what in which thread, what is tried again,
and what is not."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import threading
import time
from functools import partial

import pytest

from bicliq.kernels import available_threads
from bicliq.pipeline.errors import AskedBackendError, BicliqError, CapacityError, InputError, LimitReached, StorageError
from bicliq.pipeline.placement import tasks
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.placement.tasks import Here, Slots, hand_out
from bicliq.pipeline.settings import ClusterSettings


@pytest.fixture(params=["here", "on a cluster"])
def client(request, cluster):
    return None if request.param == "here" else cluster


def in_turn(*calls):
    waiting = iter(enumerate(calls))
    return lambda: next(waiting, None)


def squared(number: int, here: Here) -> int:
    for step in range(3):
        here.tell([number, step])
    return number**2


def counted(file: str, error: Exception, here: Here) -> None:
    with open(file, "a") as log:
        log.write("tried\n")
    raise error


def fails_once(file: str, here: Here) -> str:
    try:
        os.unlink(file)
    except FileNotFoundError:
        return "healed"
    raise StorageError("the network was away") from ConnectionResetError()


def tells_its_process(here: Here) -> int:
    here.tell(os.getpid())
    return os.getpid()


@pytest.mark.usefixtures("spawned")
def test_a_result_that_died_with_its_worker_is_made_again():
    killed = []

    def kill_it_when_it_is_done(pid):
        if not killed:
            time.sleep(1)
            os.kill(pid, signal.SIGKILL)
            time.sleep(2)
            killed.append(pid)

    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
        (ended,) = hand_out(client, in_turn(tells_its_process), kill_it_when_it_is_done)
    assert ended.error is None
    assert ended.value not in killed


def test_everything_is_heard_in_the_callers_thread_and_in_order(client):
    heard, threads = [], set()

    def hear(message):
        heard.append(message)
        threads.add(threading.current_thread())

    ended = list(hand_out(client, in_turn(*(partial(squared, n) for n in range(20))), hear))
    assert {e.number: e.value for e in ended} == {n: n**2 for n in range(20)}
    assert all((e.worker is None) == (client is None) for e in ended)
    assert threads == {threading.current_thread()}
    steps = [[step for number, step in heard if number == n] for n in range(20)]
    assert all(step == sorted(step) for step in steps)
    assert sum(map(len, steps)) > 20


@pytest.mark.parametrize(
    "error",
    [
        CapacityError("too large"), InputError("line 3"), AskedBackendError("lost"), LimitReached("so many"),
        ValueError("threads"), TypeError("a text"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_what_does_not_heal_is_tried_once(client, tmp_path, error):
    (ended,) = hand_out(client, in_turn(partial(counted, str(tmp_path / "log"), error)))
    assert (tmp_path / "log").read_text() == "tried\n"
    assert str(error) in str(ended.error)
    if isinstance(error, BicliqError):
        assert type(ended.error) is type(error)


def test_what_may_heal_is_tried_again_by_a_worker(cluster, tmp_path):
    (tmp_path / "away").touch()
    (ended,) = hand_out(cluster, in_turn(partial(fails_once, str(tmp_path / "away"))))
    assert (ended.value, ended.error) == ("healed", None)


def test_what_never_heals_is_given_up_after_some_tries(cluster, tmp_path):
    error = OSError(errno.ENOSPC, "the disk is full")
    (ended,) = hand_out(cluster, in_turn(partial(counted, str(tmp_path / "log"), error)))
    assert (tmp_path / "log").read_text() == "tried\n" * (1 + tasks.RETRIES)
    assert "the disk is full" in str(ended.error)


def threads_of(asked: int, here: Here) -> int:
    return here.threads(asked)


def test_tasks_share_the_cores_of_their_machine_unless_they_are_told_how_many(cluster):
    found = [e.value for e in hand_out(cluster, in_turn(*[partial(threads_of, 0)] * 4))]
    assert found == [max(available_threads() // 2, 1)] * 4
    assert [e.value for e in hand_out(cluster, in_turn(partial(threads_of, 7)))] == [7]
    assert [e.value for e in hand_out(None, in_turn(partial(threads_of, 0)))] == [available_threads()]


def test_the_next_task_is_asked_for_when_one_has_ended(client):
    done = []

    def next_task():
        return None if len(done) >= 10 else (0, partial(squared, 1))

    for ended in hand_out(client, next_task):
        done.append(ended)
    assert 10 <= len(done) <= 10 + 2 * tasks.QUEUED_PER_THREAD


@pytest.fixture
def looking_often(monkeypatch):
    """Who hands out tasks looks often for workers, and does without them for a second."""
    for name, seconds in (("LOOK_SECONDS", 0.2), ("WORKERLESS_SECONDS", 1.0)):
        monkeypatch.setattr(tasks, name, seconds)


def sleeps(seconds: float, here: Here) -> None:
    time.sleep(seconds)


def begins_and_ends(number: int, here: Here) -> None:
    here.tell(+1)
    time.sleep(0.5)
    here.tell(-1)


@pytest.mark.usefixtures("looking_often")
def test_workers_that_come_later_get_work():
    at_work, most = 0, 0

    def hear(change):
        nonlocal at_work, most
        at_work += change
        most = max(most, at_work)

    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
        ended = hand_out(client, in_turn(*(partial(begins_and_ends, n) for n in range(40))), hear)
        next(ended)
        assert most <= tasks.QUEUED_PER_THREAD
        client.cluster.scale(4)
        client.wait_for_workers(4)
        assert sum(1 for _ in ended) == 39
    assert most == 4


def test_what_travels_with_a_task_of_the_machines_does_not_grow_with_their_number():
    alike = {f"tcp://10.0.{n // 256}.{n % 256}": 16 for n in range(1000)}
    few = Slots.of(alike | {"tcp://10.0.0.3": 4})
    assert (few.all, few.usual, few.others) == (15_988, 16, {"tcp://10.0.0.3": 4})
    assert len(pickle.dumps(few)) < 150
    assert Slots.of({}) == Slots()


@pytest.mark.usefixtures("looking_often")
def test_a_cluster_without_workers_is_an_error_not_a_wait_for_ever():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        Client(empty) as client,
        pytest.raises(BicliqError, match="has had no worker for 1 s; start workers"),
    ):
        list(hand_out(client, in_turn(partial(squared, 1))))


@pytest.mark.usefixtures("looking_often")
def test_a_cluster_that_loses_its_workers_is_an_error_too():
    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
        ended = hand_out(client, in_turn(partial(squared, 3), *[partial(sleeps, 600)] * 3))
        assert next(ended).value == 9
        client.cluster.scale(0)
        with pytest.raises(BicliqError, match="no worker"):
            next(ended)


@pytest.mark.usefixtures("looking_often")
def test_a_scheduler_that_goes_away_is_an_error_too():
    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
        ended = hand_out(client, in_turn(partial(squared, 3), *[partial(sleeps, 600)] * 3))
        assert next(ended).value == 9
        client.cluster.close()
        with pytest.raises(BicliqError, match="cluster"):
            next(ended)
