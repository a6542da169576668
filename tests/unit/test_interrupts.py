"""Tests of interrupts that are not lost: they fall where Python ignores what is raised."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import weakref

import pytest

from bicliq.flows.cli.interrupts import REMINDER_SECONDS, by_interrupt, lasting_interrupts


@pytest.fixture(autouse=True)
def _as_in_a_terminal():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class _Target:
    pass


def _interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0)  # Python looks for signals here


def _in_a_callback():
    target = _Target()
    watcher = weakref.ref(target, _interrupt)
    del target
    assert watcher() is None


def _in_a_finalizer():
    class Finalized:
        __del__ = _interrupt

    Finalized()


def _in_what_ignores_all():
    with contextlib.suppress(BaseException):
        _interrupt()


LOSING = (_in_a_callback, _in_a_finalizer, _in_what_ignores_all)


@pytest.mark.parametrize("lose", LOSING)
@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_that_is_ignored_comes_again(lose, times, capsys):
    lost = []

    @lasting_interrupts()
    def command():
        for _ in range(times):
            lose()
            lost.append(1)
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        command()
    assert len(lost) == times
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("lose", LOSING[:2])
def test_python_alone_loses_it(lose, capsys, monkeypatch):
    said = []
    monkeypatch.setattr("sys.unraisablehook", said.append)
    lose()
    time.sleep(2 * REMINDER_SECONDS)
    assert [each.exc_type for each in said] == [KeyboardInterrupt]


def test_whoever_cleans_up_is_left_alone_until_a_second_interrupt():
    cleaned = []

    @lasting_interrupts()
    def command():
        try:
            _interrupt()
        finally:
            time.sleep(3 * REMINDER_SECONDS)
            cleaned.append(1)
            _interrupt()
            cleaned.append(2)

    with pytest.raises(KeyboardInterrupt):
        command()
    assert cleaned == [1]


def test_nothing_is_left_behind():
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(KeyboardInterrupt), lasting_interrupts():
        _interrupt()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_with_an_answer_of_its_own_keeps_it():
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    with lasting_interrupts():
        _interrupt()
    assert heard == [1]


def test_other_threads_may_run_commands():
    ended = []

    def work():
        with lasting_interrupts():
            ended.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [1]


def test_what_came_of_an_interrupt_is_known():
    from_it, amid_it = ImportError("half imported"), ImportError("half imported")
    from_it.__cause__ = amid_it.__context__ = KeyboardInterrupt()
    assert by_interrupt(from_it)
    assert by_interrupt(amid_it)
    assert not by_interrupt(ImportError("not there"))
    assert not by_interrupt(None)
