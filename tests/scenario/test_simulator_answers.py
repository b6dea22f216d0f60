from collections.abc import AsyncIterator
from io import BytesIO

import aiohttp
import pytest

from proxy.chat.json import dumps, loads
from proxy.chat.sse import SseSplitter
from proxy.simulator.steps import agent_rounds, answer, overflow, status, tool_call, tool_calls, when
from tests.support.conversations import (
    TOOLS,
    assistant,
    call,
    long_session,
    request,
    result,
    system,
    user,
)

pytest_plugins = ["tests.support.fake_upstream"]

ROWS = [system(), user("hello")]
LONG = [system(), user(40_000)]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def ask(http, upstream, rows=ROWS, **fields):
    async with http.post(upstream.url + "/chat/completions", data=request(rows, **fields)) as response:
        return response.status, loads(await response.read())


async def stream(http, upstream, rows=ROWS, path="/chat/completions", **fields):
    async with http.post(upstream.url + path, data=request(rows, stream=True, **fields)) as response:
        splitter = SseSplitter()
        events = splitter.feed(await response.read())
        assert splitter.rest == b""
        return [event.data for event in events]


def content(body):
    return body["choices"][0]["message"]["content"]


async def test_answers_in_openai_s_shape(http, upstream):
    """
    A plain call is answered with a choice and a usage block that adds up.
    """
    status_code, body = await ask(http, upstream)

    usage = body["usage"]
    assert (status_code, body["object"], body["choices"][0]["finish_reason"]) == (200, "chat.completion", "stop")
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def test_the_same_rows_get_the_same_answer(http, upstream):
    """
    The default answer depends on the rows alone.
    """
    texts = [content((await ask(http, upstream))[1]) for _ in range(2)]

    assert texts[0] == texts[1]


async def test_usage_is_what_the_window_is_compared_with(http, upstream_factory):
    """
    Ratio and hidden tokens shape the count that is reported and the count that is refused.
    """
    plain = await upstream_factory()
    odd = await upstream_factory(token_ratio=1.5, hidden_tokens=7)

    counts = [(await ask(http, server))[1]["usage"]["prompt_tokens"] for server in (plain, odd)]

    assert counts[1] == round(counts[0] * 1.5) + 7


async def test_counts_with_the_counter_it_is_given(http, upstream_factory, exact_counter):
    """
    Tests that care about tokens give it the real counter.
    """
    upstream = await upstream_factory(counter=exact_counter)

    _, body = await ask(http, upstream, tools=list(TOOLS))

    expected = exact_counter.messages(ROWS) + exact_counter.fixed({"tools": list(TOOLS)})
    assert body["usage"]["prompt_tokens"] == upstream.received[0].prompt_tokens == expected


async def test_a_stream_is_well_formed(http, upstream):
    """
    Role first, then text, then the finish reason, then the end.
    """
    upstream.will(answer("one two three four"))

    *events, last = await stream(http, upstream)

    choices = [loads(event)["choices"][0] for event in events]
    assert last == b"[DONE]"
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == "one two three four"
    assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]


async def test_a_stream_reports_usage_only_when_asked(http, upstream):
    """
    The usage chunk has no choice, and comes right before the end.
    """
    without = await stream(http, upstream)
    asked = await stream(http, upstream, stream_options={"include_usage": True})

    assert not any(b'"usage"' in event for event in without)
    assert loads(asked[-2])["choices"] == []
    assert loads(asked[-2])["usage"]["prompt_tokens"] > 0


async def test_streams_tool_calls_in_fragments(http, upstream):
    """
    Name and id come first, the arguments piece by piece.
    """
    upstream.will(tool_call("read_file", {"path": "src/a_long_name.py"}))

    *events, _ = await stream(http, upstream)

    deltas = [loads(event)["choices"][0]["delta"].get("tool_calls") for event in events]
    fragments = [delta[0]["function"]["arguments"] for delta in deltas if delta]
    assert len(fragments) > 2
    assert loads("".join(fragments).encode()) == {"path": "src/a_long_name.py"}


async def test_several_calls_get_ids_of_their_own(http, upstream):
    """
    Calls of one answer differ in their ids.
    """
    upstream.will(tool_calls(("a", {}), ("b", {})))

    _, body = await ask(http, upstream)

    ids = {made["id"] for made in body["choices"][0]["message"]["tool_calls"]}
    assert len(ids) == 2


async def test_the_asked_output_cuts_the_answer(http, upstream):
    """
    A probe for one token gets one token, with finish_reason length.
    """
    _, body = await ask(http, upstream, max_tokens=1)

    assert (body["usage"]["completion_tokens"], body["choices"][0]["finish_reason"]) == (1, "length")


