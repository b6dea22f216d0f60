"""
What the x-concertina-* headers say, and where they go.
"""

from typing import Any

import pytest

from proxy.simulator.steps import overflow, repeat
from tests.support.conversations import assistant, chat_session, user
from tests.support.worlds import WINDOW

BIG = chat_session(16)
SMALL = chat_session(2)
OURS = "x-concertina-"


def ours(reply: Any) -> dict[str, str]:
    """
    Return our own response headers.
    """
    return {name.lower(): value for name, value in reply.headers.items() if name.lower().startswith(OURS)}


def tokens(reply: Any) -> dict[str, int]:
    """
    Return the numbers of the token header.
    """
    return {name: int(value) for name, _, value in (p.partition("=") for p in ours(reply)[OURS + "tokens"].split(";"))}


async def test_a_small_request_tells_its_action_and_id_alone(world_factory: Any) -> None:
    """
    Where nothing was counted no number stands, above all no bound.
    """
    world = await world_factory(blind=True)
    reply = await world.chat(SMALL)

    assert ours(reply).keys() == {OURS + "action", OURS + "id"}
    assert reply.action == "passthrough"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_compaction_tells_sizes_record_and_depth(world_factory: Any, stream: bool) -> None:
    """
    Before, after, window; the record's key and how many folds it is.
    """
    world = await world_factory()
    reply = await world.chat(BIG, stream=stream)

    found, told = ours(reply), tokens(reply)
    assert (found[OURS + "action"], found[OURS + "depth"]) == ("compacted", "1")
    assert len(found[OURS + "record"]) == 32
    assert told["window"] == WINDOW
    assert told["after"] < told["before"] / 2
    assert OURS + "attempts" not in found


async def test_counted_tokens_are_near_the_upstreams_own(world_factory: Any) -> None:
    """
    Once the upstream's usage is known, the numbers are the model's within a few percent.
    """
    world = await world_factory(sim={"token_ratio": 1.5, "window": None})
    observe = {"x-concertina-mode": "observe"}
    for length in (10, 12, 14):
        reply = await world.chat(BIG[:length], headers=observe)

    assert tokens(reply)["before"] == pytest.approx(world.sent.prompt_tokens, rel=0.1)


async def test_the_next_request_says_reused(world_factory: Any) -> None:
    """
    The same record, the same depth.
    """
    world = await world_factory()
    first = await world.chat(BIG)
    second = await world.chat([*BIG, assistant("ok"), user("next")])

    assert ours(second)[OURS + "action"] == "reused"
    assert ours(second)[OURS + "record"] == ours(first)[OURS + "record"]


async def test_a_recovery_tells_its_attempts(world_factory: Any) -> None:
    """
    Two calls were needed.
    """
    world = await world_factory(blind=True)
    reply = await world.chat(BIG)

    assert (ours(reply)[OURS + "action"], ours(reply)[OURS + "attempts"]) == ("recovered", "2")


async def test_giving_up_is_told(world_factory: Any) -> None:
    """
    The last word is ours, and marked so.
    """
    world = await world_factory(blind=True, sim={"window": None})
    world.upstream.will(repeat(5, overflow(wording="bare")))
    reply = await world.chat(BIG)

    assert ours(reply)[OURS + "action"] == "gave-up"


async def test_depth_two_is_disclosed(world_factory: Any) -> None:
    """
    Folded twice: details may be lost, and the client is told.
    """
    world = await world_factory()
    await world.chat(chat_session(14))
    reply = await world.chat(chat_session(34))

    assert ours(reply)[OURS + "depth"] == "2"
    assert "compacted 2 times" in ours(reply)[OURS + "warning"]


@pytest.mark.parametrize("rows", [SMALL, BIG], ids=["small", "big"])
async def test_disclose_false_hides_all(world_factory: Any, rows: Any) -> None:
    """
    Not one header of ours; all of the upstream's.
    """
    world = await world_factory(disclose=False)
    reply = await world.chat(rows)

    assert (reply.status, ours(reply)) == (200, {})
    assert reply.headers["openai-processing-ms"] == "7"


async def test_upstream_headers_pass_beside_ours(world_factory: Any) -> None:
    """
    x-request-id, rate limits and processing time keep their names.
    """
    world = await world_factory()
    reply = await world.chat(BIG)

    assert reply.headers["x-ratelimit-remaining-requests"] == "9999"
    assert reply.headers["x-request-id"].startswith("req-sim-")


@pytest.mark.parametrize("mode", ["off", "observe", "compact"])
async def test_our_request_headers_never_reach_the_upstream(world_factory: Any, mode: str) -> None:
    """
    Neither the main call nor the summariser's carries them.
    """
    world = await world_factory()
    asked = {
        "x-concertina-mode": mode,
        "x-concertina-focus": "parser",
        "x-concertina-session": "s-1",
        "X-Concertina-Force": "true",
        "x-concertina-key": "k",
        "x-concertina-new": "one day",
    }
    await world.chat(chat_session(9), headers=asked)

    seen = [name for call in world.upstream.received for name, _ in call.headers if name.lower().startswith(OURS)]
    assert seen == []


async def test_the_clients_headers_reach_the_upstream(world_factory: Any) -> None:
    """
    A rewritten request carries what the client sent, with the length of the new body.
    """
    world = await world_factory()
    sent = {"authorization": "Bearer mine", "x-title": "app", "traceparent": "00-a-b-01", "openai-organization": "org"}
    await world.chat(BIG, headers=sent)

    assert {name: world.sent.header(name) for name in sent} == sent
    assert world.sent.header("content-length") == str(len(world.sent.body))
