"""
What went wrong in other proxies when they were driven by one script, and is shown nowhere else not to go wrong here.
"""

import asyncio
from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.counting import PlainCounter
from proxy.simulator.prefix import prefix_breaks
from proxy.simulator.steps import gated, repeat, when
from tests.support.conversations import call, chat_session, filler, long_session, result, system, user

LONG = chat_session(13)


async def test_the_same_request_twice_is_asked_twice(world_factory: Any) -> None:
    """
    No answer is remembered: the second is the model's own, too.
    """
    world = await world_factory()
    first = await world.chat(LONG[:4])
    second = await world.chat(LONG[:4])

    assert (first.status, second.status) == (200, 200)
    assert len(world.upstream.main_calls) == 2


async def test_keys_in_the_environment_replace_nobodys(world_factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    What other programs on the machine are given is not ours to send.
    """
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, "sk-of-somebody-else")
    world = await world_factory()
    await world.chat(LONG)

    sent = {received.header("authorization") for received in world.upstream.received if received.is_chat}
    assert sent == {"Bearer client-key"}


async def test_a_slow_summary_holds_nobody_else_up(world_factory: Any) -> None:
    """
    While one conversation waits for its summary, others are answered, compacted ones included.
    """
    gate = asyncio.Event()
    world = await world_factory()
    world.upstream.will(repeat(1, when(gated(gate), summary=True)))
    waiting = asyncio.ensure_future(world.proxied.chat(LONG))
    await world.upstream.until(lambda: world.upstream.summary_calls)
    short = await asyncio.wait_for(world.proxied.chat(LONG[:4]), 5)
    other = [{**row, "content": f"{row['content']} elsewhere"} for row in LONG]
    long = await asyncio.wait_for(world.proxied.chat(other), 10)
    still = not waiting.done()
    gate.set()

    assert (short.action, long.action, still) == ("passthrough", "compacted", True)
    assert (await waiting).action == "compacted"


async def test_a_long_log_that_repeats_itself_is_cut(world_factory: Any) -> None:
    """
    51 KB of one line over and over, as the only large row of a short window.
    """
    world = await world_factory()
    log = "2031-01-01 INFO worker 7 polled the queue and found nothing\n" * 850
    reply = await world.chat([system(), user("what went wrong?"), call("run", cmd="tail"), result("a", log)])

    assert reply.status == 200
    assert world.sent.prompt_tokens < 8_000


async def test_chinese_over_the_window_is_answered_at_the_first_try(world_factory: Any) -> None:
    """
    Where four characters are taken for a token, such a history is believed to be a quarter of what it is.
    """
    world = await world_factory(sim={"alternation": "on"})
    text = "请修复测试并说明原因，然后运行全部检查。错误出现在第四十二行。"
    rows = [system()]
    for number in range(24):
        rows += [user(f"{number} {text * 8}"), {"role": "assistant", "content": f"{number} {text * 8}"}]
    reply = await world.chat([*rows, user("现在呢？")])

    assert (reply.status, reply.action, len(world.calls)) == (200, "compacted", 1)


async def test_tools_are_never_added(world_factory: Any) -> None:
    """
    Nor a system row, nor a field: a compacted request has the client's own keys.
    """
    world = await world_factory()
    await world.chat(LONG)

    assert set(world.sent.data) == {"model", "messages"}
    assert [row["role"] for row in world.sent.messages].count("system") == 1


async def test_a_history_that_is_attached_late_is_summarised_by_a_model_of_the_same_size(world_factory: Any) -> None:
    """
    Eight times the window at once: read in parts, or in extract, and answered.
    """
    world = await world_factory()
    rows = [system(), user("the task: port the parser")]
    for number in range(60):
        rows += [
            {"role": "assistant", "content": filler(1_000, seed=f"a{number}")},
            user(filler(3_000, seed=f"q{number}")),
        ]
    reply = await world.chat(rows)

    assert (reply.status, reply.action) == (200, "compacted")
    assert 1 <= len(world.upstream.summary_calls) <= 4
    assert max(asked.prompt_tokens for asked in world.upstream.summary_calls) <= 8_000
    assert "port the parser" in dumps(world.sent.messages).decode()


async def test_one_agent_session_meets_the_bar_of_the_best(world_factory: Any) -> None:
    """
    36 requests, each a round of 2 KB longer, model and summariser with one window of 8,000 tokens as the upstream counts
    them; without a proxy 21 of them are refused. The best of the others took 3 summaries of 17,000 tokens in all and
    broke the prefix three times, the second best four times; the task was lost by every one that summarises.
    """
    world = await world_factory(sim={"counter": PlainCounter(), "summary_tokens": 400, "alternation": "on"})
    session = long_session(36)
    sizes = [sum(map(PlainCounter().message, rows)) for rows in session]
    replies = [await world.chat(rows) for rows in session]
    sent = [asked.messages for asked in world.upstream.main_calls]
    summaries = world.upstream.summary_calls

    assert sum(size > 8_000 for size in sizes) == 21
    assert [reply.status for reply in replies] == [200] * 36
    assert [asked.violations for asked in world.upstream.main_calls] == [()] * 36
    assert all(session[0][1]["content"] in dumps(rows).decode() for rows in sent)
    assert len(summaries) <= 3
    assert sum(asked.prompt_tokens for asked in summaries) <= 17_000
    assert prefix_breaks(sent) <= 4


async def test_what_is_too_long_never_comes_out_longer(world_factory: Any) -> None:
    """
    Some made a refused request larger by the notes and tools that they added to it.
    """
    world = await world_factory()
    for rows in long_session(30):
        await world.chat(rows)
        assert world.sent.prompt_tokens <= 8_000
        assert len(dumps(world.sent.messages)) <= len(dumps(rows))
