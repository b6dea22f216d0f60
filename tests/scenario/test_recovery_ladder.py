"""
The ladder: clamp, compact, squeeze, hard fit, give up; and what it leaves alone.
"""

from itertools import pairwise
from typing import Any

import pytest
import structlog

from proxy.chat.json import dumps, loads
from proxy.simulator.steps import answer, overflow, raw, repeat, reset_midstream, sse_error, status
from tests.support.conversations import (
    agent_session,
    assistant,
    call,
    chat_session,
    filler,
    image,
    result,
    system,
    tool_schema,
    user,
)
from tests.support.worlds import WINDOW, error_of, is_whole, texts

BIG = chat_session(16)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


class TestClamp:
    """
    max_tokens is lowered where it alone is at fault.
    """

    @STREAMS
    @pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
    @pytest.mark.parametrize("wording", ["openai", "anthropic", "vllm", "sglang", "tgi"])
    async def test_lowers_the_asked_output(self, world_factory: Any, wording: str, field: str, stream: bool) -> None:
        """
        The prompt fits, prompt and output together do not: the rows go out untouched with less output asked.
        """
        world = await world_factory(blind=True, sim={"wording": wording})
        rows = chat_session(8)
        reply = await world.chat(rows, stream=stream, **{field: 6_000})

        assert is_whole(reply, stream=stream)
        assert (reply.action, len(world.calls), world.sent.messages) == ("recovered", 2, rows)
        assert 500 < world.sent.fields[field] < 4_000
        assert list(world.sent.fields) == list(world.calls[0].fields)

    async def test_compacts_where_clamping_is_off(self, world_factory: Any) -> None:
        """
        With clamp_max_tokens off the output stays, and the history gives way.
        """
        world = await world_factory(blind=True, recovery={"clamp_max_tokens": False})
        reply = await world.chat(chat_session(13), max_tokens=2_500)

        assert (reply.status, world.sent.fields["max_tokens"]) == (200, 2_500)
        assert len(world.sent.messages) < 20

    @STREAMS
    async def test_an_output_cap_is_met_once(self, world_factory: Any, stream: bool) -> None:
        """
        "supports at most N completion tokens": N is asked for, the rows stay.
        """
        world = await world_factory(blind=True, sim={"max_output": 1_000})
        rows = BIG[:4]
        reply = await world.chat(rows, stream=stream, max_tokens=5_000)

        assert is_whole(reply, stream=stream)
        assert (world.sent.fields["max_tokens"], world.sent.messages, len(world.calls)) == (1_000, rows, 2)


