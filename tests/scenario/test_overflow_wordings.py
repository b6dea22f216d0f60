"""
Whatever words an upstream finds for "too long", the client sees an answer, and the limit is learned where it is stated.
"""

from typing import Any

import pytest

from proxy.chat.json import dumps
from proxy.simulator.steps import overflow, raw
from tests.support.conversations import assistant, chat_session, user
from tests.support.worlds import WINDOW, is_whole

NARROW = 4_000
BIG = chat_session(8)
"""About 4,500 tokens."""
LARGER = chat_session(16)
"""Twice that."""
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
NUMBERED = (
    "openai",
    "azure",
    "anthropic",
    "gemini",
    "openrouter",
    "vllm",
    "vllm-old",
    "sglang",
    "sglang-sse",
    "llamacpp",
    "ollama",
    "lmstudio",
    "tgi",
    "mistral",
    "deepseek",
    "dashscope",
    "litellm",
    "github-models",
)
NUMBERLESS = ("openai-numberless", "groq", "bare", "nginx")


def one_turn_more(rows: list[Any]) -> list[Any]:
    """
    Return the conversation as the next request holds it.
    """
    return [*rows, assistant("done"), user("and now the other one")]


@STREAMS
@pytest.mark.parametrize("wording", NUMBERED)
async def test_a_stated_limit_costs_one_refusal(world_factory: Any, wording: str, stream: bool) -> None:
    """
    The proxy believes 128,000 tokens; one refusal teaches it better, and the next request provokes none.
    """
    world = await world_factory(blind=True, sim={"wording": wording, "window": NARROW})
    first = await world.chat(BIG, stream=stream)
    tries = len(world.calls)
    second = await world.chat(one_turn_more(BIG), stream=stream)

    assert is_whole(first, stream=stream)
    assert (first.action, tries) == ("recovered", 2)
    assert world.sent.introduced(one_turn_more(BIG)) == {}
    assert is_whole(second, stream=stream)
    assert len(world.calls) == 1


@pytest.mark.parametrize("mode", ["compact", "recover"])
@pytest.mark.parametrize("wording", ["openai", "vllm", "llamacpp", "ollama", "dashscope"])
async def test_another_conversation_is_spared_the_refusal(world_factory: Any, wording: str, mode: str) -> None:
    """
    What was learned holds for the model, not for one conversation, and in the mode that waits for an error, too.
    """
    world = await world_factory(blind=True, compaction={"mode": mode}, sim={"wording": wording, "window": NARROW})
    await world.chat(BIG)
    reply = await world.chat([BIG[0], user("something quite different"), assistant("yes?"), *BIG[1:]])

    assert is_whole(reply, stream=False)
    assert [call.status for call in world.calls] == [200]


@STREAMS
@pytest.mark.parametrize("wording", NUMBERLESS)
async def test_a_refusal_without_a_number_steps_down_the_tiers(world_factory: Any, wording: str, stream: bool) -> None:
    """
    Without a number the next tier below what was refused is tried; the layout then sticks to the conversation.
    """
    world = await world_factory(blind=True, sim={"wording": wording, "window": NARROW})
    first = await world.chat(BIG, stream=stream)
    tries = len(world.calls)
    second = await world.chat(one_turn_more(BIG), stream=stream)

    assert is_whole(first, stream=stream)
    assert (first.action, tries) == ("recovered", 2)
    assert is_whole(second, stream=stream)
    assert len(world.calls) == 1


@STREAMS
async def test_llama_cpp_python_answers_streams_with_nothing(world_factory: Any, stream: bool) -> None:
    """
    Its overflow in a stream is an empty 200: taken for one where our count is near the window.
    """
    world = await world_factory(
        sim={"wording": "llama-cpp-python"}, compaction={"threshold_tokens": None, "mode": "recover"}
    )
    reply = await world.chat(LARGER, stream=stream)

    assert is_whole(reply, stream=stream)
    assert reply.action == "recovered"


async def test_an_empty_stream_of_an_unknown_window(world_factory: Any) -> None:
    """
    Nobody knows the window, and the server is a small one: one try at the next tier.
    """
    world = await world_factory(blind=True, sim={"wording": "llama-cpp-python"})
    reply = await world.chat(LARGER, stream=True)

    assert is_whole(reply, stream=True)
    assert (reply.action, len(world.calls)) == ("recovered", 2)


async def test_an_empty_stream_far_below_the_window_passes(world_factory: Any) -> None:
    """
    The same empty 200 from a request that certainly fits is no overflow.
    """
    world = await world_factory(blind=True, sim={"wording": "llama-cpp-python"})
    world.upstream.will(overflow(wording="llama-cpp-python"))
    reply = await world.chat(BIG[:4], stream=True)

    assert (reply.status, reply.body, len(world.calls)) == (200, b"", 1)


@STREAMS
async def test_groq_tokens_per_minute_as_413(world_factory: Any, stream: bool) -> None:
    """
    More requested than a minute allows: waiting never helps, shrinking does; no window is learned from it.
    """
    world = await world_factory(blind=True, sim={"wording": "groq-tpm", "window": NARROW})
    reply = await world.chat(BIG, stream=stream)

    assert is_whole(reply, stream=stream)
    assert reply.action == "recovered"
    seen = await world.chat(BIG[:4], headers={"x-concertina-mode": "observe"})
    assert seen.headers["x-concertina-tokens"].endswith("window=128000")


