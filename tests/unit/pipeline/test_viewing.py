"""
The one parse of a body, and what is remembered of it.
"""

import asyncio
import json

import pytest

from proxy.pipeline.directives import read_directives
from proxy.pipeline.exchange import Exchange, Party
from proxy.pipeline.settings import RouteSettings
from proxy.pipeline.viewing import OFF_LOOP_BYTES, Viewer
from proxy.upstream.wire import Incoming


def body(rows: int, *, size: int = 3_000, last: str = "") -> bytes:
    history = [{"role": "system", "content": "One prompt for all. " * 100}]
    history += [{"role": "user", "content": f"{each} " + "x" * size} for each in range(rows)]
    return json.dumps({"model": "m", "messages": [*history, {"role": "user", "content": last}]}).encode()


def views(viewer: Viewer, *calls: tuple[bytes, str]):
    async def all_of_them():
        return [await viewer.view(raw, whose=whose) for raw, whose in calls]

    found = asyncio.run(all_of_them())
    assert all(view is not None and view.data == json.loads(raw) for view, (raw, _) in zip(found, calls, strict=True))
    return found


def test_a_turn_is_made_from_the_one_before() -> None:
    """
    However much is new in it, in this thread or in another.
    """
    viewer = Viewer(200, recent_bytes=1 << 24)
    first, second, third = views(viewer, (body(20), "me"), (body(22), "me"), (body(200, last="z"), "me"))

    assert first.inherited is None
    assert second.new_bytes < 10_000
    assert OFF_LOOP_BYTES < third.new_bytes < len(third.body)
    assert third.messages[5] is first.messages[5]


def test_another_sender_finds_nothing() -> None:
    """
    Nor does one who is nobody, nor anybody where nothing is to be remembered.
    """
    for viewer, whose in ((Viewer(200, recent_bytes=1 << 24), "you"), (Viewer(200), "me")):
        _, other, nobody = views(viewer, (body(20), "me"), (body(22), whose), (body(22), ""))
        assert other.inherited is None
        assert nobody.inherited is None


def test_one_that_forgets_looks_as_deep() -> None:
    """
    What is nested too deeply is not looked into, whether it goes on from something or not.
    """
    viewer = Viewer(20, recent_bytes=1 << 24)
    deep = body(20)[:-2] + b', {"role": "user", "content": ' + b"[" * 30 + b"]" * 30 + b"}]}"
    json.loads(deep)
    views(viewer, (body(20), "me"))

    assert asyncio.run(viewer.view(deep, whose="me")) is None
    assert asyncio.run(viewer.forgetful().view(deep)) is None
    views(viewer.forgetful(), (body(20), "me"), (body(22), "me"))


class Counting(Viewer):
    """
    Counts the looks at whole bodies.
    """

    looks = 0

    async def view(self, body: bytes, *, whose: str = ""):
        self.looks += 1
        return await super().view(body, whose=whose)


@pytest.mark.parametrize("raw", [b"{", b'{"model": "m", "messages": "none"}', body(1)])
async def test_a_body_is_viewed_once_whatever_came_of_it(raw: bytes) -> None:
    """
    One that nobody understood was parsed anew by each step that asked.
    """
    viewer = Counting()
    exchange = Exchange(
        incoming=Incoming("POST", "/v1/chat/completions", (), raw),
        route=RouteSettings(name="r", upstream="u"),
        directives=read_directives({}),
        party=Party("u", "t", "c"),
        started=0.0,
        viewer=viewer,
    )
    found = [await exchange.viewed() for _ in range(3)]

    assert [view is None for view in found] == [raw != body(1)] * 3
    assert await exchange.continues() is (raw == body(1))
    assert viewer.looks == 1
