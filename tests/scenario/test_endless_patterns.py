"""
Patterns in the settings that never end on what a client or a server writes: the request is answered all the same.
"""

from typing import Any

import pytest

from proxy.simulator.steps import status
from tests.support.conversations import chat_session, user

ENDLESS, TEXT = "(a|aa)+$", "a" * 300 + "!"
LONG = chat_session(13)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [{"pin": [ENDLESS]}, {"canonicalize": [{"pattern": ENDLESS, "replacement": "b"}]}])
async def test_a_client_cannot_hold_up_the_proxy_by_what_it_writes(world_factory: Any, setting: Any) -> None:
    """
    The history is compacted, without what the pattern would have done.
    """
    world = await world_factory(compaction=setting)
    reply = await world.chat([*LONG[:3], user(TEXT), *LONG[4:]])

    assert (reply.status, reply.action) == (200, "compacted")


@pytest.mark.slow
async def test_a_server_cannot_hold_up_the_proxy_by_how_it_refuses(world_factory: Any) -> None:
    """
    The refusal is then read by the built-in rules.
    """
    world = await world_factory(recovery={"patterns": [{"regex": ENDLESS, "label": "context_overflow"}]})
    world.upstream.will(status(400, body=TEXT.encode()))
    reply = await world.chat(LONG[:4])

    assert (reply.status, reply.body) == (400, TEXT.encode())
