import asyncio

import pytest

from proxy.upstream.discovery import MOST_AT_ONCE, Page, Times, WindowDiscovery
from proxy.upstream.settings import UpstreamSettings
from tests.support.edge import RawUpstream, plain

LISTED = b'{"data":[{"id":"m","max_model_len":4096}]}'
PROPS = b'{"default_generation_settings":{"n_ctx":2048}}'
SHOWN = b'{"parameters":"num_ctx 1024"}'
COULD = b'{"model_info":{"llama.context_length":131072}}'
LOADED = b'{"models":[{"name":"m:latest","context_length":4096}]}'
STUDIO = b'{"data":[{"id":"m","loaded_context_length":8192,"max_context_length":131072}]}'


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
            {"up": up},
            spawn=self.background.append,
            clock=lambda: self.now,
            client_keys=("ours",),
            times=Times(ttl=100, retry=10, recheck=5),
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
        ({"/v1/models": b'{"data":[{"id":"m"}]}', "/api/v0/models": STUDIO}, 8192),
        ({"/api/ps": LOADED, "/api/show": COULD}, 4096),
        ({"/api/ps": b'{"models":[{"name":"other","context_length":9999}]}', "/api/show": COULD}, 131072),
        ({"/v1/models": b"<html>"}, None),
        ({}, None),
    ],
)
async def test_asks_where_servers_state_their_window(world, pages, window):
    """
    The list of models, then LM Studio, llama.cpp, Ollama; a server that says nothing is no fault.
    """
    world.pages = pages
    discovery = await world.start()
    page = await discovery.probe("up", "m")

    assert (page.window if page else None) == window


async def test_tells_people_what_every_page_said(world):
    """
    A window that is not found has a reason that can be seen.
    """
    world.pages = {"/v1/models": b'{"data":[{"id":"m"},{"id":"n"}]}', "/props": PROPS, "/api/show": COULD}
    discovery = await world.start()

    assert await discovery.pages("up", "m") == (
        Page("/v1/models", 200, models=("m", "n")),
        Page("/api/v0/models", 404),
        Page("/props", 200, 2048),
        Page("/api/ps", 404),
        Page("/api/show", 200, 131072, served=False),
    )


async def test_asks_no_page_where_it_is_switched_off(world):
    """
    ``discover: false`` holds for people too.
    """
    discovery = await world.start(discover=False)

    assert await discovery.pages("up", "m") == ()


async def test_answers_at_once_and_asks_in_the_background(world):
    """
    Without patience the first request does not wait; the second knows.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    first = await discovery.window("up", "m")
    await world.settle()

    assert (first, await discovery.window("up", "m"), world.background) == (None, 4096, [])


async def test_a_patient_request_gets_the_first_answer(world):
    """
    A server on the same machine answers within milliseconds, and its window may be small.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    waiting = asyncio.ensure_future(discovery.window("up", "m", patience=30))
    await asyncio.sleep(0)
    await world.settle()

    assert await waiting == 4096


async def test_patience_ends_after_its_time(world):
    """
    A server that takes its time delays nobody: requests that come later wait what is left of it, or not at all.
    """
    discovery = await world.start()
    first = await discovery.window("up", "m", patience=0.01)
    world.now = 0.01
    second = await asyncio.wait_for(discovery.window("up", "m", patience=0.01), 5)

    assert (first, second, len(world.background)) == (None, None, 1)


async def test_nobody_waits_for_a_server_that_has_said_nothing(world):
    """
    After one silence the question is asked in the background alone.
    """
    discovery = await world.start()
    await discovery.window("up", "m")
    await world.settle()
    world.now = 11

    found = await asyncio.wait_for(discovery.window("up", "m", patience=3600), 5)

    assert (found, len(world.background)) == (None, 1)


async def test_a_window_that_may_not_be_served_is_looked_up_again_soon(world):
    """
    Ollama tells what it serves only once the model is loaded, which the first request brings about.
    """
    world.pages = {"/api/show": COULD}
    discovery = await world.start()
    await discovery.window("up", "m")
    await world.settle()
    before = await discovery.window("up", "m")
    world.pages["/api/ps"] = LOADED
    world.now = 6
    waiting = asyncio.ensure_future(discovery.window("up", "m", patience=30))
    await asyncio.sleep(0)
    await world.settle()

    assert (before, await waiting) == (131072, 4096)


async def test_a_client_that_makes_up_names_cannot_flood_an_upstream_with_questions(world):
    """
    A bounded number of questions runs at once; who came too late is heard at a later request.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()

    for number in range(100):
        assert await discovery.window("up", f"made-up-{number}") is None
    assert await discovery.window("up", "m", patience=5) is None
    asked = len(world.background)
    await world.settle()
    await discovery.window("up", "m")
    await world.settle()

    assert asked == MOST_AT_ONCE
    assert await discovery.window("up", "m") == 4096


async def test_a_page_without_end_is_not_gathered(world):
    """
    What is larger than any list of models is given up, and the next page is asked.
    """
    world.pages = {"/v1/models": b" " * (17 * 1024 * 1024) + LISTED, "/props": PROPS}
    discovery = await world.start()
    await discovery.window("up", "m")
    await world.settle()

    assert await discovery.window("up", "m") == 2048


async def test_asks_once_for_many_requests(world):
    """
    A burst of requests is one question.
    """
    discovery = await world.start()
    for _ in range(5):
        await discovery.window("up", "m")

    assert len(world.background) == 1


async def test_asks_again_when_the_answer_is_old(world):
    """
    A server may be restarted with another window; until it answers the old one stands.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    await discovery.window("up", "m")
    await world.settle()
    world.now, world.pages = 101, {}
    during = await discovery.window("up", "m")
    await world.settle()

    assert (during, await discovery.window("up", "m")) == (4096, 4096)


async def test_keeps_what_one_key_sees_from_another(world):
    """
    Accounts differ in what they may use.
    """
    world.pages = {"/v1/models": LISTED}
    discovery = await world.start()
    await discovery.window("up", "m", (("Authorization", "Bearer a"),))
    await world.settle()

    assert await discovery.window("up", "m", (("Authorization", "Bearer b"),)) is None


async def test_shows_the_clients_key_to_the_list_of_models_alone(world):
    """
    Pages that need no key get none.
    """
    discovery = await world.start()
    await discovery.probe("up", "m", (("Authorization", "Bearer theirs"),))

    keys = {request.target: request.header("authorization") for request in world.upstream.received}
    assert keys.pop("/v1/models") == "Bearer theirs"
    assert set(keys) == {"/api/v0/models", "/props", "/api/ps", "/api/show"}
    assert set(keys.values()) == {None}


async def test_keys_that_open_the_proxy_reach_no_upstream(world):
    """
    A key of ours is nothing to a server, and none of its business.
    """
    discovery = await world.start(api_keys=("lent",))
    await discovery.probe("up", "m", (("Authorization", "Bearer ours"),))

    assert {request.header("authorization") for request in world.upstream.received} == {"Bearer lent"}


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

    assert (await discovery.window("up", "m"), world.background) == (None, [])