async def test_an_agent_loop_ends_by_itself(http, upstream):
    """
    So many tool rounds, then an answer; the conversation that results is legal.
    """
    upstream.will(agent_rounds(3, final="finished"))
    rows = [system(), user("go")]

    while (message := (await ask(http, upstream, rows))[1]["choices"][0]["message"]).get("tool_calls"):
        rows += [message, result(message["tool_calls"][0]["id"], 50)]

    assert (message["content"], len(upstream.received)) == ("finished", 4)


async def test_refuses_what_does_not_fit(http, upstream_factory):
    """
    The refusal states the window and the count of the request.
    """
    upstream = await upstream_factory(window=8_192)

    status_code, body = await ask(http, upstream, LONG)

    assert status_code == 400
    assert f"{upstream.received[0].prompt_tokens} tokens" in body["error"]["message"]


async def test_counts_the_asked_output_where_that_server_does(http, upstream_factory):
    """
    One server adds the asked output to the prompt, another does not.
    """
    adds = await upstream_factory(window=1_000, wording="vllm")
    does_not = await upstream_factory(window=1_000, wording="llamacpp")

    statuses = [(await ask(http, server, max_tokens=2_000))[0] for server in (adds, does_not)]

    assert statuses == [400, 200]


async def test_a_server_may_truncate_in_silence(http, upstream_factory):
    """
    The answer is good, only the usage is far too small.
    """
    upstream = await upstream_factory(window=4_096, wording="ollama-truncate")

    status_code, body = await ask(http, upstream, LONG)

    assert (status_code, body["usage"]["prompt_tokens"]) == (200, 2_050)
    assert upstream.received[0].prompt_tokens > 4_096


async def test_a_full_window_may_end_in_finish_reason_length(http, upstream_factory):
    """
    The answer is empty and says that it was cut.
    """
    upstream = await upstream_factory(window=4_096, wording="finish-length")

    status_code, body = await ask(http, upstream, LONG)

    assert (status_code, content(body), body["choices"][0]["finish_reason"]) == (200, "", "length")


@pytest.mark.parametrize(("wording", "kind"), [("nginx", "text/html"), ("json", "application/json")])
async def test_refuses_bytes_with_413(http, upstream_factory, wording, kind):
    """
    A gateway limits bytes, whatever the tokens.
    """
    upstream = await upstream_factory(max_bytes=1_000, bytes_wording=wording)

    async with http.post(upstream.url + "/chat/completions", data=request(LONG)) as response:
        assert (response.status, response.content_type) == (413, kind)


async def test_refuses_a_large_body_before_reading_it(http, upstream_factory):
    """
    Web servers answer on the Content-Length alone; the client still gets the answer.
    """
    upstream = await upstream_factory(max_bytes=1_000, early_413=True)

    async with http.post(upstream.url + "/chat/completions", data=BytesIO(request([user(5_000_000)]))) as response:
        assert (response.status, upstream.received[0].body) == (413, b"")


async def test_refuses_more_output_than_the_model_gives(http, upstream_factory):
    """
    The cap of the output is stated, and is no overflow.
    """
    upstream = await upstream_factory(max_output=4_096)

    status_code, body = await ask(http, upstream, max_tokens=8_192)

    assert (status_code, "at most 4096 completion tokens" in body["error"]["message"]) == (400, True)


async def test_strict_refuses_a_broken_pair_and_lenient_only_notes_it(http, upstream_factory):
    """
    The violation is recorded in both.
    """
    strict, lenient = await upstream_factory(), await upstream_factory(strict=False)
    rows = [user("a"), call("read", id="x"), user("b")]

    statuses = [(await ask(http, server, rows))[0] for server in (strict, lenient)]

    assert statuses == [400, 200]
    assert [server.received[0].violations[0].kind for server in (strict, lenient)] == ["open_call", "open_call"]


@pytest.mark.parametrize(
    ("alternation", "status_code", "noted"), [("off", 200, 0), ("on", 400, 1), ("as_client", 200, 1)]
)
async def test_alternation_is_judged_as_set(http, upstream_factory, alternation, status_code, noted):
    """
    Off, refused, or noted for the test to compare with what the client sent.
    """
    upstream = await upstream_factory(alternation=alternation)

    answered, _ = await ask(http, upstream, [user("a"), user("b")])

    assert (answered, len(upstream.received[0].violations)) == (status_code, noted)


async def test_a_client_s_own_violation_is_not_held_against_the_sender(http, upstream_factory):
    """
    After the fact a test compares what came with what the client wrote.
    """
    upstream = await upstream_factory(alternation="as_client")
    await ask(http, upstream, [user("a"), user("b"), assistant("c"), user("d")])

    assert upstream.received[0].introduced([user("a"), user("b")]) == {}
    assert upstream.received[0].introduced([user("x")]) == {"alternation": 1}


