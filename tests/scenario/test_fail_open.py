"""
A fault of ours never fails a request: the client gets its answer every time.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proxy.engines.base import Engine
from proxy.records.store import RecordStore
from proxy.simulator.steps import answer, gated, hang, overflow, raw, repeat, reset_at_once, status, tool_call, when
from tests.support.conversations import agent_session, chat_session
from tests.support.worlds import SUMMARY, THRESHOLD, WINDOW, error_of, is_whole, texts

BIG = chat_session(16)
FITS = chat_session(9)
"""Above the threshold, within the window."""

GARBAGE = {
    "status 500": status(500),
    "status 429": status(429, headers=(("Retry-After", "7"),)),
    "html": raw(200, (("Content-Type", "text/html"),), b"<html>gateway</html>"),
    "no json": raw(200, body=b"{{{"),
    "null": raw(200, body=b"null"),
    "no choices": raw(200, body=b'{"choices": []}'),
    "odd choices": raw(200, body=b'{"choices": [null], "usage": 7}'),
    "empty": answer(""),
    "refusal": answer("I'm sorry, but I can't help with that."),
    "error text": answer("Error: context length exceeded"),
    "repetition": answer("### Critical decisions\n" * 40),
    "length": answer("The user asked for a change and", finish="length"),
    "tool call": tool_call("read_file", {"path": "x"}),
    "reset": reset_at_once(),
}


@pytest.mark.parametrize("kind", GARBAGE)
async def test_answers_when_the_summariser_fails(world_factory: Any, kind: str) -> None:
    """
    Whatever the summary model answers, a deterministic summary stands in, and no garbage reaches the upstream.
    """
    world = await world_factory()
    world.upstream.will(repeat(4, when(GARBAGE[kind], summary=True)))
    reply = await world.chat(BIG)

    assert (reply.status, reply.action, len(world.calls)) == (200, "compacted", 1)
    assert "[notes on the earlier conversation" in texts(world.sent)
    assert not any(word in texts(world.sent) for word in ("can't help", "Critical decisions", "gateway"))


async def test_answers_when_the_summariser_hangs(world_factory: Any) -> None:
    """
    A request waits for a summary as long as the settings say, then the deterministic plan goes out.
    """
    world = await world_factory(compaction={"summarizer": {"wait": 0.05, "timeout": 0.3}})
    world.upstream.will(repeat(4, when(hang(), summary=True)))
    reply = await asyncio.wait_for(world.chat(BIG), 20)

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.prompt_tokens < THRESHOLD


async def test_a_late_summary_serves_the_next_compaction(world_factory: Any) -> None:
    """
    A summary that comes too late waits as a pending record; the running prefix stays as it is until the next compaction.
    """
    gate = asyncio.Event()
    world = await world_factory(compaction={"summarizer": {"wait": 0.05}})
    world.upstream.will(when(gated(gate), summary=True), when(gated(gate), summary=True))
    first = await world.proxied.chat(BIG)
    gate.set()
    await world.proxied.proxy.core.tasks.settled()
    before = world.upstream.main_calls[-1].messages
    second = await world.chat([*BIG, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go on"}])

    assert (first.status, first.action, second.action) == (200, "compacted", "reused")
    assert world.sent.messages[: len(before)] == before


async def test_the_summariser_rests_after_a_failure(world_factory: Any) -> None:
    """
    During the cooldown the model is left alone.
    """
    world = await world_factory()
    world.upstream.will(when(answer("I'm sorry, but I can't help with that."), summary=True))
    await world.chat(BIG)
    other = [dict(row) for row in BIG]
    other[1] = {"role": "user", "content": "Something else: " + other[1]["content"]}
    reply = await world.chat(other)

    assert (reply.status, reply.action, len(world.upstream.summary_calls)) == (200, "compacted", 1)


@pytest.mark.parametrize("place", ["file for folder", "no sqlite file", "folder for file"])
async def test_works_with_a_store_that_cannot_be_opened(world_factory: Any, tmp_path: Path, place: str) -> None:
    """
    Where the state cannot be written, memory stands in: compaction and resuming go on.
    """
    path = tmp_path / "state" / "state.db"
    if place == "file for folder":
        path.parent.write_text("in the way")
    else:
        path.parent.mkdir()
        path.mkdir() if place == "folder for file" else path.write_bytes(b"this is no database" * 500)
    world = await world_factory(store={"url": f"sqlite:///{path}"})
    first, second = await world.chat(BIG), await world.chat(BIG)

    assert (first.status, first.action, second.status, second.action) == (200, "compacted", 200, "reused")


async def test_works_with_a_read_only_folder(world_factory: Any, tmp_path: Path) -> None:
    """
    A folder that may not be written costs the persistence alone.
    """
    folder = tmp_path / "state"
    folder.mkdir(mode=0o500)
    world = await world_factory(store={"url": f"sqlite:///{folder}/state.db"})
    first, second = await world.chat(BIG), await world.chat(BIG)

    assert (first.status, first.action, second.status, second.action) == (200, "compacted", 200, "reused")


def break_all(monkeypatch: Any, owner: object, names: set[str]) -> None:
    """
    Let every one of these methods raise what nobody expects.
    """

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken for a test")

    for name in names:
        monkeypatch.setattr(owner, name, broken)


async def test_works_with_a_store_that_raises_on_every_call(world_factory: Any, monkeypatch: Any) -> None:
    """
    A store with a bug costs summaries: every request is compacted anew and answered.
    """
    world = await world_factory()
    store = world.proxied.proxy.core.store
    names = {name for name in RecordStore.__abstractmethods__ if name not in {"describe", "close", "sweep"}}
    break_all(monkeypatch, type(store), names)
    for rows in (BIG[:4], FITS, BIG):
        reply = await world.chat(rows)

        assert (reply.status, len(world.calls)) == (200, 1)
    assert reply.action == "compacted"


async def test_works_with_a_broken_store_after_a_refusal(world_factory: Any, monkeypatch: Any) -> None:
    """
    Recovery needs no store either.
    """
    world = await world_factory(blind=True)
    break_all(monkeypatch, type(world.proxied.proxy.core.store), {"find", "put", "get_fact", "put_fact"})
    reply = await world.chat(BIG)

    assert (reply.status, reply.action) == (200, "recovered")


@pytest.fixture
def broken_engine(monkeypatch: Any) -> Any:
    """
    Break the engine of a world that is already built.
    """

    def break_it(world: Any, error: type[Exception] = RuntimeError) -> None:
        async def broken(*_: object, **__: object) -> None:
            raise error("broken for a test")

        engine = engine_of(world)
        monkeypatch.setattr(type(engine), "compact", broken)

    return break_it


def engine_of(world: Any) -> Engine:
    """
    Return the compressor behind a running proxy.
    """
    chat = world.proxied.proxy.edge._handler._chat
    return chat._planner._compacting._ground.engines["compressor"]


@pytest.mark.parametrize("error", [RuntimeError, KeyError, RecursionError, MemoryError])
async def test_a_faulty_engine_sends_the_original_where_it_fits(
    world_factory: Any, broken_engine: Any, error: type[Exception]
) -> None:
    """
    Above the threshold, within the window: the client's own bytes go out.
    """
    world = await world_factory()
    broken_engine(world, error)
    reply = await world.chat(FITS)

    assert (reply.status, reply.action) == (200, "failed-open")
    assert world.sent.messages == FITS


@pytest.mark.parametrize("blind", [False, True], ids=["known window", "after a refusal"])
async def test_a_faulty_engine_gives_way_to_plain_truncation(
    world_factory: Any, broken_engine: Any, blind: bool
) -> None:
    """
    Where the original cannot fit, the deterministic plan goes out and the client is answered.
    """
    world = await world_factory(blind=blind)
    broken_engine(world)
    reply = await world.chat(BIG)

    assert reply.status == 200
    assert world.sent.prompt_tokens < WINDOW
    assert world.sent.introduced(BIG) == {}


async def test_a_fault_in_identification_passes_the_original(world_factory: Any, monkeypatch: Any) -> None:
    """
    What we cannot even recognise goes as it came, and a refusal of it comes back as it came.
    """
    monkeypatch.setattr("proxy.pipeline.identify.more_digests", lambda *_, **__: 1 / 0)
    world = await world_factory()
    fits, refused = await world.chat(FITS), await world.chat(BIG)

    assert (fits.status, fits.action) == (200, "failed-open")
    assert refused.status in {200, 400}
    assert refused.status == 200 or error_of(refused)["code"] == "context_length_exceeded"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_fault_while_settling_never_shows(world_factory: Any, monkeypatch: Any, stream: bool) -> None:
    """
    The answer is on its way already when the books are closed.
    """
    monkeypatch.setattr("proxy.pipeline.learning.Learning.answered", lambda *_, **__: 1 / 0)
    world = await world_factory()
    reply = await world.chat(BIG, stream=stream)

    assert is_whole(reply, stream=stream)


async def test_a_fault_while_learning_from_a_refusal_never_shows(world_factory: Any, monkeypatch: Any) -> None:
    """
    What cannot be learned is not learned; the request is recovered all the same.
    """
    monkeypatch.setattr("proxy.pipeline.learning.Learning.refused", lambda *_, **__: 1 / 0)
    world = await world_factory(blind=True)
    reply = await world.chat(BIG)

    assert (reply.status, reply.action) == (200, "recovered")


async def test_a_fault_in_the_classifier_passes_the_refusal(world_factory: Any, monkeypatch: Any) -> None:
    """
    A refusal that trips our own rules goes to the client as it came.
    """
    monkeypatch.setattr("proxy.pipeline.examine.classify", lambda *_, **__: 1 / 0)
    world = await world_factory(blind=True)
    reply = await world.chat(BIG)

    assert (reply.status, error_of(reply)["code"], len(world.calls)) == (400, "context_length_exceeded", 1)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_fault_while_judging_an_answer_never_shows(world_factory: Any, monkeypatch: Any, stream: bool) -> None:
    """
    A good answer reaches the client whatever our look at it comes to.
    """
    monkeypatch.setattr("proxy.pipeline.examine.judge_answer", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("proxy.pipeline.examine.judge_event", lambda *_, **__: 1 / 0)
    world = await world_factory()
    reply = await world.chat(BIG[:4], stream=stream)

    assert is_whole(reply, stream=stream)


@pytest.mark.parametrize("what", ["learning.Learning.situation", "learning.Learning.strict_roles", "recovering.resume"])
async def test_a_fault_on_the_ladder_never_fails_a_request(world_factory: Any, monkeypatch: Any, what: str) -> None:
    """
    Where a climb cannot begin, the refusal comes back as it came; where its lesson cannot be learned, the answer does.
    """
    monkeypatch.setattr(f"proxy.pipeline.{what}", lambda *_, **__: 1 / 0)
    world = await world_factory(blind=True)
    learns = what.endswith("strict_roles")
    if learns:
        roles = b'{"error": {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}}'
        world.upstream.will(overflow(limit=WINDOW), status(400, body=roles))
    reply = await world.chat(BIG)

    if learns:
        assert (reply.status, reply.action, len(world.calls)) == (200, "recovered", 3)
    else:
        assert (reply.status, error_of(reply)["code"], len(world.calls)) == (400, "context_length_exceeded", 1)


class BrokenTracer:
    """
    A tracer that fails whatever is asked of it.
    """

    def begin(self, *_: object, **__: object) -> None:
        raise RuntimeError("broken for a test")

    def close(self) -> None:
        pass


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_broken_tracer_costs_the_trace_alone(world_factory: Any, stream: bool) -> None:
    """
    The request goes out without a trace, and its answer comes back.
    """
    world = await world_factory(tracer=BrokenTracer())
    reply = await world.chat(BIG, stream=stream)

    assert is_whole(reply, stream=stream)


async def test_a_broken_preparation_is_no_ones_business(world_factory: Any, broken_engine: Any) -> None:
    """
    Background work that fails is an event; the next request is answered.
    """
    world = await world_factory(compaction={"prepare_at": 0.5, "threshold_tokens": 7_000})
    broken_engine(world)
    rows = agent_session(8)
    first, second = await world.chat(rows), await world.chat(rows)

    assert (first.status, second.status) == (200, 200)


async def test_a_summary_is_in_use_again_once_the_model_is_back(world_factory: Any) -> None:
    """
    With no cooldown a failed model is asked again by the next compaction.
    """
    world = await world_factory(compaction={"summarizer": {"cooldown": 0}})
    world.upstream.will(when(status(500), summary=True))
    await world.chat(BIG)
    degraded = texts(world.sent)
    longer = chat_session(26)
    reply = await world.chat(longer)

    assert SUMMARY not in degraded
    assert (reply.status, reply.action, SUMMARY in texts(world.sent)) == (200, "compacted", True)
