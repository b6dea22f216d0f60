"""
Questions to several workers, whose sockets are real and whose answers are made up.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from proxy.admin.channel import Desk, answer_on
from proxy.admin.fanout import PUBLISH, ManyProcesses
from proxy.errors import BadRequestError, UnansweredError
from proxy.telemetry.logs import where


@pytest.fixture
def folder() -> Iterator[Path]:
    """
    A folder with a short name: a Unix socket's path may have some hundred bytes.
    """
    with tempfile.TemporaryDirectory(prefix="c") as name:
        yield Path(name)


def desk(number: int, published: list[int] | None = None) -> Desk:
    async def name(details):
        return {"worker": number, **details}

    async def fail(_):
        raise ValueError("sk-secret")

    async def refuse(_):
        raise BadRequestError(400, "no", "bad")

    async def slow(_):
        await asyncio.sleep(30)

    async def publish(_):
        (published if published is not None else []).append(number)

    async def tell():
        for event in range(2):
            yield {"worker": number, "event": event}
        await asyncio.sleep(30)

    return Desk({"name": name, "fail": fail, "refuse": refuse, "slow": slow, PUBLISH: publish}, {"tell": tell})


@asynccontextmanager
async def workers(folder: Path, count: int, *, seconds: float = 5.0, published=None) -> AsyncIterator[ManyProcesses]:
    paths = [folder / f"{number}.sock" for number in range(2)]
    servers = [await answer_on(path, desk(n, published)) for n, path in enumerate(paths) if n < count]
    yield ManyProcesses(paths, collect=lambda: b"text", seconds=seconds)
    for server in servers:
        server.close()


async def test_every_worker_answers(folder) -> None:
    """
    In the order of the workers, details handed on.
    """
    async with workers(folder, 2) as many:
        assert await many.ask_all("name", {"a": 1}) == [{"worker": 0, "a": 1}, {"worker": 1, "a": 1}]
        assert await many.ask("name", {}) == {"worker": 0}


async def test_a_dead_worker_is_left_out(folder) -> None:
    """
    The others still answer; where none is left it is said.
    """
    async with workers(folder, 1) as many:
        assert await many.ask_all("name", {}) == [{"worker": 0}]
    (folder / "0.sock").unlink(missing_ok=True)
    async with workers(folder, 0) as many:
        assert await many.ask_all("name", {}) == []
        with pytest.raises(UnansweredError):
            await many.ask("name", {})


async def test_a_slow_worker_is_not_waited_for(folder) -> None:
    """
    The admin port answers all the same.
    """
    async with workers(folder, 2, seconds=0.05) as many:
        assert await many.ask_all("slow", {}) == []


async def test_an_unknown_question_is_a_mistake_of_ours(folder) -> None:
    """
    It is not taken for a worker that is away.
    """
    async with workers(folder, 2) as many:
        with pytest.raises(KeyError):
            await many.ask_all("nonsense", {})


async def test_a_refusal_reaches_whoever_asked(folder) -> None:
    """
    With its status, as if there were one process.
    """
    async with workers(folder, 2) as many:
        with pytest.raises(BadRequestError) as told:
            await many.ask("refuse", {})

    assert (told.value.status, told.value.message, told.value.code) == (400, "no", "bad")


async def test_a_fault_keeps_its_text(folder, capfd) -> None:
    """
    It may be a client's; the event names the question and the place.
    """
    structlog.configure(processors=[where, structlog.processors.KeyValueRenderer()])
    async with workers(folder, 2) as many:
        assert await many.ask_all("fail", {}) == []
    told = capfd.readouterr()

    assert "admin.failed" in told.out
    assert "sk-secret" not in told.out + told.err


async def test_gauges_are_published_before_metrics_are_collected(folder) -> None:
    """
    By every worker.
    """
    published: list[int] = []
    async with workers(folder, 2, published=published) as many:
        text = await many.metrics()

    assert (sorted(published), text) == ([0, 1], b"text")


async def test_an_end_while_somebody_listens_is_no_fault(folder) -> None:
    """
    The loop cancels whoever still tells, and nothing of it is written to the log.
    """
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    async with workers(folder, 1) as many:
        before = asyncio.all_tasks()
        async for _ in many.follow("tell"):
            break
        telling = asyncio.all_tasks() - before
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)
        await asyncio.sleep(0)

    assert telling
    assert faults == []


async def test_all_streams_are_one(folder) -> None:
    """
    What any worker tells is heard, until the listener leaves.
    """
    async with workers(folder, 2) as many:
        heard = []
        async with asyncio.timeout(5):
            async for event in many.follow("tell"):
                heard.append((event["worker"], event["event"]))
                if len(heard) == 4:
                    break

    assert sorted(heard) == [(0, 0), (0, 1), (1, 0), (1, 1)]
