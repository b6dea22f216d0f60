"""
SIGHUP: the settings are read again, all or nothing, and no exchange notices.
"""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest
import yaml

from proxy.chat.json import dumps, loads
from proxy.reloading import Reloading, Written
from proxy.simulator.steps import answer
from proxy.wiring import renew
from tests.support.certificates import made_in
from tests.support.conversations import agent_session, user
from tests.support.proxied import ProxyFactory
from tests.support.reached import reached

SECRET = "sk-secret-of-the-test"
HELLO = {"model": "sim-model", "messages": [user("hello")]}
EXTRACTIVE = {"summarizer": {"kind": "extractive"}, "prepare_at": None}


def changed(proxied: Any, **changes: Any) -> Any:
    """
    Return a running proxy's settings with changes at the top level.
    """
    settings = proxied.proxy.settings
    raw = settings.model_dump(mode="python", exclude_defaults=True)
    return type(settings).model_validate({**raw, "routes": (), **changes})


async def test_new_requests_go_by_the_new_settings_and_running_ones_by_the_old(
    proxy_factory: ProxyFactory, upstream_factory: Any
) -> None:
    """
    A stream that began at the old upstream ends there, whole; the next request meets the new one.
    """
    old = await upstream_factory(chunk_delay_seconds=0.05)
    new = await upstream_factory()
    proxied = await proxy_factory(old.url, compaction=EXTRACTIVE)
    old.will(answer("word " * 12))
    running = asyncio.ensure_future(proxied.post({**HELLO, "stream": True}))
    await old.until(lambda: old.main_calls)
    proxied.proxy = renew(proxied.proxy, changed(proxied, upstreams={"sim": {"base_url": new.url}}))
    after = await proxied.post(HELLO)
    reply = await running

    assert reply.body.endswith(b"data: [DONE]\n\n")
    assert reply.body.count(b'"content"') >= 5
    assert after.status == 200
    assert (len(old.main_calls), len(new.main_calls)) == (1, 1)


async def test_a_conversation_goes_on_byte_for_byte(proxy_factory: ProxyFactory, upstream_factory: Any) -> None:
    """
    Records and what was learned stay, so that the upstream's prompt cache keeps working.
    """
    upstream = await upstream_factory(window=16_384)
    settings = {"base_url": upstream.url, "context_window": 8_192, "discover": False}
    proxied = await proxy_factory(upstream.url, upstream=settings, compaction=EXTRACTIVE)
    rows = agent_session(40)
    first = await proxied.chat(rows)
    proxied.proxy = renew(
        proxied.proxy,
        changed(proxied, compaction={**EXTRACTIVE, "threshold_percent": 0.6}, disclose=True),
    )
    second = await proxied.chat([*rows, {"role": "assistant", "content": "done"}, user("go on")])

    assert (first.action, second.action) == ("compacted", "reused")
    assert first.headers["x-concertina-record"] == second.headers["x-concertina-record"]
    before, after = upstream.main_calls[-2].body, upstream.main_calls[-1].body
    assert after.startswith(before[: before.rindex(b"]}") - 1])


async def test_connections_outlive_a_reload(proxy_factory: ProxyFactory, upstream_factory: Any) -> None:
    """
    An upstream that stays as it is need not be greeted again.
    """
    upstream = await upstream_factory()
    proxied = await proxy_factory(upstream.url)
    await proxied.post(HELLO)
    before = _connections(proxied)
    proxied.proxy = renew(proxied.proxy, changed(proxied, compaction={"mode": "observe"}))
    await proxied.post(HELLO)

    assert _connections(proxied) == before


def _connections(proxied: Any) -> list[object]:
    (pool,) = proxied.proxy.core.client._shared.by_line.values()
    assert len(pool._all) == 1
    return list(pool._all)


