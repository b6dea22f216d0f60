"""
The process for long work: forked while there are no threads, so it is tried in a process of its own.
"""

import json
import subprocess
import sys
import threading
from functools import partial

import pytest

from proxy.pipeline.workshop import Workshop
from tests.support import jobs

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are not safe here")

SCRIPT = """
import json, os, resource, signal, sys
from functools import partial
from proxy.pipeline.workshop import Workshop

def counted(text, count): return [count(text), os.getpid(), os.getppid()]
def failing(count): raise ValueError("no such row")
def killed(count): os.kill(os.getpid(), signal.SIGKILL)
def files(count): return sorted(os.listdir("/proc/self/fd"), key=int)
def large(size, count): return "x" * size
def unpicklable(count): return lambda: None

def outcome(job):
    try:
        return shop.do(job)
    except Exception as fault:
        return type(fault).__name__ + ": " + str(fault)

held = open(os.devnull)
os.dup2(held.fileno(), 900)
resource.setrlimit(resource.RLIMIT_NOFILE, (500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
shop = Workshop.fork(len)
# Looked up by name in the fork, which began before these were made.
told = {"beside": shop.pid, "here": os.getpid()}
told["counted"] = [outcome(partial(counted, "abc")), outcome(partial(counted, "ä"))]
told["failing"] = outcome(failing)
told["killed"] = outcome(killed)
told["large"] = len(outcome(partial(large, 3_000_000)))
told["unpicklable"] = outcome(unpicklable)
told["files"] = outcome(files)
os.kill(shop.pid, signal.SIGTERM)
os.kill(shop.pid, signal.SIGINT)
told["after signals"] = outcome(partial(counted, "abcd"))[0]
if "kill" in sys.argv:
    os.kill(shop.pid, signal.SIGKILL)
    told["gone"] = outcome(partial(counted, "abc")).partition(":")[0]
shop.close()
told["closed"] = outcome(partial(counted, "abc")).partition(":")[0]
try:
    os.kill(told["beside"], 0)
except ProcessLookupError:
    told["ended"] = True
print(json.dumps(told))
"""


def run(*arguments: str) -> dict:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told() -> dict:
    return run()


def test_a_job_runs_in_a_process_of_its_own(told: dict) -> None:
    """
    Each one in another, forked from the one that waits beside.
    """
    (three, first, parent), (one, second, same) = told["counted"]

    assert (three, one) == (3, 1)
    assert parent == same == told["beside"]
    assert len({first, second, told["beside"], told["here"]}) == 4


def test_what_a_job_raises_is_raised(told: dict) -> None:
    """
    Whatever goes wrong in it, the next one is done.
    """
    assert told["failing"] == "ValueError: no such row"
    assert told["killed"].startswith("WorkshopError")
    assert "pickle" in told["unpicklable"]
    assert told["large"] == 3_000_000


def test_holds_nothing_of_what_it_was_forked_from(told: dict) -> None:
    """
    A port that it kept would stay open when the process that serves it is gone: standard files, its line, the pipe of
    the job, and the listing itself are all. One beyond the limit was opened before that was set.
    """
    assert len(told["files"]) <= 6
    assert "900" not in told["files"]


def test_ends_with_the_process_that_asks_and_not_before(told: dict) -> None:
    """
    Signals of the group are not for it.
    """
    assert told["after signals"] == 4
    assert told["ended"] is True
    assert told["closed"] == "WorkshopGoneError"


def test_one_that_was_killed_is_told() -> None:
    """
    The work is then done by whoever asked.
    """
    assert run("kill")["gone"] == "WorkshopGoneError"


def test_one_that_is_started_later_does_the_same() -> None:
    """
    Threads are no hindrance to it; it counts with token tables of its own.
    """
    held = threading.Event()
    thread = threading.Thread(target=held.wait)
    thread.start()
    workshop = Workshop.start()
    try:
        parents = {workshop.do(jobs.parent), workshop.do(jobs.parent)}
        told = workshop.do(partial(jobs.counted, "hello world"))
    finally:
        workshop.close()
        held.set()
        thread.join()

    assert (parents, told, workshop.answered) == ({workshop.pid}, 2, 3)
