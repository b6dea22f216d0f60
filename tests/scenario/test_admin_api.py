"""
The admin port over a running proxy: what it tells, and what it sets going.
"""

import asyncio
import socket
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from proxy.admin.listen import AdminListening
from proxy.admin.settings import DEFAULT_LISTEN, AdminSettings
from proxy.chat.json import loads
from proxy.simulator.steps import status, when
from tests.support.conversations import chat_session

OVER = chat_session(9)
BIG = chat_session(12)
SMALL = chat_session(2)
HALF = chat_session(6)


async def followed(url: str, session: Any, count: int, started: asyncio.Event) -> list[Any]:
    """
    Return the first *count* events of the stream.
    """
    events = []
    async with session.get(url + "/api/events") as response:
        assert response.headers["content-type"] == "text/event-stream"
        async for line in response.content:
            started.set()
            if line.startswith(b"data: "):
                events.append(loads(line[6:]))
            if len(events) == count:
                return events
    return events


async def test_metrics_are_served_as_prometheus_text(world_factory: Any, admin_factory: Any) -> None:
    """
    What was counted is scraped, under the documented names.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(OVER)
    told = await admin.ask("/metrics")

    families = {family.name: family for family in text_string_to_metric_families(told.body.decode())}
    samples = families["concertina_requests"].samples
    assert told.headers["content-type"].startswith("text/plain")
    assert [(s.labels, s.value) for s in samples if s.name.endswith("_total")] == [
        ({"route": "default", "action": "compacted"}, 1.0)
    ]


async def test_every_exchange_is_found_by_any_of_its_ids(world_factory: Any, admin_factory: Any) -> None:
    """
    By ours, which the client reads in a header, by the client's own, and by the upstream's.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    reply = await world.chat(OVER, headers={"x-request-id": "client-7"})
    listed = (await admin.get("/api/exchanges"))["exchanges"]

    own, theirs = reply.headers["x-concertina-id"], reply.headers.get("x-request-id")
    assert [event["id"] for event in listed] == [own]
    assert (listed[0]["action"], listed[0]["model"], listed[0]["status"]) == ("compacted", "sim-model", 200)
    for name in (own, "client-7", *([theirs] if theirs else [])):
        assert (await admin.get(f"/api/exchanges/{name}"))["id"] == own
    assert (await admin.ask("/api/exchanges/never")).status == 404


async def test_a_client_id_that_could_be_text_is_not_told(world_factory: Any, admin_factory: Any) -> None:
    """
    A header may hold anything; what is no plain id reaches neither log nor journal.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(SMALL, headers={"x-request-id": "my secret words"})

    assert b"secret" not in (await admin.ask("/api/exchanges")).body


async def test_exchanges_are_followed_live(world_factory: Any, admin_factory: Any) -> None:
    """
    Each event comes as its exchange ends.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    started = asyncio.Event()
    following = asyncio.ensure_future(followed(admin.url, admin.session, 2, started))
    await asyncio.wait_for(started.wait(), 10)
    await world.chat(OVER)
    await world.chat(SMALL)
    events = await asyncio.wait_for(following, 10)

    assert [event["action"] for event in events] == ["compacted", "passthrough"]


async def test_an_exchange_whose_upstream_is_down_is_told(proxy_factory: Any, admin_factory: Any) -> None:
    """
    An exchange without an answer is an exchange.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxied = await proxy_factory(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        admin = await admin_factory(proxied.proxy.admin)
        reply = await proxied.chat(SMALL)

    events = (await admin.get("/api/exchanges"))["exchanges"]
    assert reply.status == 502
    assert [(event["ended"], event["status"]) for event in events] == [("upstream-failed", 0)]


async def test_sessions_show_their_lineage_and_can_be_dropped(world_factory: Any, admin_factory: Any) -> None:
    """
    A compaction begins a session; dropping its record costs a summary and nothing else.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    reply = await world.chat(BIG)
    record = reply.headers["x-concertina-record"]
    sessions = (await admin.get("/api/sessions"))["sessions"]
    shown = await admin.get(f"/api/sessions/{record}")

    assert [session["id"] for session in sessions] == [record]
    assert [session["id"] for session in shown["lineage"]] == [record]
    assert [event["record"] for event in shown["exchanges"]] == [record]
    assert (await admin.ask(f"/api/sessions/{record}", method="DELETE")).status == 200
    assert (await admin.ask(f"/api/sessions/{record}", method="DELETE")).status == 404
    assert (await admin.get("/api/sessions"))["sessions"] == []
    assert (await world.chat(BIG)).action == "compacted"