class TestSteps:
    """
    Numberless refusals walk down the tiers; targets never grow; four tries at most.
    """

    async def test_each_try_is_smaller(self, world_factory: Any) -> None:
        """
        Three refusals without a number, each try at least five percent smaller, the fourth answered.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(repeat(3, overflow(wording="bare")))
        reply = await world.chat(BIG)

        sizes = [sent.prompt_tokens for sent in world.calls]
        assert (reply.status, reply.action) == (200, "recovered")
        assert all(later <= 0.96 * earlier for earlier, later in pairwise(sizes))
        assert len(sizes) <= 4

    async def test_believes_the_smallest_of_contradicting_limits(self, world_factory: Any) -> None:
        """
        A gateway that states 9,000 over a server of 3,000: the second refusal is obeyed as well.
        """
        world = await world_factory(blind=True, sim={"window": 3_000})
        world.upstream.will(overflow(limit=7_000))
        reply = await world.chat(BIG)

        assert (reply.status, reply.action) == (200, "recovered")
        assert world.sent.prompt_tokens < 3_000

    @STREAMS
    @pytest.mark.parametrize("size", [30_000, 120_000])
    async def test_a_last_result_larger_than_the_learned_window(
        self, world_factory: Any, size: int, stream: bool
    ) -> None:
        """
        Only cutting inside the newest result helps; head and tail of it stay, its call too.
        """
        world = await world_factory(blind=True, sim={"alternation": "on"})
        rows = [*agent_session(3), call("run", id="z", command="make"), result("z", "BEGIN " + filler(size) + " END")]
        reply = await world.chat(rows, stream=stream)

        assert is_whole(reply, stream=stream)
        assert len(world.calls) <= 4
        assert world.sent.messages[-1]["content"].startswith("BEGIN ")
        assert world.sent.messages[-1]["content"].endswith(" END")
        assert world.sent.introduced(rows) == {}

    async def test_a_tiny_window(self, world_factory: Any) -> None:
        """
        A local server with 1,024 tokens and a long agent session.
        """
        world = await world_factory(blind=True, sim={"window": 1_024, "wording": "llamacpp", "summary_tokens": 80})
        rows = [system(), *agent_session(12)[1:]]
        reply = await world.chat(rows)

        assert (reply.status, reply.action) == (200, "recovered")
        assert rows[1]["content"] in texts(world.sent)


class TestGiveUp:
    """
    What cannot be cured ends as one OpenAI-shaped 400 with the upstream's own words.
    """

    @STREAMS
    @pytest.mark.parametrize(
        "refusal",
        [
            overflow(limit=8_192),
            overflow(wording="bare"),
            overflow(wording="sglang-sse"),
            overflow(wording="lmstudio"),
            overflow(wording="github-models"),
            status(413, body=b"<html>413 Request Entity Too Large</html>"),
            raw(
                500,
                body=b'{"error":{"message":"request (9000 tokens) exceeds the available context size (10 tokens)",'
                b'"type":"exceed_context_size_error","code":500}}',
            ),
            raw(503, body=b'{"error":{"message":"prompt is too long: 9000 tokens > 10 maximum"}}'),
        ],
        ids=["openai", "bare", "sglang-sse", "lmstudio", "github", "nginx", "500", "503"],
    )
    async def test_gives_up_with_a_400(self, world_factory: Any, refusal: Any, stream: bool) -> None:
        """
        At most four calls, then context_length_exceeded, whatever status the upstream chose.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(repeat(6, refusal))
        reply = await world.chat(BIG, stream=stream)

        error = error_of(reply)
        assert (reply.status, reply.action) == (400, "gave-up")
        assert (error["code"], error["type"], error["param"]) == (
            "context_length_exceeded",
            "invalid_request_error",
            "messages",
        )
        assert 2 <= len(world.calls) <= 4
        assert reply.headers["x-concertina-attempts"] == str(len(world.calls))

    async def test_carries_the_upstreams_message(self, world_factory: Any) -> None:
        """
        The client's own tools look for the upstream's words.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(repeat(6, overflow(wording="bare")))
        reply = await world.chat(BIG)

        assert "Input is too long for requested model." in error_of(reply)["message"]

    @pytest.mark.parametrize("tries", [1, 2, 3])
    async def test_max_attempts_is_obeyed(self, world_factory: Any, tries: int) -> None:
        """
        Fewer tries where the settings say so.
        """
        world = await world_factory(blind=True, sim={"window": None}, recovery={"max_attempts": tries})
        world.upstream.will(repeat(6, overflow(wording="bare")))
        reply = await world.chat(BIG)

        assert (reply.status, len(world.calls)) == (400, tries)

    async def test_tools_alone_over_the_window(self, world_factory: Any) -> None:
        """
        Nothing to shrink: one call, one 400, without a wait.
        """
        world = await world_factory(blind=True)
        tools = [tool_schema(f"t{n}", *(f"p{n}_{p}" for p in range(20))) for n in range(80)]
        reply = await world.chat([system(), user("hello")], tools=tools)

        assert (reply.status, error_of(reply)["code"], len(world.calls)) == (400, "context_length_exceeded", 1)


NEGATIVES = {
    "403 quota": raw(403, (("Retry-After", "60"),), b'{"error":{"message":"Quota for this project is used up"}}'),
    "413 tokens per minute left": raw(
        413,
        (("Retry-After", "11"),),
        b'{"error":{"message":"Request too large on tokens per minute (TPM): Limit 90000, Used 89000, Requested 4000"}}',
    ),
    "422 field": raw(422, body=b'{"detail":[{"loc":["body","stop"],"msg":"too many stop sequences, at most 4"}]}'),
    "400 name": raw(400, body=b'{"error":{"message":"Invalid tools[0].name: string too long. Expected at most 64"}}'),
    "minimax 2013": raw(400, body=b'{"error":{"message":"invalid params, tool result\'s tool id not found (2013)"}}'),
    "502": raw(502, (("Content-Type", "text/html"),), b"<html><h1>502 Bad Gateway</h1></html>"),
    "504": raw(504, (("Retry-After", "2"),), b"upstream request timeout"),
    "408": raw(408, body=b'{"error":{"message":"Request timed out"}}'),
    "401": raw(401, body=b'{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}'),
    "403": raw(403, body=b'{"error":{"message":"Country not supported","code":"unsupported_country"}}'),
    "404": raw(404, body=b'{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}'),
    "429": raw(
        429,
        (("Content-Type", "application/json"), ("Retry-After", "7"), ("x-ratelimit-remaining-tokens", "0")),
        b'{"error":{"message":"Rate limit reached for gpt-x on tokens per min (TPM): Limit 90000, Used 89000, '
        b'Requested 2000.","code":"rate_limit_exceeded"}}',
    ),
    "429 too many tokens": raw(
        429, (("Retry-After", "3"),), b'{"message":"Too many tokens, please wait before trying again."}'
    ),
    "402": raw(402, body=b'{"error":{"message":"Prompt tokens limit exceeded: 9000 > 8000","code":402}}'),
    "500": status(500),
    "500 html": raw(500, (("Content-Type", "text/html"),), b"<html>Internal Server Error</html>"),
    "503": raw(503, (("Retry-After", "9"),), b'{"error":{"message":"The engine is currently overloaded"}}'),
    "529": raw(529, body=b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    "content filter": raw(
        400,
        body=b'{"error":{"message":"The response was filtered due to the prompt triggering the content management '
        b'policy","code":"content_filter"}}',
    ),
    "output cap": raw(
        400,
        body=b'{"error":{"message":"max_tokens is too large: 5000. This model supports at most 4096 completion tokens"}}',
    ),
    "higher max_tokens": raw(
        400,
        body=b'{"error":{"message":"Could not finish the message because max_tokens or model output limit was reached. '
        b'Please try again with higher max_tokens."}}',
    ),
    "structure": raw(
        400,
        body=b'{"error":{"message":"messages with role \'tool\' must be a response to a preceding message with '
        b"'tool_calls'.\"}}",
    ),
    "parameter": raw(400, body=b'{"error":{"message":"Unsupported parameter: temperature","param":"temperature"}}'),
    "image": raw(400, body=b'{"error":{"message":"Image size exceeds the maximum of 5 MB","code":"image_too_large"}}'),
    "long context beta": raw(
        400,
        body=b'{"type":"error","error":{"type":"invalid_request_error","message":"The long context beta is not yet '
        b'available for this subscription."}}',
    ),
    "not json": raw(400, (("Content-Type", "text/plain"),), b"nope \xff\x00"),
    "empty": raw(400, (("Content-Type", "application/json"),), b""),
}


class TestNegatives:
    """
    What is no overflow reaches the client as it came, after exactly one call.
    """

    @STREAMS
    @pytest.mark.parametrize("kind", NEGATIVES)
    async def test_passes_byte_for_byte(self, world_factory: Any, kind: str, stream: bool) -> None:
        """
        Status, body and Retry-After are the upstream's own.
        """
        step = NEGATIVES[kind]
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(repeat(5, step))
        reply = await world.chat(BIG, stream=stream)
        direct = await world.proxied.session.post(
            world.upstream.url + "/chat/completions", json={"model": "sim-model", "messages": BIG, "stream": stream}
        )

        assert len(world.calls) == 1
        assert (reply.status, reply.body) == (direct.status, await direct.read())
        for name in ("retry-after", "x-ratelimit-remaining-tokens", "content-type"):
            assert reply.headers.get(name) == direct.headers.get(name)


class TestStreams:
    """
    No retry once content is on its way.
    """

    async def test_an_error_after_content_passes(self, world_factory: Any) -> None:
        """
        An overflow that the upstream notices too late is the client's to see, as it came.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(
            sse_error("maximum context length exceeded", code="context_length_exceeded", after_chunks=3)
        )
        reply = await world.chat(BIG, stream=True)

        assert (reply.status, len(world.calls)) == (200, 1)
        assert b"maximum context length exceeded" in reply.body

    @pytest.mark.parametrize("name", ["", "error"])
    async def test_an_error_before_content_is_recovered(self, world_factory: Any, name: str) -> None:
        """
        Inside a 200, before a word was said: there is still time.
        """
        world = await world_factory(blind=True, sim={"window": None})
        message = "The input (9032 tokens) is longer than the model's context length (8000 tokens)."
        world.upstream.will(sse_error(message, name=name))
        reply = await world.chat(BIG, stream=True)

        assert is_whole(reply, stream=True)
        assert (reply.action, len(world.calls)) == ("recovered", 2)

    async def test_an_error_after_the_role_chunk_is_recovered(self, world_factory: Any) -> None:
        """
        A role-only chunk is no content: where an overflow is plausible it is held back.
        """
        world = await world_factory(sim={"window": None}, compaction={"mode": "recover"})
        message = "The input (9032 tokens) is longer than the model's context length (8000 tokens)."
        world.upstream.will(sse_error(message, after_chunks=1))
        reply = await world.chat(BIG, stream=True)

        assert is_whole(reply, stream=True)
        assert reply.action == "recovered"
        assert reply.body.count(b'"role"') == 1

    async def test_other_errors_in_a_stream_pass(self, world_factory: Any) -> None:
        """
        A server error in the first event is relayed, once.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(sse_error("The server had an error", code="server_error"))
        reply = await world.chat(BIG, stream=True)

        assert (reply.status, len(world.calls)) == (200, 1)
        assert b"The server had an error" in reply.body

    async def test_a_stream_that_breaks_after_content_is_not_tried_again(self, world_factory: Any) -> None:
        """
        What the client has seen cannot be taken back: an error event, no clean end.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(reset_midstream())
        body = b""
        async with world.proxied.session.post(
            world.proxied.url + "/chat/completions", json={"model": "m", "messages": BIG, "stream": True}
        ) as response:
            try:
                async for chunk in response.content.iter_any():
                    body += chunk
            except Exception as fault:
                broken = type(fault).__name__

        assert broken
        assert b"[DONE]" not in body
        assert b"upstream_broken" in body
        assert len(world.upstream.main_calls) == 1


