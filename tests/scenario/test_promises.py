"""
The ten promises, a class each, judged by the bytes on both sides of the proxy.
"""

import asyncio
from typing import Any

import pytest
import structlog

from proxy.chat.json import dumps, loads
from proxy.simulator.steps import (
    answer,
    gzipped,
    hang,
    overflow,
    raw,
    repeat,
    reset_at_once,
    reset_midstream,
    status,
    when,
)
from tests.support.conversations import (
    TOOLS,
    agent_session,
    assistant,
    call,
    chat_session,
    filler,
    result,
    system,
    tool_schema,
    user,
)
from tests.support.worlds import WINDOW, error_of, is_whole, texts

BIG = chat_session(16)
SMALL = chat_session(3)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
SECRET = "Bearer sk-promise-0123456789abcdef"


class TestP1ByteForByte:
    """
    A request that needs no compaction, and every answer, pass byte for byte.
    """

    @STREAMS
    async def test_the_request(self, world_factory: Any, stream: bool) -> None:
        """
        Odd spacing, escapes, order of keys.
        """
        world = await world_factory()
        flag = b"true" if stream else b"false"
        body = (
            b'{ "stream":'
            + flag
            + b',"messages" : [ {"role":"user","content":"\\u00e9\\/"} ],\n"model":"sim-model" , "x":1e3 }'
        )
        await world.post(body)

        assert world.sent.body == body

    @STREAMS
    @pytest.mark.parametrize("rows", [SMALL, BIG], ids=["untouched", "compacted"])
    async def test_the_answer(self, world_factory: Any, rows: Any, stream: bool) -> None:
        """
        What the model says reaches the client as it was said, usage included or left out as the client asked.
        """
        kind = "text/event-stream" if stream else "application/json"
        chunks = (
            (b": hi\r\n\r\n", b'data: {"choices":[{"delta":{"content":"\xc3\xa9"}}]}\r\n\r\n', b"data: [DONE]\r\n\r\n")
            if stream
            else (b'\n {"choices" : [ {"message":{"content":"ok"}} ], ', b'"x":1.50}\n')
        )
        world = await world_factory()
        world.upstream.will(raw(200, (("Content-Type", kind),), chunks=chunks))
        reply = await world.chat(rows, stream=stream)

        assert reply.body == b"".join(chunks)

    async def test_a_compressed_answer(self, world_factory: Any) -> None:
        """
        Gzip stays gzip on the way.
        """
        world = await world_factory()
        world.upstream.will(gzipped())
        reply = await world.chat(BIG)

        assert (reply.status, reply.headers["content-encoding"]) == (200, "gzip")
        assert loads(reply.body)["choices"]