async def test_steps_come_before_the_default(http, upstream):
    """
    Overflow, then an answer, then the default again.
    """
    upstream.will(overflow(limit=8_192), answer("done"))

    statuses = [(await ask(http, upstream))[0] for _ in range(3)]

    assert (statuses, len(upstream.main_calls)) == ([400, 200, 200], 3)


async def test_a_scripted_answer_waits_for_a_request_that_fits(http, upstream_factory):
    """
    The window is enforced first, so that a scripted answer shows that the request came down.
    """
    upstream = await upstream_factory(window=4_096)
    upstream.will(answer("done"))

    refused, _ = await ask(http, upstream, LONG)
    _, body = await ask(http, upstream)

    assert (refused, content(body)) == (400, "done")


async def test_recognises_summariser_calls_by_model_and_by_words(http, upstream_factory):
    """
    Summaries are numbered, so that a test sees which one is used again.
    """
    upstream = await upstream_factory(summary_model="small", summary_markers=("```", "transcript"))
    asking = [system("Condense the transcript."), user("```\nuser: hi\n```")]

    first = content((await ask(http, upstream, model="small"))[1])
    second = content((await ask(http, upstream, asking))[1])

    assert (first.split("\n")[0], second.split("\n")[0]) == ("SUMMARY-1", "SUMMARY-2")
    assert (len(upstream.summary_calls), len(upstream.main_calls)) == (2, 0)


async def test_a_request_with_tools_is_no_summariser_call_by_words(http, upstream_factory):
    """
    A conversation may talk about transcripts.
    """
    upstream = await upstream_factory(summary_markers=("transcript",))

    await ask(http, upstream, [user("read the transcript")], tools=list(TOOLS))

    assert upstream.summary_calls == []


async def test_summaries_have_the_size_that_is_set(http, upstream_factory, exact_counter):
    """
    Close to the set size, and never above it.
    """
    upstream = await upstream_factory(summary_model="small", summary_tokens=400, counter=exact_counter)

    _, body = await ask(http, upstream, model="small")

    assert 360 <= exact_counter.text(content(body)) <= 400


async def test_a_summary_can_be_made_to_fail(http, upstream_factory):
    """
    Steps for summariser calls are named as such.
    """
    upstream = await upstream_factory(summary_model="small")
    upstream.will(when(status(500), summary=True))

    assert (await ask(http, upstream))[0] == 200
    assert (await ask(http, upstream, model="small"))[0] == 500


async def test_a_growing_conversation_hits_the_prompt_cache(http, upstream):
    """
    All rows of the request before are reported as cached.
    """
    first, second = long_session(2, 200)

    await ask(http, upstream, first)
    _, body = await ask(http, upstream, second)

    assert upstream.received[1].cached_rows == len(first)
    assert 0 < body["usage"]["prompt_tokens_details"]["cached_tokens"] < body["usage"]["prompt_tokens"]


async def test_a_refused_request_is_not_cached(http, upstream):
    """
    What was never processed cannot be in a cache.
    """
    upstream.will(overflow())

    await ask(http, upstream)
    await ask(http, upstream)

    assert upstream.received[1].cached_rows == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"{nonsense", "could not parse"), (b"{}", "messages"), (dumps({"messages": []}), "too short"), (b"[]", "parse")],
)
async def test_answers_odd_bodies_as_providers_do(http, upstream, body, words):
    """
    What is no request is answered 400.
    """
    async with http.post(upstream.url + "/chat/completions", data=body) as response:
        assert (response.status, words in await response.text()) == (400, True)


async def test_keys_are_checked_when_there_are_any(http, upstream_factory):
    """
    A wrong credential is answered 401.
    """
    upstream = await upstream_factory(api_keys=("sk-right",))

    statuses = []
    for key in ("sk-wrong", "sk-right"):
        async with http.get(upstream.url + "/models", headers={"Authorization": f"Bearer {key}"}) as response:
            statuses.append(response.status)

    assert statuses == [401, 200]


@pytest.mark.parametrize("path", ["/completions", "/responses"])
async def test_speaks_the_other_dialects(http, upstream, path):
    """
    Completions and responses are answered in their own shapes.
    """
    kinds = {"/completions": "text_completion", "/responses": "response"}

    async with http.post(upstream.url + path, data=dumps({"model": "m", "prompt": "hi", "input": "hi"})) as response:
        body = loads(await response.read())

    assert (response.status, body["object"]) == (200, kinds[path])


async def test_a_responses_stream_has_named_events(http, upstream):
    """
    It starts with created and ends with completed, without a [DONE].
    """
    events = [loads(event)["type"] for event in await stream(http, upstream, path="/responses", input="hi")]

    assert (events[0], events[-1]) == ("response.created", "response.completed")
