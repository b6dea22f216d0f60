import asyncio

import pytest

from proxy.upstream.discovery import WindowDiscovery
from proxy.upstream.settings import UpstreamSettings
from tests.support.edge import RawUpstream, plain

LISTED = b'{"data":[{"id":"m","max_model_len":4096}]}'
PROPS = b'{"default_generation_settings":{"n_ctx":2048}}'
SHOWN = b'{"parameters":"num_ctx 1024"}'


class World:
    """
    A discovery whose clock and background are in the test's hands.
    """

    def __init__(self, pages):
        self.pages = pages
        self.now = 0.0
        self.background = []
        self.upstream = RawUpstream(self.answer)

    async def answer(self, request, reader, writer):
        page = self.pages.get(request.target)
        await plain(page or b"{}", status="200 OK" if page else "404 Not Found")(request, reader, writer)

    async def start(self, **settings):
        await self.upstream.start()
        up = UpstreamSettings(base_url=f"http://127.0.0.1:{self.upstream.port}/v1", **settings)
        self.discovery = WindowDiscovery(
            {"up": up}, spawn=self.background.append, clock=lambda: self.now, ttl=100, retry=10
        )
        return self.discovery

    async def settle(self):
        waiting, self.background[:] = list(self.background), []
        await asyncio.gather(*waiting)

    async def close(self):
        for coroutine in self.background:
            coroutine.close()
        await self.discovery.close()
        await self.upstream.stop()


@pytest.fixture
async def world():
    made = World({})
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        ({"/v1/models": LISTED, "/props": PROPS}, 4096),
        ({"/v1/models": b'{"data":[]}', "/props": PROPS}, 2048),
        ({"/api/show": SHOWN}, 1024),
        ({"/v1/models": b"<html>"}, None),
        ({}, None),
    ],
)
async def test_asks_where_servers_state_their_window(world, pages, window):
    """
    The list of models, then llama.cpp, then Ollama; a server that says nothing is no fault.
    """
    world.pages = pages
    discovery = await world.start()

    assert await discovery.probe("up", "m") == window


async def test_answers_at_once_and_asks_in_the_background(world):
    """
    The first request does not wait; the second knows.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    first = discovery.window("up", "m")
    await world.settle()

    assert (first, discovery.window("up", "m"), world.background) == (None, 4096, [])


async def test_asks_once_for_many_requests(world):
    """
    A burst of requests is one question.
    """
    discovery = await world.start()
    for _ in range(5):
        discovery.window("up", "m")

    assert len(world.background) == 1


async def test_asks_again_when_the_answer_is_old(world):
    """
    A server may be restarted with another window; until it answers the old one stands.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    discovery.window("up", "m")
    await world.settle()
    world.now, world.pages = 101, {}
    during = discovery.window("up", "m")
    await world.settle()

    assert (during, discovery.window("up", "m")) == (4096, 4096)


async def test_keeps_what_one_key_sees_from_another(world):
    """
    Accounts differ in what they may use.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    discovery.window("up", "m", (("Authorization", "Bearer a"),))
    await world.settle()

    assert discovery.window("up", "m", (("Authorization", "Bearer b"),)) is None


async def test_shows_the_clients_key_to_the_list_of_models_alone(world):
    """
    Pages that need no key get none.
    """
    discovery = await world.start()
    await discovery.probe("up", "m", (("Authorization", "Bearer theirs"),))

    keys = {request.target: request.header("authorization") for request in world.upstream.received}
    assert keys == {"/v1/models": "Bearer theirs", "/props": None, "/api/show": None}


async def test_never_raises(world):
    """
    A server that is down is a server that says nothing.
    """
    discovery = await world.start()
    await world.upstream.stop()
    found = await discovery.probe("up", "m")
    await world.upstream.start()

    assert found is None


async def test_does_not_ask_where_it_is_switched_off(world):
    """
    ``discover: false`` keeps strange paths off a server.
    """
    discovery = await world.start(discover=False)

    assert (discovery.window("up", "m"), world.background) == (None, [])
