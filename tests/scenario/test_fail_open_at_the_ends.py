"""
A fault of ours before a request is understood, or after its answer came, costs neither the answer nor the log line.
"""

import asyncio
from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from tests.support.conversations import chat_session
from tests.support.edge import RawClient
from tests.support.worlds import is_whole

ROWS = chat_session(3)
FITS = chat_session(9)
"""Above the threshold, within the window."""
BY_MODEL = [{"name": "by-model", "match": {"model": "sim-*"}, "upstream": "sim"}]
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def break_it(*_: object, **__: object) -> None:
    raise RuntimeError("broken for a test")


def told(world: Any) -> dict[str, object]:
    """
    Return the one line that was told of the exchange.
    """
    (event,) = world.proxied.proxy.core.journal.recent(10)
    return dict(event)


@pytest.mark.parametrize(
    "where",
    [
        "chat_completions.by_name",
        "chat_completions.read_directives",
        "chat_completions.trace_of",
        "identify.Identifier.party",
        "viewing.Viewer.view",
        "routes.Router.of",
    ],
)
@STREAMS
async def test_a_request_that_we_cannot_match_goes_as_it_came(
    world_factory: Any, monkeypatch: Any, where: str, stream: bool
) -> None:
    """
    Whatever we stumble over before we know what it is, to the upstream that there is.
    """
    world = await world_factory(routes=BY_MODEL)
    monkeypatch.setattr(f"proxy.pipeline.{where}", break_it)
    reply = await world.chat(FITS, stream=stream, headers={"x-concertina-mode": "compact"})

    assert is_whole(reply, stream=stream)
    assert (reply.action, world.sent.messages) == ("failed-open", FITS)
    assert [told(world)[key] for key in ("action", "status", "attempts", "why")] == [
        "failed-open",
        200,
        1,
        "failed open",
    ]


@pytest.mark.parametrize(
    "where",
    [
        "chat_completions.warnings_of",
        "chat_completions.request_id_of",
        "chat_completions.StreamWatcher",
        "chat_completions.Relayed",
        "chat_completions._strips_usage",
        "second_look.SecondLook.untold",
        "settling.canonical",
        "watching.StreamWatcher.feed",
        "relaying.decoder_of",
    ],
)
@STREAMS
async def test_an_answer_that_came_is_relayed(world_factory: Any, monkeypatch: Any, where: str, stream: bool) -> None:
    """
    Whatever we stumble over while we look at it.
    """
    world = await world_factory()
    monkeypatch.setattr(f"proxy.pipeline.{where}", break_it)
    reply = await world.chat(ROWS, stream=stream)

    assert is_whole(reply, stream=stream)
    if where != "settling.canonical":
        assert told(world)["status"] == 200


async def test_a_look_that_cannot_be_had_is_done_without(world_factory: Any, monkeypatch: Any) -> None:
    """
    What was sent is answered, and nothing is sent again.
    """
    world = await world_factory()
    monkeypatch.setattr("proxy.pipeline.recovering._lens", break_it)
    reply = await world.chat(ROWS)

    assert (is_whole(reply, stream=False), len(world.calls), told(world)["status"]) == (True, 1, 200)


async def test_a_fault_while_sending_is_told(world_factory: Any, monkeypatch: Any) -> None:
    """
    Whether it was sent cannot be known, so that it must not be sent again; and yet it was an exchange.
    """
    world = await world_factory()
    monkeypatch.setattr("proxy.upstream.client.head_of", break_it)
    reply = await world.chat(ROWS)

    assert (reply.status, told(world)["status"], told(world)["ended"]) == (500, 0, "proxy-failed")


async def test_a_path_that_may_go_nowhere_is_no_fault_of_ours(world_factory: Any) -> None:
    """
    The client is told, and no exchange is.
    """
    world = await world_factory()
    client = RawClient(*await asyncio.open_connection("127.0.0.1", int(world.proxied.url.split(":")[2].split("/")[0])))
    answered = await client.ask("POST", "/v1/%2e%2e/x/chat/completions", body=dumps({"model": "m", "messages": ROWS}))
    await client.leave()

    assert (answered.status, loads(answered.body)["error"]["code"]) == (400, "invalid_path")
    assert world.proxied.proxy.core.journal.recent(10) == []