@pytest.mark.parametrize("by", ["session", "exchange"])
async def test_a_marked_conversation_is_compacted_at_its_next_request(
    world_factory: Any, admin_factory: Any, by: str
) -> None:
    """
    Once, though it is far below the threshold, and not a second time.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    first = await world.chat(OVER)
    grown = [*OVER, {"role": "assistant", "content": "Done."}, *chat_session(4)[1:]]
    target = first.headers["x-concertina-record" if by == "session" else "x-concertina-id"]
    told = await admin.ask("/api/compact", method="POST", data={by: target})
    marked, after = await world.chat(grown), await world.chat(grown)

    assert told.status == 202
    assert [first.action, marked.action, after.action] == ["compacted", "compacted", "reused"]
    assert marked.headers["x-concertina-record"] != first.headers["x-concertina-record"]


async def test_a_conversation_that_was_never_compacted_can_be_marked(world_factory: Any, admin_factory: Any) -> None:
    """
    By any exchange that was measured.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    first = await world.chat(HALF)
    await admin.ask("/api/compact", method="POST", data={"exchange": first.headers["x-concertina-id"]})
    grown = [*HALF, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Go on."}]

    assert (first.action, (await world.chat(grown)).action) == ("passthrough", "compacted")


@pytest.mark.parametrize("data", [{}, {"session": 7}, b"no json", {"session": "never"}])
async def test_a_mark_without_a_conversation_is_refused(world_factory: Any, admin_factory: Any, data: Any) -> None:
    """
    Rather than waiting for a request that never comes.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)

    assert (await admin.ask("/api/compact", method="POST", data=data)).status in {400, 404}


async def test_windows_tell_where_they_come_from(world_factory: Any, admin_factory: Any) -> None:
    """
    With the token ratio that usage taught.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(OVER)
    (row,) = (await admin.get("/api/windows"))["windows"]

    assert (row["upstream"], row["model"], row["source"], row["samples"]) == ("sim", "sim-model", "config", 1)
    assert row["window"] == 8_000


async def test_stats_sum_up(world_factory: Any, admin_factory: Any) -> None:
    """
    By what was done, with the store and refusals.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    await world.chat(OVER)
    await world.chat(SMALL)
    stats = await admin.get("/api/stats")

    assert stats["actions"] == {"compacted": 1, "passthrough": 1}
    assert [(store["kind"], store["healthy"]) for store in stats["stores"]] == [("memory", True)]


@pytest.mark.parametrize(("fails", "calls", "fault"), [(False, 1, ""), (True, 1, "status 500")])
async def test_the_health_of_summarisers_is_told(
    world_factory: Any, admin_factory: Any, fails: bool, calls: int, fault: str
) -> None:
    """
    By route, upstream and model; a failure stays to be seen though the request was answered without it.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    if fails:
        world.upstream.will(when(status(500), summary=True))
    reply = await world.chat(BIG)
    writer = (await admin.get("/api/stats"))["summaries"]["writers"]["default"]["sim / sim-model"]

    assert reply.status == 200
    assert (writer["calls"], writer["failures"], writer["last_fault"]) == (calls, int(fails), fault)
    assert (writer["last_fault_at"] > writer["last_at"]) is fails


async def test_nothing_of_a_conversation_leaves_by_the_admin_port(world_factory: Any, admin_factory: Any) -> None:
    """
    Neither keys nor message texts: not in events, sessions, statistics or metrics.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    secret = "zanzibar-4711"
    rows = [*OVER[:-1], {"role": "user", "content": f"Remember {secret}."}]
    reply = await world.chat(rows, headers={"authorization": f"Bearer sk-{secret}"})
    paths = ["/metrics", "/api/stats", "/api/windows", "/api/exchanges", "/api/sessions"]
    told = [await admin.ask(path) for path in (*paths, f"/api/sessions/{reply.headers['x-concertina-record']}")]

    assert {each.status for each in told} == {200}
    assert [each.body for each in told if secret.encode() in each.body] == []


async def test_streams_end_when_the_port_closes(world_factory: Any) -> None:
    """
    A browser that follows does not hold the process.
    """
    world = await world_factory()
    listening = AdminListening(world.proxied.proxy.admin, AdminSettings(listen="127.0.0.1:0"))
    host, port = await listening.start() or ("", 0)
    async with world.proxied.session.get(f"http://{host}:{port}/api/events") as response:
        await response.content.readline()
        await asyncio.wait_for(listening.stop(), 10)


async def test_a_taken_port_stops_only_those_who_chose_it(world_factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Two proxies on one machine both want the default; the second serves without an admin port and says so.
    """
    world = await world_factory()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OSError, match="in use"):
            await AdminListening(world.proxied.proxy.admin, AdminSettings(listen=address)).start()
        monkeypatch.setattr("proxy.admin.listen.DEFAULT_LISTEN", address)

        assert await AdminListening(world.proxied.proxy.admin, AdminSettings(listen=address)).start() is None
    assert AdminSettings().listen == DEFAULT_LISTEN


