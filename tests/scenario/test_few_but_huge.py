"""
Histories in which there is little to fold: one message larger than the window, hundreds of pictures, thousands of crumbs.
"""

from typing import Any

import pytest

from tests.support.conversations import (
    agent_session,
    assistant,
    call,
    filler,
    image,
    result,
    system,
    tool_schema,
    user,
)
from tests.support.worlds import WINDOW, error_of, is_whole, texts

STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
BLIND = pytest.mark.parametrize("blind", [False, True], ids=["known", "unknown"])
HUGE = 80_000
"""Characters: about 20,000 tokens in a window of 8,000."""


@STREAMS
@BLIND
async def test_one_user_message_larger_than_the_window(world_factory: Any, blind: bool, stream: bool) -> None:
    """
    Its beginning and its end stay, where people put what they want; what went is told.
    """
    world = await world_factory(blind=blind)
    ask = "Please find the fault in this log. " + filler(HUGE) + " Answer in one line."
    reply = await world.chat([system(), user(ask)], stream=stream)

    assert is_whole(reply, stream=stream)
    assert len(world.calls) <= 4
    assert world.sent.prompt_tokens <= WINDOW
    assert "Please find the fault" in texts(world.sent)
    assert "Answer in one line." in texts(world.sent)


@STREAMS
@BLIND
async def test_one_tool_result_larger_than_the_window(world_factory: Any, blind: bool, stream: bool) -> None:
    """
    The newest result is cut inside, its call and the ask stay whole.
    """
    world = await world_factory(blind=blind, sim={"alternation": "on"})
    rows = [*agent_session(3), call("run", id="z", command="make"), result("z", "BEGIN " + filler(HUGE) + " END")]
    reply = await world.chat(rows, stream=stream)

    assert is_whole(reply, stream=stream)
    assert len(world.calls) <= 4
    assert world.sent.prompt_tokens <= WINDOW
    assert world.sent.messages[-2]["tool_calls"] == rows[-2]["tool_calls"]
    assert world.sent.introduced(rows) == {}


@BLIND
async def test_one_system_prompt_larger_than_the_window(world_factory: Any, blind: bool) -> None:
    """
    System prompts are never rewritten, so that nothing helps: one 400 that says what is in the way, without a wait.
    """
    world = await world_factory(blind=blind)
    reply = await world.chat([system(filler(HUGE)), user("hello"), assistant("hi"), user("and now?")])

    assert (reply.status, error_of(reply)["code"]) == (400, "context_length_exceeded")
    assert "system" in error_of(reply)["message"]
    assert len(world.calls) <= 1


@BLIND
async def test_a_window_smaller_than_the_tools_alone(world_factory: Any, blind: bool) -> None:
    """
    The message names the tools and their size, since they are what has to be changed.
    """
    world = await world_factory(blind=blind)
    tools = [tool_schema(f"t{n}", *(f"p{n}_{p}" for p in range(20))) for n in range(80)]
    reply = await world.chat([system(), user("hello"), assistant("hi"), user("and now?")], tools=tools)

    assert (reply.status, error_of(reply)["code"]) == (400, "context_length_exceeded")
    assert "tools" in error_of(reply)["message"]
    assert len(world.calls) <= 1


@STREAMS
@BLIND
async def test_three_hundred_images(world_factory: Any, blind: bool, stream: bool) -> None:
    """
    Old pictures leave before words do; the newest one stays.
    """
    world = await world_factory(
        blind=blind, sim={"window": 60_000}, **({} if blind else {"upstream": {"context_window": 60_000}})
    )
    rows: list[Any] = [system()]
    for number in range(299):
        rows += [image(f"look at screen {number}", size=2_000), assistant(f"screen {number}: a form")]
    rows.append(image("and now?", size=2_000))
    reply = await world.chat(rows, stream=stream)

    assert is_whole(reply, stream=stream)
    assert len(world.calls) <= 4
    assert world.sent.messages[-1]["content"][-2:] == rows[-1]["content"]
    assert world.sent.introduced(rows) == {}


@STREAMS
@BLIND
async def test_two_thousand_tiny_messages(world_factory: Any, blind: bool, stream: bool) -> None:
    """
    Many crumbs are folded like a few large rows.
    """
    world = await world_factory(blind=blind)
    rows: list[Any] = [system()]
    for number in range(1_000):
        rows += [user(f"add {number} to the list"), assistant("added")]
    rows.append(user("how many are there?"))
    reply = await world.chat(rows, stream=stream)

    assert is_whole(reply, stream=stream)
    assert len(world.calls) <= 4
    assert world.sent.prompt_tokens <= WINDOW
    assert world.sent.messages[-1] == rows[-1]
    assert len(world.sent.messages) < 1_000


@BLIND
async def test_a_hundred_huge_results(world_factory: Any, blind: bool) -> None:
    """
    Each alone is a third of the window.
    """
    world = await world_factory(blind=blind)
    rows: list[Any] = [system(), user("read all of these")]
    for number in range(100):
        rows += [
            call("read", id=f"c{number}", path=f"f{number}"),
            result(f"c{number}", filler(10_000, seed=str(number))),
        ]
    reply = await world.chat(rows)

    assert (reply.status, len(world.calls) <= 4) == (200, True)
    assert world.sent.prompt_tokens <= WINDOW
    assert world.sent.introduced(rows) == {}
    assert "read all of these" in texts(world.sent)