async def test_authorities_are_read_again_where_no_setting_changed(
    proxy_factory: ProxyFactory, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """
    They are written anew under the same name; the proxy went by the old ones until some setting changed.
    """
    (tmp_path / "other").mkdir()
    file, _ = made_in(tmp_path / "other")
    async with reached(tls=certificate) as there:
        proxied = await proxy_factory(there.url, upstream={"ca_file": file, "discover": False})
        reload = Reloading(proxied.proxy, Written(proxied.proxy.settings))
        before = (await proxied.post(HELLO)).status
        file.write_bytes(certificate[0].read_bytes())
        reload()
        after = [(await proxied.post(HELLO)).status for _ in range(2)]
        connections = there.upstream.connections
        reload()
        await proxied.post(HELLO)

    assert (before, after) == (502, [200, 200])
    assert there.upstream.connections == connections


async def test_client_keys_can_be_changed(proxy_factory: ProxyFactory, upstream_factory: Any) -> None:
    """
    A key that was given away is closed at once.
    """
    upstream = await upstream_factory()
    proxied = await proxy_factory(upstream.url, client_keys=["old"])
    old, new = {"authorization": "Bearer old"}, {"authorization": "Bearer new"}
    before = [(await proxied.post(HELLO, headers=headers)).status for headers in (old, new)]
    proxied.proxy = renew(proxied.proxy, changed(proxied, client_keys=("new",)))
    after = [(await proxied.post(HELLO, headers=headers)).status for headers in (old, new)]

    assert (before, after) == ([200, 401], [401, 200])


class Rewritten:
    """
    The configuration file of a running process.
    """

    def __init__(self, served: Any) -> None:
        self.served = served
        self.file: Path = served.folder / "c.yaml"
        self.settings: dict[str, Any] = loads(self.file.read_bytes())

    def write(self, text: str | None = None) -> None:
        """
        Write the settings, or some other text, and tell the process.
        """
        self.file.write_text(yaml.safe_dump(self.settings) if text is None else text, "utf-8")
        os.kill(self.served.process.pid, signal.SIGHUP)

    async def action(self) -> str:
        """
        Return what is done to a small request now.
        """
        asked = Request(f"{self.served.url}/v1/chat/completions", data=dumps(HELLO))
        return await asyncio.to_thread(_action, asked)


def _action(asked: Request) -> str:
    with build_opener(ProxyHandler({})).open(asked, timeout=30) as response:
        response.read()
        return response.headers.get("x-concertina-action", "hidden")


@pytest.fixture
async def rewritten(serve_factory: Any, upstream: Any) -> Rewritten:
    """
    One process in front of the simulator.
    """
    served = await serve_factory(upstream.url)
    where = await served.event("proxy.listening")
    served.url = f"http://{where['host']}:{where['port']}"
    await served.event("admin.listening")
    rewritten = Rewritten(served)
    assert await rewritten.action() == "passthrough"
    return rewritten


@pytest.mark.slow
async def test_a_right_file_takes_effect_and_a_wrong_one_changes_nothing(rewritten: Rewritten) -> None:
    """
    The event names each mistake by file and line, what needs a restart by its name, and no secret.
    """
    rewritten.settings |= {"compaction": {"mode": "observe"}, "workers": 2, "store": {"url": "memory://"}}
    rewritten.write()
    told = await rewritten.served.event("settings.reloaded")
    held = await rewritten.served.event("settings.held_back")
    assert await rewritten.action() == "observed"

    rewritten.settings |= {"compaction": {"mode": "off"}, "client_keys": [f" {SECRET} "]}
    rewritten.write()
    rejected = await rewritten.served.event("settings.rejected")

    assert set(told["changed"]) == {"compaction", "routes"}
    assert set(held["needs_restart"]) == {"workers", "store.url"}
    assert await rewritten.action() == "observed"
    assert any(": client_keys[0]: is no key" in mistake for mistake in rejected["mistakes"])
    assert SECRET not in str(rewritten.served.events)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "a: [", "- b", "upstreams: {}"])
async def test_a_file_that_is_no_configuration_changes_nothing(rewritten: Rewritten, text: str) -> None:
    """
    Half-written files are met by whoever saves while the signal is on its way.
    """
    rewritten.write(text)
    rejected = await rewritten.served.event("settings.rejected")

    assert rejected["mistakes"]
    assert await rewritten.action() == "passthrough"


@pytest.mark.slow
async def test_every_worker_hears_of_it(two_workers: Any) -> None:
    """
    And one that is started later begins with what was read last; a mistake is told once, by the supervisor.
    """
    rewritten = Rewritten(two_workers)
    rewritten.settings["compaction"] = {"mode": "observe"}
    rewritten.write()
    async with asyncio.timeout(30):
        while sum(event["event"] == "settings.reloaded" for event in two_workers.events) < 2:
            await asyncio.sleep(0.05)
    assert {await rewritten.action() for _ in range(12)} == {"observed"}

    rewritten.write("nonsense: 1")
    await two_workers.event("settings.rejected")
    victim = (await two_workers.pids(2))[0]
    os.kill(victim, signal.SIGKILL)
    await two_workers.event("worker.died")
    async with asyncio.timeout(30):
        while victim in await two_workers.pids(2):
            await asyncio.sleep(0.05)

    assert {await rewritten.action() for _ in range(12)} == {"observed"}
    assert sum(event["event"] == "settings.rejected" for event in two_workers.events) == 1
    # The workers go before the upstream, so that no connection is cut while both are there.
    two_workers.process.send_signal(signal.SIGTERM)
    assert await two_workers.ended() == 0
