"""
One summary a stretch, so many at once for each upstream, and nobody waits longer than allowed.
"""

import asyncio
from dataclasses import dataclass, field

import pytest

from proxy.pipeline.desk import TOO_SLOW, SummaryDesk, Terms
from proxy.pipeline.sharing import Pace, SummarySharing
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.leases import Lease
from proxy.records.memory import MemoryStore
from proxy.summaries.base import Summarizer, Summary, SummaryJob
from tests.support.stores import FakeClock

JOB = SummaryJob(originals=(), fresh=(), previous=None, tail=(), budget_tokens=9, ceiling_tokens=9)


@dataclass
class Model(Summarizer):
    """
    Counts how many it writes at once; it ends when its gate opens.
    """

    name = "model"
    running: int = 0
    most: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def summarize(self, job: SummaryJob) -> Summary:
        self.running += 1
        self.most = max(self.most, self.running)
        await self.gate.wait()
        self.running -= 1
        return Summary("by the model", calls=1)


class Extract(Summarizer):
    """
    Stands in at once.
    """

    name = "extract"

    async def summarize(self, job: SummaryJob) -> Summary:
        return Summary("extract")


@pytest.fixture
def desk() -> SummaryDesk:
    """
    A desk of its own.
    """
    tasks = TaskKeeper()
    return SummaryDesk(tasks, SummarySharing(MemoryStore(clock=FakeClock()), tasks))


def ask(desk: SummaryDesk, key: str, model: Model, terms: Terms) -> asyncio.Future[Summary]:
    """
    Begin to ask the desk.
    """
    return asyncio.ensure_future(desk.summarize(key, JOB, best=model, fallback=Extract(), terms=terms))


async def settle() -> None:
    """
    Let everything run that can.
    """
    for _ in range(50):
        await asyncio.sleep(0)


async def test_an_upstream_is_asked_for_so_many_at_once(desk: SummaryDesk) -> None:
    """
    The others queue; another upstream has places of its own.
    """
    busy, other = Model(), Model()
    waiting = [ask(desk, str(number), busy, Terms(60, "one", 2)) for number in range(5)]
    waiting += [ask(desk, f"o{number}", other, Terms(60, "two", 3)) for number in range(5)]
    await settle()
    at_first = (busy.running, other.running)
    busy.gate.set()
    other.gate.set()
    await asyncio.gather(*waiting)

    assert (at_first, busy.most, other.most) == ((2, 3), 2, 3)


async def test_what_needs_no_model_takes_no_place(desk: SummaryDesk) -> None:
    """
    Extracts are made by each process for itself.
    """
    model = Model()
    waiting = [ask(desk, str(number), model, Terms(60)) for number in range(5)]
    await settle()
    running = model.running
    model.gate.set()
    await asyncio.gather(*waiting)

    assert running == 5


async def test_a_request_waits_no_longer_than_its_patience(desk: SummaryDesk) -> None:
    """
    The stand-in serves it, and the summary goes on being made.
    """
    model = Model()
    summary = await ask(desk, "k", model, Terms(0.01, "one", 1))
    late = desk.running("k")
    model.gate.set()

    assert (summary.text, summary.degraded, summary.failures) == ("extract", True, (TOO_SLOW,))
    assert late is not None
    assert (await late).text == "by the model"


class SlowToLetGo(MemoryStore):
    """
    A store far away: a lease is given back after the gate has opened.
    """

    def __init__(self) -> None:
        super().__init__(clock=FakeClock())
        self.reached, self.gate = asyncio.Event(), asyncio.Event()

    async def release(self, lease: Lease) -> None:
        self.reached.set()
        await self.gate.wait()
        await super().release(lease)


async def test_who_asks_while_an_unwanted_summary_ends_does_not_end_with_it() -> None:
    """
    A client that breaks off and repeats its request at once gets a summary of its own.
    """
    tasks, store, model = TaskKeeper(), SlowToLetGo(), Model()
    desk = SummaryDesk(tasks, SummarySharing(store, tasks, pace=Pace(look=0.001)))
    leaving = ask(desk, "k", model, Terms(60, "one", 2))
    await settle()
    leaving.cancel()
    await store.reached.wait()
    again = ask(desk, "k", model, Terms(60, "one", 2))
    await settle()
    store.gate.set()
    model.gate.set()

    assert (await asyncio.wait_for(again, 10)).text == "by the model"
    assert desk.running("k") is None