async def test_null_switches_it_off(world_factory: Any) -> None:
    """
    No port at all.
    """
    world = await world_factory()

    assert await AdminListening(world.proxied.proxy.admin, AdminSettings(listen=None)).start() is None


async def test_views_are_not_kept_unless_switched_on(world_factory: Any, admin_factory: Any) -> None:
    """
    They hold texts.
    """
    world = await world_factory()
    admin = await admin_factory(world.proxied.proxy.admin)
    reply = await world.chat(OVER)
    record = reply.headers["x-concertina-record"]

    assert (await admin.get(f"/api/exchanges/{reply.headers['x-concertina-id']}"))["view"] is False
    assert (await admin.get(f"/api/sessions/{record}"))["view"] is False
    assert (await admin.ask(f"/api/sessions/{record}/view")).status == 404


async def test_a_view_shows_what_went_in_and_what_was_sent(world_factory: Any, admin_factory: Any) -> None:
    """
    The very rows, with what became of each; secrets are masked.
    """
    world = await world_factory(store={"url": "memory://", "keep_views": True})
    admin = await admin_factory(world.proxied.proxy.admin)
    rows = [*BIG[:-1], {"role": "user", "content": "Use AKIAIOSFODNN7EXAMPLE for it."}]
    reply = await world.chat(rows)
    record = reply.headers["x-concertina-record"]
    view = await admin.get(f"/api/sessions/{record}/view")

    assert (await admin.get(f"/api/exchanges/{reply.headers['x-concertina-id']}"))["view"] is True
    assert (await admin.get(f"/api/sessions/{record}"))["view"] is True
    assert [row["role"] for row in view["before"]] == [row["role"] for row in rows]
    assert [row["role"] for row in view["after"]] == [row["role"] for row in world.sent.messages]
    assert {"", "folded"} <= {row["change"] for row in view["before"]}
    assert sum(row["change"] == "summary" for row in view["after"]) == 1
    assert view["before"][0]["text"] == rows[0]["content"].strip()
    assert "AKIAIOSFODNN7EXAMPLE" not in str(view)