class TestP2NothingUnknownIsChanged:
    """
    Kept rows and fields are the client's own; only ``messages`` is spliced.
    """

    async def test_fields_and_rows(self, world_factory: Any) -> None:
        """
        Unknown fields at the top, in rows, in parts and in calls survive a compaction.
        """
        world = await world_factory(sim={"strict": False})
        odd_call = call("run", id="z", command="make")
        odd_call["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "c2ln"}}
        odd_call["reasoning_details"] = [{"type": "reasoning.encrypted", "data": "b3BhcXVl"}]
        rows = [*BIG, odd_call, result("z") | {"is_error": False}]
        reply = await world.chat(rows, metadata={"a": 1}, future_field=[None], tools=list(TOOLS))

        assert reply.action == "compacted"
        assert world.sent.messages[-2:] == rows[-2:]
        assert {name: value for name, value in world.sent.fields.items() if name != "messages"} == {
            "model": "sim-model",
            "metadata": {"a": 1},
            "future_field": [None],
            "tools": list(TOOLS),
        }

    @pytest.mark.parametrize("path", ["/embeddings", "/models", "/responses", "/completions", "/something/new"])
    async def test_other_paths(self, world_factory: Any, path: str) -> None:
        """
        Everything but chat completions is forwarded untouched.
        """
        world = await world_factory()
        body = b'{"input": "caf\\u00e9",  "model":"sim-model"}'
        await world.proxied.post(body, path=path)

        assert (world.upstream.received[-1].path, world.upstream.received[-1].body) == ("/v1" + path, body)


class TestP3FaultsOfOursNeverFail:
    """
    Fail open; the whole list stands in test_fail_open.py.
    """

    async def test_summariser_and_store_down_at_once(self, world_factory: Any, monkeypatch: Any) -> None:
        """
        No model, no store, and a history that cannot fit: answered.
        """
        world = await world_factory()

        async def broken(*_: object, **__: object) -> None:
            raise RuntimeError("broken for a test")

        for name in ("find", "put", "get_fact", "put_fact"):
            monkeypatch.setattr(type(world.proxied.proxy.core.store), name, broken)
        world.upstream.will(repeat(8, when(status(500), summary=True)))
        reply = await world.chat(BIG)

        assert (reply.status, reply.action) == (200, "compacted")


class TestP4Retries:
    """
    At most four tries, none after content, none that SDKs make themselves.
    """

    @pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504])
    async def test_what_sdks_retry_is_left_to_them(self, world_factory: Any, code: int) -> None:
        """
        One call, and the status as it came.
        """
        world = await world_factory()
        world.upstream.will(repeat(3, status(code)))
        reply = await world.chat(SMALL)

        assert (reply.status, len(world.calls)) == (code, 1)

    async def test_a_broken_connection_is_not_sent_twice(self, world_factory: Any) -> None:
        """
        The request was received, perhaps billed: 502.
        """
        world = await world_factory()
        world.upstream.will(reset_at_once())
        reply = await world.chat(SMALL)

        assert (reply.status, len(world.upstream.received)) == (502, 1)

    async def test_four_tries(self, world_factory: Any) -> None:
        """
        An upstream that always refuses is asked four times at most.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(repeat(9, overflow(wording="bare")))
        await world.chat(BIG)

        assert len(world.calls) <= 4

    async def test_no_clean_end_after_a_break(self, world_factory: Any) -> None:
        """
        A stream that dies in the middle never ends as if it were whole.
        """
        world = await world_factory()
        world.upstream.will(reset_midstream())
        with pytest.raises(Exception, match=r"payload|closed|Connection"):
            await world.chat(BIG, stream=True)

    @STREAMS
    async def test_a_client_that_leaves_cancels_the_call(self, world_factory: Any, stream: bool) -> None:
        """
        The upstream sees its connection end, after a compaction as well.
        """
        world = await world_factory()
        world.upstream.will(hang())
        asking = asyncio.ensure_future(world.proxied.chat(BIG, stream=stream))
        await world.upstream.until(lambda: world.upstream.main_calls)
        asking.cancel()
        await world.upstream.until(lambda: world.upstream.main_calls[0].cancelled)

        await asyncio.wait_for(world.proxied.proxy.edge.idle.wait(), 5)
        assert world.proxied.proxy.edge.inflight == 0


CLIENTS = {
    "agent": agent_session(40, bytes_per_round=700),
    "chat": BIG,
    "pending round": [*BIG[:-1], *agent_session(5)[1:]],
    "open call": [*BIG, call("run", id="open", command="make")],
    "prefill": [*BIG, assistant("Sure: ")],
    "two users": [*BIG, user("and"), user("also")],
    "assistant first": [BIG[0], assistant("Welcome!"), *BIG[1:]],
    "no system": BIG[1:],
    "system in the middle": [*BIG[:9], system("be brief"), *BIG[9:]],
    "orphan result": [*BIG[:5], result("nobody"), *BIG[5:]],
    "lost result": [*BIG[:4], call("run", id="lost", command="x"), *BIG[5:]],
    "one huge ask": [system(), user(filler(40_000, seed="ask"))],
    "asks only": [system(), *(user(filler(1_500, seed=f"u{n}")) for n in range(25))],
}


class TestP5Legal:
    """
    A plan introduces no violation that the client's own request lacks.
    """

    @pytest.mark.parametrize("name", CLIENTS)
    async def test_introduces_nothing(self, world_factory: Any, name: str) -> None:
        """
        Judged by the simulator's own rules, on every shape a client sends.
        """
        world = await world_factory(sim={"strict": False})
        reply = await world.chat(CLIENTS[name])

        assert (reply.status, reply.action) == (200, "compacted")
        assert world.sent.introduced(CLIENTS[name]) == {}

    @pytest.mark.parametrize("name", CLIENTS)
    async def test_strict_roles_have_no_violation_at_all(self, world_factory: Any, name: str) -> None:
        """
        With ``roles: strict`` even the client's own faults are mended where the request is rewritten.
        """
        world = await world_factory(
            sim={"alternation": "on", "open_calls_at_end": True}, compaction={"roles": "strict"}
        )
        reply = await world.chat(CLIENTS[name])

        assert (reply.status, world.sent.violations) == (200, ())

    async def test_something_is_asked_after_the_summary(self, world_factory: Any) -> None:
        """
        The only ask lies far before the cut: it is restated, word for word.
        """
        world = await world_factory()
        rows = agent_session(50, ask="rename the flag --verbose to --loud in all scripts")
        await world.chat(rows)

        after = texts(world.sent).rpartition("[end of notes]")[2]
        assert "rename the flag --verbose to --loud in all scripts" in after


class TestP6Deterministic:
    """
    Same request and same records give the same bytes, and the next request begins with them.
    """

    async def test_twice_the_same(self, world_factory: Any) -> None:
        """
        Byte for byte.
        """
        world = await world_factory()
        await world.chat(BIG)
        first = world.sent.body
        await world.chat(BIG)

        assert world.sent.body == first

    async def test_the_next_extends(self, world_factory: Any) -> None:
        """
        Up to the end of the rows the body is the same.
        """
        world = await world_factory()
        await world.chat(BIG)
        first = world.sent.body
        await world.chat([*BIG, assistant("ok"), user("next")])

        assert world.sent.body.startswith(first.removesuffix(b"]}"))


class TestP7OriginalsAreTheTruth:
    """
    Losing all state costs one compaction a conversation, and nothing else.
    """

    async def test_a_new_process_without_state(self, world_factory: Any) -> None:
        """
        It folds from what the client sends, and resumes from then on.
        """
        for _ in range(2):
            world = await world_factory()
            first = await world.chat(BIG)
            second = await world.chat([*BIG, assistant("ok"), user("next")])

            assert (first.action, second.action) == ("compacted", "reused")


class TestP8Isolation:
    """
    Nothing made for one credential affects another.
    """

    async def test_records(self, world_factory: Any) -> None:
        """
        The second client's request holds nothing of the first one's summary.
        """
        world = await world_factory()
        await world.chat(BIG, headers={"authorization": "Bearer one"})
        first = world.sent.body
        reply = await world.chat(BIG, headers={"authorization": "Bearer two"})

        assert reply.action == "compacted"
        assert world.sent.body != first


class TestP9Privacy:
    """
    Keys and message texts never reach logs, metrics or error messages.
    """

    async def test_logs_and_metrics(self, world_factory: Any, monkeypatch: Any) -> None:
        """
        Through a compaction, a recovery, a fault of ours and a refusal, nothing of the client's is written down.
        """
        words = "the-very-private-sentence"
        rows = [{**row, "content": f"{words} {row['content']}"} for row in BIG]
        with structlog.testing.capture_logs(processors=[structlog.processors.ExceptionRenderer()]) as logged:
            world = await world_factory()
            await world.chat(rows, headers={"authorization": SECRET, "x-concertina-focus": words})
            blind = await world_factory(blind=True)
            await blind.chat(rows, headers={"authorization": SECRET})
            blind.upstream.will(repeat(5, raw(400, body=dumps({"error": {"message": f"bad: {words}"}}))))
            await blind.chat(rows[:4], headers={"authorization": SECRET})
            monkeypatch.setattr(
                "proxy.pipeline.identify.more_digests", lambda _known, rows, **_: {}[rows[0]["content"]]
            )
            await world.chat(rows, headers={"authorization": SECRET})
        metrics = world.proxied.proxy.core.metrics
        written = repr([{k: v for k, v in event.items() if k != "exception"} for event in logged]) + str(vars(metrics))

        assert any(event["event"] == "exchange.finished" for event in logged)
        assert (words in written, "sk-promise" in written) == (False, False)

    async def test_tracebacks_tell_places_alone(self, world_factory: Any, monkeypatch: Any, capsys: Any) -> None:
        """
        A fault of ours is logged by where it happened, neither by its text nor by local values.
        """
        words = "the-very-private-sentence"
        monkeypatch.setattr("proxy.pipeline.identify.more_digests", lambda _known, rows, **_: {}[rows[-1]["content"]])
        world = await world_factory()
        await world.chat([*BIG, assistant("ok"), user(words)], headers={"authorization": SECRET})
        printed = capsys.readouterr()

        assert "identify.py" in printed.out
        assert (words in printed.out + printed.err, "sk-promise" in printed.out + printed.err) == (False, False)

    async def test_our_own_error_quotes_the_upstream_and_not_the_client(self, world_factory: Any) -> None:
        """
        Giving up tells what the upstream said, no word of the conversation.
        """
        world = await world_factory(blind=True, sim={"window": None})
        world.upstream.will(repeat(5, overflow(wording="bare")))
        reply = await world.chat([*BIG[:-1], user("the-very-private-sentence")], headers={"authorization": SECRET})

        assert reply.status == 400
        assert b"the-very-private-sentence" not in reply.body
        assert b"sk-promise" not in reply.body


class TestP10ProgressOrStop:
    """
    A compaction that gains too little is discarded; what cannot be cured ends as a clear 400.
    """

    async def test_a_small_gain_is_no_compaction(self, world_factory: Any) -> None:
        """
        One ask just over the threshold and within the window: nothing to fold, so it goes as it is, every time.
        """
        world = await world_factory(compaction={"threshold_tokens": 3_000})
        rows = [system(), user(filler(11_000, seed="ask"))]
        for _ in range(2):
            reply = await world.chat(rows)

            assert (reply.status, reply.action, world.sent.messages) == (200, "passthrough", rows)
        assert world.upstream.summary_calls == []

    @STREAMS
    async def test_the_end_is_a_400(self, world_factory: Any, stream: bool) -> None:
        """
        In OpenAI's shape, which SDKs do not repeat.
        """
        world = await world_factory()
        tools = [tool_schema(f"t{n}", *(f"p{n}_{p}" for p in range(20))) for n in range(80)]
        reply = await world.chat(SMALL, tools=tools, stream=stream)

        assert (reply.status, error_of(reply)["code"]) == (400, "context_length_exceeded")
        assert world.upstream.summary_calls == []

    async def test_a_session_at_its_limit_keeps_going(self, world_factory: Any) -> None:
        """
        Fixed part and pending round alone pass the threshold: no summary a turn, and every turn is answered.
        """
        world = await world_factory(compaction={"threshold_tokens": 2_000})
        tools = [tool_schema(f"t{n}", *(f"p{n}_{p}" for p in range(10))) for n in range(20)]
        for length in range(6, 21, 2):
            reply = await world.chat(chat_session(12)[:length], tools=tools)

            assert is_whole(reply, stream=False)
            assert world.sent.prompt_tokens < WINDOW
        assert len(world.upstream.summary_calls) <= 4

    async def test_a_silent_model_is_no_reason_to_wait_for_ever(self, world_factory: Any) -> None:
        """
        The summary is bounded in time, the answer is not.
        """
        world = await world_factory(compaction={"summarizer": {"wait": 0.05, "timeout": 0.2}})
        world.upstream.will(repeat(3, when(hang(), summary=True)), answer("late but whole"))
        reply = await world.chat(BIG)

        assert (reply.status, b"late but whole" in reply.body) == (200, True)