class TestGateway:
    """
    A gateway counts bytes: screenshots are what goes first.
    """

    @STREAMS
    @pytest.mark.parametrize("bytes_wording", ["nginx", "json"])
    async def test_old_screenshots_give_way(self, world_factory: Any, bytes_wording: str, stream: bool) -> None:
        """
        14 MB of screenshots before a gateway of 10 MB: 200, and the newest screenshot is still there.
        """
        limit = 10 * 1024 * 1024
        world = await world_factory(
            blind=True, sim={"window": None, "max_bytes": limit, "bytes_wording": bytes_wording}
        )
        rows = [system()]
        for number in range(7):
            rows += [image(f"look at screen {number}", size=2_000_000), assistant(f"screen {number} shows a form")]
        rows.append(image("and now?", size=1_000_000))
        reply = await world.chat(rows, stream=stream)

        assert is_whole(reply, stream=stream)
        assert reply.action == "recovered"
        assert len(world.sent.body) <= limit
        assert world.sent.messages[-1]["content"][-1] == rows[-1]["content"][-1]

    async def test_the_next_turn_meets_no_413(self, world_factory: Any) -> None:
        """
        What was left out stays left out: one refusal a conversation.
        """
        world = await world_factory(blind=True, sim={"window": None, "max_bytes": 1_000_000})
        rows = [system()]
        for number in range(6):
            rows += [image(f"look at screen {number}", size=200_000), assistant(f"screen {number} shows a form")]
        rows.append(user("and now?"))
        await world.chat(rows)
        reply = await world.chat([*rows, assistant("fine"), user("go on")])

        assert (reply.status, len(world.calls)) == (200, 1)


