"""
Bodies that are large for their images alone pass without being parsed, and lose none of the proxy's services.
"""

from typing import Any

import pytest

from proxy.chat.json import dumps
from tests.support.conversations import assistant, chat_session, user

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 200_000}}
ASK = {"role": "user", "content": [{"type": "text", "text": "what is it?"}, PICTURE]}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_question_with_a_large_picture_passes(world_factory: Any, stream: bool) -> None:
    """
    Byte for byte, and the log knows its model.
    """
    world = await world_factory(
        sim={"window": None}, upstream={"context_window": 128_000}, compaction={"threshold_tokens": None}
    )
    body = dumps({"model": "sim-model", "messages": [ASK], "stream": stream})
    reply = await world.post(body)

    assert (reply.status, reply.action, world.sent.body == body) == (200, "passthrough", True)


async def test_a_long_history_with_a_large_picture_is_still_compacted(world_factory: Any) -> None:
    """
    The text beside the picture is what counts.
    """
    world = await world_factory()
    reply = await world.chat([*chat_session(13), assistant("ok"), ASK])

    assert (reply.status, reply.action) == (200, "compacted")
    assert world.sent.messages[-1]["content"][-1] == PICTURE


async def test_many_pictures_are_still_weighed(world_factory: Any) -> None:
    """
    Each costs tokens, so that many of them are no small request.
    """
    world = await world_factory(sim={"strict": False, "window": None})
    rows = [row for number in range(6) for row in (ASK, assistant(f"a cat, {number}"))]
    reply = await world.chat([*rows, user("and which was the first?")])

    assert (reply.status, reply.action) == (200, "compacted")
    assert dumps(world.sent.messages).count(b";base64,") < 6


async def test_a_refused_large_picture_is_recovered(world_factory: Any) -> None:
    """
    What was not parsed is parsed once it matters.
    """
    world = await world_factory(blind=True)
    reply = await world.chat([*chat_session(13), assistant("ok"), ASK])

    assert (reply.status, reply.action) == (200, "recovered")
