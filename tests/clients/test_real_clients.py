"""
The clients that people use, driven through the proxy: whole answers and streams, tools, over the window, refused.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from proxy.chat.json import dumps, loads
from proxy.simulator.server import Simulator
from proxy.simulator.steps import answer, overflow, repeat, tool_call, when
from tests.support.conversations import chat_session, system, user
from tests.support.proxied import Proxied

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(280)]

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-clients" / "bin" / "python"
NODE_MODULES = HERE / "node_modules"
CLIENTS = {
    "openai-python": "openai_python.py",
    "openai-node": "openai_node.mjs",
    "ai-sdk": "ai_sdk.mjs",
    "litellm": "litellm_client.py",
    "langchain-openai": "langchain_client.py",
    "pydantic-ai": "pydantic_ai_client.py",
    "openai-agents": "openai_agents_client.py",
}
TOLD_AS = {
    "BadRequestError",
    "APICallError",
    "ContextWindowExceededError",
    "OpenAIInvalidRequestError",
    "ModelContextWindowExceededError",
}
"""Whatever a client calls it: a mistake of the request, which none of them repeats."""
WINDOW = 8_000
THRESHOLD = 6_000
SHORT = [system(), user("What is the weather in Paris?")]
LONG = chat_session(13)
OTHER = [{**row, "content": f"{row['content']} (another session)"} for row in LONG[:-1]]

Ask = Callable[..., Awaitable[dict[str, Any]]]


def command(program: str) -> list[str]:
    """
    Return what runs a client's program; skip the test where the client is not installed.
    """
    path = str(HERE / "programs" / program)
    if program.endswith(".py"):
        if not PYTHON.exists():
            pytest.skip("the Python clients are not installed: make clients")
        return [str(PYTHON), path]
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    if not NODE_MODULES.exists():
        pytest.skip("the Node clients are not installed: make clients")
    return [node, path]


@asynccontextmanager
async def running(program: str, base_url: str) -> AsyncIterator[Ask]:
    """
    Run a client's program, and give what asks it for one case.
    """
    quiet = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "DO_NOT_TRACK": "1"}
    process = await asyncio.create_subprocess_exec(
        *command(program),
        base_url,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **quiet},
        limit=2**24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def ask(messages: Any, *, model: str = "sim-model", stream: bool, tools: bool = False) -> dict[str, Any]:
        stdin.write(dumps({"messages": messages, "model": model, "stream": stream, "tools": tools}) + b"\n")
        await stdin.drain()
        line = await stdout.readline()
        assert line, f"{program} ended"
        told: dict[str, Any] = loads(line)
        return told

    try:
        yield ask
    finally:
        stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 10)
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def pair(upstream_factory: Any, proxy_factory: Any, exact_counter: Any) -> tuple[Simulator, Proxied]:
    """
    A strict simulator with a small window, and the proxy in front of it.
    """
    upstream = await upstream_factory(
        window=WINDOW,
        counter=exact_counter,
        alternation="as_client",
        summary_markers=("<record ",),
        summary_tokens=300,
        models=("sim-model", "sim-tools", "sim-refuses"),
    )
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": WINDOW},
        compaction={"prepare_at": None, "threshold_tokens": THRESHOLD},
    )
    return upstream, proxied


async def answers(upstream: Simulator, ask: Ask, *, stream: bool) -> None:
    """
    A short question gets the model's text.
    """
    upstream.will(answer("It rains, 你好 🌧."))
    told = await ask(SHORT, stream=stream)

    assert told == {"text": "It rains, 你好 🌧.", "called": []}
    assert upstream.main_calls[-1].data.get("stream", False) is stream


async def calls_tools(upstream: Simulator, ask: Ask, *, stream: bool) -> None:
    """
    Two rounds of a tool, then the text.
    """
    rounds = [tool_call("get_weather", {"city": city}) for city in ("Paris", "Lyon")]
    upstream.will(*(when(step, model="sim-tools") for step in (*rounds, answer("Sunny in both."))))
    told = await ask(SHORT, model="sim-tools", stream=stream, tools=True)

    assert told == {"text": "Sunny in both.", "called": [{"city": "Paris"}, {"city": "Lyon"}]}
    results = [row["content"] for row in upstream.main_calls[-1].messages if row["role"] == "tool"]
    assert results == ["sunny in Paris", "sunny in Lyon"]


async def is_compacted(upstream: Simulator, ask: Ask, *, stream: bool) -> None:
    """
    A history over the threshold is answered; the client notices nothing.
    """
    upstream.will(answer("I remember."))
    told = await ask([*LONG, {"role": "assistant", "content": "ok"}, user(f"and now, {stream}?")], stream=stream)

    assert told == {"text": "I remember.", "called": []}
    assert upstream.main_calls[-1].prompt_tokens < THRESHOLD
    assert "SUMMARY-" in dumps(upstream.main_calls[-1].messages).decode()


async def compacts_a_tool_loop(upstream: Simulator, ask: Ask, *, stream: bool) -> None:
    """
    The history outgrows the threshold in the middle of tool rounds.
    """
    upstream.will(*(when(tool_call("get_weather", {"city": f"c{n}"}), model="sim-tools") for n in range(3)))
    upstream.will(when(answer("All sunny."), model="sim-tools"))
    told = await ask([*OTHER, user(f"the weather, {stream}?")], model="sim-tools", stream=stream, tools=True)

    assert (told["text"], len(told["called"])) == ("All sunny.", 3)
    assert upstream.main_calls[-1].prompt_tokens < THRESHOLD
    assert not any(call.violations for call in upstream.main_calls)


async def is_told_once(upstream: Simulator, ask: Ask, *, stream: bool) -> None:
    """
    An overflow that cannot be cured is told as such, and no client sends the history again.
    """
    upstream.will(repeat(20, when(overflow(limit=50, wording="llamacpp"), model="sim-refuses")))
    before = len(upstream.main_calls)
    told = await ask(SHORT, model="sim-refuses", stream=stream)

    assert told["error"], told
    assert told["error"] in TOLD_AS, told
    assert told["status"] == 400
    assert told["code"] == "context_length_exceeded" or told["error"] == "ContextWindowExceededError"
    assert "does not fit" in told["said"]
    assert len(upstream.main_calls) - before <= 4


async def test_the_responses_api_passes_untouched(pair: tuple[Simulator, Proxied]) -> None:
    """
    What Codex and others speak: over the threshold as well, nothing is folded, and the client reads its events.
    """
    upstream, proxied = pair
    async with running(CLIENTS["openai-python"], proxied.url) as ask:
        for stream in (False, True):
            upstream.will(when(answer("As you say."), path="/responses"))
            told = await ask([*LONG[:-2], user("short of the window")], model="sim-responses", stream=stream)

            assert told == {"text": "As you say.", "called": []}
            assert loads(upstream.received[-1].body)["input"][1] == LONG[1]


CASES = (answers, calls_tools, is_compacted, compacts_a_tool_loop, is_told_once)


@pytest.mark.parametrize("name", CLIENTS)
async def test_a_real_client_works_through_the_proxy(pair: tuple[Simulator, Proxied], name: str) -> None:
    """
    Every case, whole and streamed, in one process of the client.
    """
    upstream, proxied = pair
    async with running(CLIENTS[name], proxied.url) as ask:
        for case in CASES:
            for stream in (False, True):
                upstream.script.steps.clear()
                await case(upstream, ask, stream=stream)
