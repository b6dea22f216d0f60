"""
What is folded can be kept and had back; by default nothing is kept but summaries.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from proxy.chat.json import dumps, loads
from proxy.cli.main import main
from proxy.pipeline.history import History
from tests.support.conversations import assistant, chat_session, long_session, user
from tests.support.worlds import World

# By its name, since the package's attribute is the verb.
sessions = import_module("proxy.cli.sessions")
BIG = chat_session(13)
MORE = [*BIG, assistant("ok"), user("and the rest?")]
KEY = ["-H", "authorization: Bearer client-key"]


def history_of(world: World) -> History:
    """
    Return what the admin port asks.
    """
    core = world.proxied.proxy.core
    return History(core.store, clock=core.clock, ttl_seconds=1e6)


async def test_nothing_is_kept_unless_it_is_asked_for(world_factory: Any) -> None:
    """
    The store holds summaries, and no row of a client.
    """
    world = await world_factory()
    await world.chat(BIG)
    (session,) = await history_of(world).sessions()

    assert await history_of(world).originals(session.id) is None
    assert await history_of(world).view(session.id) is None
    assert len(await world.proxied.proxy.core.store.recent(9)) == 1


@pytest.mark.parametrize("prepare_at", [None, 0.7])
async def test_all_that_was_folded_comes_back(world_factory: Any, prepare_at: float | None) -> None:
    """
    Over several compactions, each of which keeps only what it folded itself.
    """
    world = await world_factory(
        store={"url": "memory://", "archive": True}, compaction={"prepare_at": prepare_at, "redact": False}
    )
    turns = long_session(36, kind="chat")
    for rows in turns:
        await world.chat(rows)
    (newest, *older) = await history_of(world).sessions()
    kept = await history_of(world).originals(newest.id)
    record = (await world.proxied.proxy.core.store.get([newest.id]))[newest.id]

    assert len(older) >= 2
    assert kept is not None
    assert (kept.begin, list(kept.rows)) == (0, turns[-1][1 : record.cut + 1])


async def test_secrets_are_masked_in_what_is_kept(world_factory: Any) -> None:
    """
    As in summaries; what passes through is never touched.
    """
    world = await world_factory(store={"url": "memory://", "archive": True, "keep_views": True})
    rows = [dict(row) for row in BIG]
    rows[1]["content"] = "use sk-abcdefghijklmnopqrstuvwx " + rows[1]["content"]
    await world.chat(rows)
    (session,) = await history_of(world).sessions()
    kept = await history_of(world).originals(session.id)
    view = await history_of(world).view(session.id)

    assert "[redacted-key]" in str(kept)
    assert "sk-abc" not in str(kept) + str(view)


async def test_a_view_shows_before_and_after(world_factory: Any) -> None:
    """
    Bounded: long texts are shortened, and of many rows the newest are shown.
    """
    world = await world_factory(store={"url": "memory://", "keep_views": True})
    rows = [dict(row) for row in BIG]
    rows[3]["content"] += "long " * 1_000
    await world.chat(rows)
    (session,) = await history_of(world).sessions()
    view = await history_of(world).view(session.id)

    assert view is not None
    assert (len(view["before"]), view["before_left_out"]) == (len(BIG), 0)
    assert [row["role"] for row in view["after"]] == [row["role"] for row in world.sent.messages]
    assert len(dumps(view["before"][3])) < 2_100


@pytest.fixture
async def kept(world_factory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[World, list[str]]:
    """
    A world on a file with an archive, and the options of a verb on that file.
    """
    # The log belongs to the process, here to that of all tests; once set up for good, none could be captured again.
    monkeypatch.setattr(sessions, "set_up_log", lambda *_given, **_named: None)
    store = {"url": f"sqlite:///{tmp_path}/state.db", "archive": True}
    world = await world_factory(store=store)
    file = tmp_path / "c.yaml"
    settings = {
        "store": store,
        "upstreams": {"sim": {"base_url": "http://127.0.0.1:9/v1", "context_window": 8_000}},
        "compaction": {"prepare_at": None, "threshold_tokens": 6_000},
    }
    file.write_bytes(dumps(settings))
    return world, ["--config", str(file)]


async def run(*words: str) -> Any:
    """
    Run ``concertina sessions`` beside a proxy that serves on the same file.
    """
    return await asyncio.to_thread(CliRunner().invoke, main, ["sessions", *words])


async def test_the_verb_exports_a_request_as_it_would_be_sent(kept: Any, tmp_path: Path) -> None:
    """
    By the record in the store, for the client's credential: the very bytes that the upstream got.
    """
    world, config = kept
    await world.chat(BIG)
    await world.chat(MORE)
    request = tmp_path / "request.json"
    request.write_bytes(dumps({"model": "sim-model", "messages": MORE}))
    own = await run("export", "--request", str(request), *KEY, *config)
    stranger = await run("export", "--request", str(request), *config)

    assert (own.exit_code, loads(own.stdout)["messages"]) == (0, world.sent.messages)
    assert (stranger.exit_code, stranger.stdout) == (1, "")
    assert "no record" in stranger.stderr


async def test_the_verb_exports_what_the_archive_holds(kept: Any) -> None:
    """
    The summary, and the messages behind it.
    """
    world, config = kept
    await world.chat(BIG)
    (session,) = await history_of(world).sessions()
    found = await run("export", session.id[:6], *config)
    exported = loads(found.stdout)

    assert (found.exit_code, exported["id"], exported["begin"]) == (0, session.id, 0)
    assert exported["messages"] == BIG[1 : len(exported["messages"]) + 1]
    assert exported["summary"]


async def test_the_verb_says_what_is_missing(kept: Any) -> None:
    """
    An unknown session, and nothing at all.
    """
    _, config = kept
    unknown, nothing = await run("export", "ffff", *config), await run("export", *config)

    assert (unknown.exit_code, "store.archive" in unknown.stderr) == (1, True)
    assert nothing.exit_code == 2
