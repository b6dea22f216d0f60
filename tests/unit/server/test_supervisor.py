"""
The supervisor without a proxy: what becomes of children that end, refuse or do not end.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.server.supervisor import LONGEST_PAUSE, pause_after

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import os, signal, sys, time
import structlog
from proxy.server.supervisor import Job, Supervisor

structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

def say(*words):
    os.write(1, (" ".join(words) + "\\n").encode())

def sleeps(name):
    say(name, "runs")
    time.sleep(60)

def stubborn(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeps(name)

def counts_hangups(name):
    signal.signal(signal.SIGHUP, lambda *_: say(name, "hangup"))
    sleeps(name)

def last(name):
    signal.signal(signal.SIGTERM, lambda *_: (say(name, "told"), os._exit(0)))
    sleeps(name)

def dies_thrice(name):
    if len(prepared) < 4:
        os._exit(7)
    sleeps(name)

prepared = []
JOBS = {
    "orderly": [Job("a", lambda: sleeps("a")), Job("b", lambda: sleeps("b"))],
    "stubborn": [Job("a", lambda: stubborn("a"))],
    "refusing": [Job("a", lambda: 2), Job("b", lambda: sleeps("b"))],
    "hangup": [Job("a", lambda: counts_hangups("a"))],
    "outlasting": [Job("a", lambda: sleeps("a")), Job("z", lambda: last("z"), outlasts=True)],
    "dying": [Job("a", lambda: dies_thrice("a"), prepare=lambda: prepared.append(1), rest=lambda: say("a", "rests"))],
    "lacking": [Job("a", lambda: sleeps("a"), prepare=lambda: fails_once())],
}

def fails_once():
    prepared.append(1)
    if len(prepared) == 1:
        raise OSError

code = Supervisor(JOBS[sys.argv[1]], patience=float(sys.argv[2]), stopping=lambda: say("stopping")).run()
say("code", str(code))
"""


class Scene:
    """
    A supervisor in a process of its own, since it forks.
    """

    def __init__(self, name: str, patience: float = 20.0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name, str(patience)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def lines(self, count: int) -> list[str]:
        assert self.process.stdout is not None
        return [self.process.stdout.readline().strip() for _ in range(count)]

    def rest(self, *numbers: int) -> list[str]:
        for number in numbers:
            self.process.send_signal(number)
        told, _ = self.process.communicate(timeout=30)
        return told.split("\n")[:-1]


def test_pauses_grow_with_early_deaths_up_to_a_bound() -> None:
    """
    One that lived long is started again at once; one that dies at every start does not keep a core busy.
    """
    assert [pause_after(deaths) for deaths in (0, 1, 2, 3)] == [0.0, 0.25, 0.5, 1.0]
    assert pause_after(50) == LONGEST_PAUSE


def test_a_signal_ends_all_in_order() -> None:
    """
    What is to be stopped first is stopped once, before the children are told.
    """
    scene = Scene("orderly")

    assert sorted(scene.lines(2)) == ["a runs", "b runs"]
    assert scene.rest(signal.SIGTERM) == ["stopping", "code 0"]


def test_one_that_does_not_end_is_killed() -> None:
    """
    Patience has an end, and the exit code tells that it was needed.
    """
    scene = Scene("stubborn", patience=0.2)
    scene.lines(1)

    assert scene.rest(signal.SIGTERM) == ["stopping", "code 1"]


def test_one_that_refuses_ends_all() -> None:
    """
    Without a signal; whether the other one has begun by then is a matter of moments.
    """
    told = Scene("refusing").rest()

    assert [line for line in told if line != "b runs"] == ["stopping", "code 2"]


def test_a_hangup_is_handed_on() -> None:
    """
    And nothing ends.
    """
    scene = Scene("hangup")
    scene.lines(1)
    scene.process.send_signal(signal.SIGHUP)

    assert scene.lines(1) == ["a hangup"]
    assert scene.rest(signal.SIGTERM) == ["stopping", "code 0"]


def test_one_that_outlasts_the_others_is_told_last() -> None:
    """
    The admin port shows the drain to its end.
    """
    scene = Scene("outlasting")
    scene.lines(2)

    assert scene.rest(signal.SIGTERM) == ["stopping", "z told", "code 0"]


@pytest.mark.parametrize("name", ["dying", "lacking"])
def test_one_that_dies_is_started_again(name: str) -> None:
    """
    After a pause, in which it rests where that is long; and also where the start itself failed.
    """
    scene = Scene(name)
    told = scene.lines(2 if name == "dying" else 1)

    assert told == (["a rests", "a runs"] if name == "dying" else ["a runs"])
    assert scene.rest(signal.SIGTERM)[-1] == "code 0"
