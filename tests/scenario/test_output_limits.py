"""
max_tokens that an upstream will not have: lowered once it refused, and from then on before it is asked.
"""

from typing import Any

import pytest

from proxy.simulator.steps import raw, repeat
from tests.support.conversations import assistant, chat_session, user
from tests.support.worlds import is_whole

STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
ROWS = chat_session(5)
OTPM = (
    b'{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your '
    b'organization of 8,000 output tokens per minute."}}'
)


def statuses(world: Any) -> list[int]:
    return [call.status for call in world.calls]


@STREAMS
@pytest.mark.parametrize("wording", ["openai", "anthropic", "sglang", "tgi"])
async def test_a_shared_window_is_kept_from_then_on(world_factory: Any, wording: str, stream: bool) -> None:
    """
    Prompt and output together were too much once; the next request asks for what there is room for.
    """
    world = await world_factory(blind=True, sim={"wording": wording})
    await world.chat(ROWS, max_tokens=7_000, stream=stream)
    first = statuses(world)
    rows = [*ROWS, assistant("done"), user("and the other one")]
    reply = await world.chat(rows, max_tokens=7_000, stream=stream)

    assert (len(first), statuses(world)) == (2, [200])
    assert is_whole(reply, stream=stream)
    assert (reply.action, world.sent.messages) == ("recovered", rows)
    assert 500 < world.sent.fields["max_tokens"] < 6_000


async def test_a_cap_is_kept_from_then_on(world_factory: Any) -> None:
    """
    A short request, far below every bound, is spared the refusal as well.
    """
    world = await world_factory(blind=True, sim={"max_output": 1_000})
    await world.chat(ROWS[:4], max_tokens=5_000)
    first = statuses(world)
    await world.chat([user("hello")], max_tokens=5_000)

    assert (first, statuses(world)) == ([400, 200], [200])
    assert world.sent.fields["max_tokens"] == 1_000


@pytest.mark.parametrize("clamps", [True, False])
async def test_a_configured_cap_spares_the_first_refusal(world_factory: Any, clamps: bool) -> None:
    """
    Of a short request as well; only where lowering ``max_tokens`` is allowed.
    """
    models = {"other-*": {"max_output": 10}, "sim-*": {"max_output": 1_000}}
    world = await world_factory(sim={"max_output": 1_000}, models=models, recovery={"clamp_max_tokens": clamps})
    await world.chat([user("hello")], max_tokens=5_000)
    met = (statuses(world), world.sent.fields["max_tokens"])
    await world.chat([user("hello")], max_tokens=900)

    assert met == (([200], 1_000) if clamps else ([400], 5_000))
    assert world.sent.fields["max_tokens"] == 900


async def test_what_fits_stays_byte_for_byte(world_factory: Any) -> None:
    """
    A lesson about large outputs changes no request that asks for little.
    """
    world = await world_factory(blind=True, sim={"max_output": 1_000})
    await world.chat(ROWS[:4], max_tokens=5_000)
    body = b'{ "model":"sim-model", "max_tokens": 900,"messages":[{"role":"user","content":"hello"}] }'
    await world.proxied.session.post(world.proxied.url + "/chat/completions", data=body)

    assert world.upstream.main_calls[-1].body == body


async def test_clamping_off_learns_to_leave_it_alone(world_factory: Any) -> None:
    """
    With clamp_max_tokens off max_tokens is the client's.
    """
    world = await world_factory(blind=True, sim={"max_output": 1_000}, recovery={"clamp_max_tokens": False})
    await world.chat(ROWS[:4], max_tokens=5_000)
    reply = await world.chat(ROWS[:4], max_tokens=5_000)

    assert (reply.status, statuses(world), world.sent.fields["max_tokens"]) == (400, [400], 5_000)


async def test_thinking_keeps_its_budget(world_factory: Any) -> None:
    """
    max_tokens must stay above the thinking budget, so that a cap below it passes.
    """
    world = await world_factory(blind=True, sim={"max_output": 1_000})
    reply = await world.chat(ROWS[:4], max_tokens=5_000, thinking={"type": "enabled", "budget_tokens": 2_000})

    assert (reply.status, statuses(world)) == (400, [400])


@STREAMS
async def test_output_tokens_per_minute(world_factory: Any, stream: bool) -> None:
    """
    More output asked for than a minute allows: waiting never helps, asking for less does, and the rows stay.
    """
    world = await world_factory(blind=True, sim={"window": None})
    world.upstream.will(raw(429, (("Retry-After", "7"),), OTPM))
    reply = await world.chat(ROWS, max_tokens=20_000, stream=stream)

    assert is_whole(reply, stream=stream)
    assert (world.sent.fields["max_tokens"], world.sent.messages) == (8_000, ROWS)


@pytest.mark.parametrize("asked", [{}, {"max_tokens": 2_000}])
async def test_a_used_up_minute_passes(world_factory: Any, asked: dict[str, int]) -> None:
    """
    Where less was asked for than the minute allows, the 429 is the client's, with its Retry-After.
    """
    world = await world_factory(blind=True, sim={"window": None})
    world.upstream.will(repeat(4, raw(429, (("Retry-After", "7"),), OTPM)))
    reply = await world.chat(ROWS, **asked)

    assert (reply.status, reply.body, reply.headers["retry-after"], len(world.calls)) == (429, OTPM, "7", 1)