class TestRepair:
    """
    A complaint about the structure of a request that we rewrote is repaired once, with strict roles.
    """

    COMPLAINT = raw(
        400,
        body=dumps(
            {
                "error": {
                    "message": "After the optional system message, conversation roles must alternate "
                    "user/assistant/user/assistant/...",
                    "type": "invalid_request_error",
                }
            }
        ),
    )

    async def test_repairs_what_we_wrote(self, world_factory: Any) -> None:
        """
        One more call, strict in every rule, and the client sees an answer.
        """
        world = await world_factory()
        world.upstream.will(self.COMPLAINT)
        reply = await world.chat(BIG)

        assert (reply.status, reply.action, len(world.calls)) == (200, "recovered", 2)
        assert world.sent.introduced(BIG) == {}

    async def test_remembers_it_for_the_route(self, world_factory: Any) -> None:
        """
        Rows that a strict template refuses are merged from then on, without a second complaint.
        """
        world = await world_factory(sim={"alternation": "on"})
        rows = [*BIG, user("one more thing"), user("and another")]
        first = await world.chat(rows)
        second = await world.chat([*rows, assistant("done"), user("thanks"), user("bye")])

        assert (first.status, first.action, second.status, second.action) == (200, "recovered", 200, "reused")
        assert len(world.calls) == 1

    @pytest.mark.parametrize(
        "message",
        [
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
            "unexpected `tool_use_id` found in `tool_result` blocks: each must have a corresponding `tool_use` block.",
            "messages.5: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        ],
        ids=["openai", "anthropic", "thinking", "gemini"],
    )
    async def test_knows_the_complaint(self, world_factory: Any, message: str) -> None:
        """
        Pairs, turns and thinking blocks, in the words of those who check them; told in the log as our own fault.
        """
        world = await world_factory()
        world.upstream.will(raw(400, body=dumps({"error": {"message": message}})))
        with structlog.testing.capture_logs() as logs:
            reply = await world.chat(BIG)

        assert (reply.status, len(world.calls)) == (200, 2)
        assert {"plan.refused", "plan.repaired"} <= {event["event"] for event in logs}

    async def test_thinking_comes_back_where_it_is_missed(self, world_factory: Any) -> None:
        """
        The hard fit leaves reasoning out to save room; an upstream that will not have it gets it back, then and later.
        """
        world = await world_factory(blind=True, sim={"window": None})
        thinking = [
            {"type": "thinking", "thinking": "PONDER " + filler(12_000), "signature": "EqQB"},
            {"type": "text", "text": "I will run it"},
        ]
        pending = {**call("run", id="z", command="make"), "content": thinking}
        rows = [*BIG, pending, result("z", "ok")]
        complaint = (
            "Expected `thinking`, but found `tool_use`: a final assistant message must start with a thinking block."
        )
        world.upstream.will(
            overflow(limit=1_300),
            raw(400, body=dumps({"error": {"message": complaint}})),
        )
        reply = await world.chat(rows)

        assert (reply.status, reply.action) == (200, "recovered")
        assert ["PONDER" in texts(sent) for sent in world.calls] == [True, False, True]

    async def test_only_once(self, world_factory: Any) -> None:
        """
        A second complaint goes to the client.
        """
        world = await world_factory()
        world.upstream.will(repeat(4, self.COMPLAINT))
        reply = await world.chat(BIG)

        assert (reply.status, len(world.calls)) == (400, 2)
        assert "alternate" in loads(reply.body)["error"]["message"]

    async def test_the_clients_own_fault_is_its_own(self, world_factory: Any) -> None:
        """
        The same complaint about a request that we did not touch passes after one call.
        """
        world = await world_factory(sim={"alternation": "on"})
        reply = await world.chat([system(), user("a"), user("b")])

        assert (reply.status, reply.action, len(world.calls)) == (400, "passthrough", 1)


async def test_a_refusal_after_compaction_is_recovered_too(world_factory: Any) -> None:
    """
    The plan that went out first was itself too large: the ladder goes on from it.
    """
    world = await world_factory(sim={"window": 1_500})
    reply = await world.chat(BIG)

    assert (reply.status, reply.action) == (200, "recovered")
    assert 2 <= len(world.calls) <= 4
    assert world.sent.prompt_tokens < 1_500


async def test_hidden_tokens_are_reckoned_with(world_factory: Any) -> None:
    """
    A server that counts a third more than we do is served after one refusal.
    """
    world = await world_factory(blind=True, sim={"token_ratio": 1.9})
    reply = await world.chat(chat_session(9))

    assert (reply.status, reply.action, len(world.calls)) == (200, "recovered", 2)
    assert world.sent.prompt_tokens < WINDOW


async def test_the_deadline_allows_no_new_try(world_factory: Any) -> None:
    """
    After the deadline a refusal is final.
    """
    world = await world_factory(blind=True, recovery={"deadline": 0.000001})
    world.upstream.will(overflow(limit=8_192), answer("late"))
    reply = await world.chat(BIG)

    assert (reply.status, reply.action, len(world.calls)) == (400, "gave-up", 1)
