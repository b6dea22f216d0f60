"""
The labelled wordings, each on the wire: what is an overflow ends in an answer, all else reaches the client as it came.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import structlog

from proxy.simulator.steps import raw, repeat
from tests.support.conversations import chat_session, user
from tests.support.worlds import error_of, is_whole

FOLDER = Path(__file__).parents[1] / "unit" / "recovery"
FILES = ("wordings_sixth.jsonl", "wordings_seventh.jsonl", "wordings_eighth.jsonl", "wordings_ninth.jsonl")
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
BIG = chat_session(12)
CURED = {"context_overflow", "payload_too_large"}
GENERIC = raw(
    400, body=b'{"error":{"code":400,"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}'
)


def rows_of(*, overflows: bool) -> list[dict[str, Any]]:
    """
    Return the wordings that a status came with.
    """
    lines = [line for name in FILES for line in (FOLDER / name).read_text("utf-8").splitlines()]
    rows = [row for row in map(json.loads, lines) if row["status"] not in {None, 200}]
    chosen = {"context_overflow"} if overflows else {row["label"] for row in rows} - CURED
    return [row for row in rows if row["label"] in chosen]


@pytest.mark.slow
@STREAMS
async def test_every_overflow_ends_in_an_answer(world_factory: Any, stream: bool) -> None:
    """
    One refusal each, by a client of its own, so that nothing learned helps the next.
    """
    world = await world_factory(blind=True, sim={"window": None})
    failed = []
    for number, row in enumerate(rows_of(overflows=True)):
        world.upstream.will(raw(row["status"], body=row["body"].encode()))
        reply = await world.chat(BIG, stream=stream, headers={"authorization": f"Bearer key-{number}"})
        if not is_whole(reply, stream=stream) or len(world.calls) != 2:
            failed.append(row["body"])

    assert failed == []


@pytest.mark.slow
@STREAMS
async def test_everything_else_passes_as_it_came(world_factory: Any, stream: bool) -> None:
    """
    Status, body and Retry-After, after exactly one call.
    """
    world = await world_factory(blind=True, sim={"window": None})
    failed = []
    for number, row in enumerate(rows_of(overflows=False)):
        body, retry = row["body"].encode(), str(number + 1)
        world.upstream.will(raw(row["status"], (("Content-Type", "application/json"), ("Retry-After", retry)), body))
        reply = await world.chat(BIG, stream=stream, headers={"authorization": f"Bearer key-{number}"})
        as_it_came = (reply.status, reply.body, reply.headers.get("retry-after")) == (row["status"], body, retry)
        if not as_it_came or len(world.calls) != 1:
            failed.append(row["body"])

    assert failed == []


@STREAMS
async def test_a_generic_400_near_the_window_is_tried_once(world_factory: Any, stream: bool) -> None:
    """
    Some upstreams give no reason at all; where our count is near the window it may be that.
    """
    world = await world_factory(sim={"window": None}, compaction={"mode": "recover"})
    world.upstream.will(GENERIC)
    reply = await world.chat(chat_session(16), stream=stream)

    assert is_whole(reply, stream=stream)
    assert (reply.action, len(world.calls)) == ("recovered", 2)


async def test_a_generic_400_that_stays_passes(world_factory: Any) -> None:
    """
    It was something else: the client sees what the upstream said, not our guess.
    """
    world = await world_factory(sim={"window": None}, compaction={"mode": "recover"})
    world.upstream.will(repeat(4, GENERIC))
    reply = await world.chat(chat_session(16))

    assert (reply.status, len(world.calls)) == (400, 2)
    assert error_of(reply)["message"] == "Request contains an invalid argument."


async def test_a_generic_400_far_from_the_window_passes(world_factory: Any) -> None:
    """
    A short request is not too long.
    """
    world = await world_factory(sim={"window": None})
    world.upstream.will(repeat(4, GENERIC))
    reply = await world.chat(chat_session(3))

    assert (reply.status, len(world.calls)) == (400, 1)


async def test_an_unknown_wording_is_logged_by_its_shape(world_factory: Any) -> None:
    """
    Enough to write a rule from, and no word of the request, though the upstream quotes it.
    """
    world = await world_factory(blind=True, sim={"window": None})
    body = b'{"error":{"message":"The frobnicator would not load 9000 items: my secret is Quillmarrow"}}'
    world.upstream.will(raw(400, body=body))
    with structlog.testing.capture_logs() as logs:
        reply = await world.chat([*BIG, user("my secret is Quillmarrow")])

    (event,) = [event for event in logs if event["event"] == "refusal.unknown"]
    assert (reply.status, reply.body) == (400, body)
    assert event["wording"] == "the _ would not load N items _ is _"
    assert "Quillmarrow" not in repr(logs)


async def test_a_known_wording_is_not_logged(world_factory: Any) -> None:
    """
    Only what is worth a new rule.
    """
    world = await world_factory(blind=True, sim={"window": None})
    world.upstream.will(raw(400, body=b'{"error":{"message":"prompt is too long: 9000 tokens > 8000 maximum"}}'))
    with structlog.testing.capture_logs() as logs:
        await world.chat(BIG)

    assert "refusal.unknown" not in {event["event"] for event in logs}