@STREAMS
async def test_openai_tokens_per_minute_as_429(world_factory: Any, stream: bool) -> None:
    """
    OpenAI says the same as a 429.
    """
    world = await world_factory(blind=True, sim={"wording": "openai-tpm", "window": NARROW})
    reply = await world.chat(BIG, stream=stream)

    assert is_whole(reply, stream=stream)
    assert reply.action == "recovered"


@STREAMS
async def test_shrinking_for_rates_can_be_switched_off(world_factory: Any, stream: bool) -> None:
    """
    Then the 429 is the client's to see.
    """
    world = await world_factory(
        blind=True, sim={"wording": "openai-tpm", "window": NARROW}, recovery={"shrink_for_rate_limits": False}
    )
    reply = await world.chat(BIG, stream=stream)

    assert (reply.status, len(world.calls)) == (429, 1)


@STREAMS
async def test_json_413_with_a_byte_limit(world_factory: Any, stream: bool) -> None:
    """
    A gateway that states its bytes gets a body within them.
    """
    world = await world_factory(blind=True, sim={"max_bytes": 10_000, "bytes_wording": "json", "window": None})
    reply = await world.chat(BIG, stream=stream)

    assert is_whole(reply, stream=stream)
    assert (reply.action, len(world.calls)) == ("recovered", 2)
    assert len(world.sent.body) <= 10_000


@STREAMS
@pytest.mark.parametrize("early", [False, True], ids=["read", "unread"])
async def test_nginx_413_for_bytes(world_factory: Any, stream: bool, early: bool) -> None:
    """
    A web server's HTML page, sent by the Content-Length alone or after reading: the body halves until it passes.
    """
    world = await world_factory(blind=True, sim={"max_bytes": 10_000, "early_413": early, "window": None})
    reply = await world.chat(BIG, stream=stream)

    assert is_whole(reply, stream=stream)
    assert reply.action == "recovered"


@STREAMS
async def test_the_long_context_tier(world_factory: Any, stream: bool) -> None:
    """
    "Extra usage is required": this credential has 200,000 tokens, whatever the model could; retried once.
    """
    world = await world_factory(
        sim={"wording": "long-context-tier", "window": 200_000},
        upstream={"context_window": 1_000_000},
        compaction={"threshold_tokens": None, "summarizer": {"kind": "extractive"}},
    )
    rows = chat_session(75, bytes_per_turn=10_000)
    first = await world.chat(rows, stream=stream)
    tries = len(world.calls)
    second = await world.chat(one_turn_more(rows), stream=stream)

    assert is_whole(first, stream=stream)
    assert (first.action, tries) == ("recovered", 2)
    assert is_whole(second, stream=stream)
    assert len(world.calls) == 1
    assert second.headers["x-concertina-tokens"].endswith("window=200000")


@STREAMS
async def test_an_answer_cut_at_the_window(world_factory: Any, stream: bool) -> None:
    """
    200 with finish_reason length and no token said, because the prompt fills the window: an overflow all the same.
    """
    world = await world_factory(sim={"wording": "finish-length"}, compaction={"mode": "recover"})
    reply = await world.chat(LARGER, stream=stream)

    assert is_whole(reply, stream=stream)
    assert reply.action == "recovered"
    assert world.sent.prompt_tokens < WINDOW


def few_words(prompt: int, completion: int = 2) -> Any:
    """
    Return a stream that says two words and stops for its length.
    """
    begun: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "model": "sim-model"}
    chunks = [
        {**begun, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well, I"}}]},
        {**begun, "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
        {**begun, "choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}},
    ]
    events = [b"data: " + dumps(chunk) + b"\n\n" for chunk in chunks]
    return raw(200, (("Content-Type", "text/event-stream"),), chunks=(*events, b"data: [DONE]\n\n"))


@pytest.mark.parametrize("mode", ["recover", "compact"])
async def test_a_stream_cut_at_the_window_is_learned_from(world_factory: Any, mode: str) -> None:
    """
    Words were relayed, so nothing can be cured; the next request of the kind is compacted before it is sent.
    """
    world = await world_factory(sim={"window": None}, compaction={"mode": mode, "threshold_tokens": 8_000})
    rows = chat_session(8)
    world.upstream.will(few_words(WINDOW - 2))
    first = await world.chat(rows, stream=True)
    relayed = (first.action, len(world.calls), b"Well, I" in first.body)
    second = await world.chat(one_turn_more(rows), stream=True)

    assert relayed == ("passthrough", 1, True)
    assert is_whole(second, stream=True)
    assert (second.action, len(world.calls)) == ("compacted", 1)
    assert world.sent.prompt_tokens < WINDOW


async def test_the_same_sum_twice_is_a_window(world_factory: Any) -> None:
    """
    Nobody knows the window; two prompts that end at 6,024 tokens tell it, counted after their answers.
    """
    world = await world_factory(blind=True, sim={"window": None})
    for prompt, turns in ((6_010, 10), (6_020, 11)):
        world.upstream.will(few_words(prompt, 6_024 - prompt))
        await world.chat(chat_session(turns), stream=True)
    seen = await world.chat(BIG[:4], headers={"x-concertina-mode": "observe"})

    assert seen.headers["x-concertina-tokens"].endswith("window=6024")


async def test_a_short_answer_by_wish_is_no_overflow(world_factory: Any) -> None:
    """
    finish_reason length after the tokens that were asked for is what the client wanted.
    """
    world = await world_factory(blind=True)
    reply = await world.chat(BIG[:4], max_tokens=2)

    assert (reply.status, reply.action, len(world.calls)) == (200, "passthrough", 1)
