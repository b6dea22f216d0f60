"""
Long work goes on when the process that does it is lost.
"""

import os
import signal
from collections.abc import Iterator
from functools import partial

import pytest
import structlog

from proxy.pipeline.longwork import LongWork, pause_after
from proxy.pipeline.workbench import FORKS
from proxy.pipeline.workshop import Workshop, WorkshopError, WorkshopGoneError
from tests.support import jobs

Events = list[structlog.typing.EventDict]
COUNT = partial(jobs.counted, "hello world")


class Starting:
    """
    Starts processes for long work, on a clock that stands still; *broken* has each of them die at once.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.broken = False
        self.started: list[Workshop] = []
        self.work = LongWork(start=self.start, clock=lambda: self.now)

    def start(self) -> Workshop:
        """
        Start one.
        """
        found = Workshop.start()
        self.started.append(found)
        if self.broken:
            os.kill(found.pid, signal.SIGKILL)
        return found


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """
    Collect what is told, whatever level and processors an earlier test set up.
    """
    caught = structlog.testing.LogCapture()
    everything = structlog.make_filtering_bound_logger(0)
    told = structlog.wrap_logger(structlog.PrintLogger(), processors=[caught], wrapper_class=everything)
    monkeypatch.setattr("proxy.pipeline.longwork.log", told)
    return caught.entries


@pytest.fixture
def starting() -> Iterator[Starting]:
    """
    Ends what is left of them.
    """
    found = Starting()
    yield found
    found.work.close()


@pytest.mark.slow
def test_the_next_job_runs_in_another_process(starting: Starting, events: Events) -> None:
    """
    Only the job at hand is lost with the one that was killed, and the log tells of it.
    """
    assert starting.work.do(COUNT) == 2
    os.kill(starting.started[0].pid, signal.SIGKILL)
    with pytest.raises(WorkshopGoneError):
        starting.work.do(COUNT)

    assert starting.work.do(COUNT) == 2
    assert len({shop.pid for shop in starting.started}) == 2
    assert events == [{"event": "workshop.lost", "restart_in": 0.0, "log_level": "error"}]


@pytest.mark.slow
@pytest.mark.skipif(not FORKS, reason="jobs have no process of their own here")
def test_a_job_that_is_killed_takes_the_process_along_nowhere(starting: Starting, events: Events) -> None:
    """
    It ran in a process of its own, as the log tells.
    """
    with pytest.raises(WorkshopError):
        starting.work.do(jobs.killed)

    assert starting.work.do(COUNT) == 2
    assert len(starting.started) == 1
    assert events == [{"event": "workshop.job_killed", "log_level": "warning"}]


@pytest.mark.slow
def test_processes_that_die_without_a_job_done_are_started_at_longer_and_longer_pauses(starting: Starting) -> None:
    """
    Each start costs a second of CPU, for nothing.
    """
    starting.broken = True
    for _ in range(4):
        with pytest.raises(WorkshopError):
            starting.work.do(COUNT)
    assert len(starting.started) == 2

    starting.now += pause_after(2)
    with pytest.raises(WorkshopGoneError):
        starting.work.do(COUNT)
    starting.now += pause_after(3)
    starting.broken = False

    assert starting.work.do(COUNT) == 2
    assert len(starting.started) == 4


def test_one_that_cannot_be_started_is_lost_as_well(events: Events) -> None:
    """
    A system that has no process left may have one later.
    """

    def start() -> Workshop:
        raise BlockingIOError("no process to be had")

    work = LongWork(start=start, clock=lambda: 0.0)

    with pytest.raises(WorkshopGoneError):
        work.do(COUNT)
    assert [event["event"] for event in events] == ["workshop.lost"]


def test_nobody_starts_another_once_it_is_closed(starting: Starting) -> None:
    """
    A process would outlast the one that it works for.
    """
    starting.work.close()

    with pytest.raises(WorkshopError):
        starting.work.do(COUNT)
    assert starting.started == []


def test_pauses_grow_to_a_minute() -> None:
    """
    None after the first loss: it was an accident.
    """
    assert [pause_after(losses) for losses in (1, 2, 3, 9)] == [0.0, 5.0, 10.0, 60.0]


@pytest.mark.slow
def test_a_process_that_was_just_starting_ends_too() -> None:
    """
    Work ends while the thread that waits for a job starts another process for it, which nobody would end then.
    """
    started: list[Workshop] = []

    def start_late() -> Workshop:
        work.close()
        started.append(Workshop.start())
        return started[0]

    work = LongWork(start=start_late)
    with pytest.raises(WorkshopError):
        work.do(COUNT)

    with pytest.raises(ProcessLookupError):
        os.kill(started[0].pid, 0)
