"""
Traces: a span for each exchange and one for each call to an upstream, by OpenTelemetry's names.
"""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from proxy.config.load import load_settings
from proxy.config.settings import AppSettings
from proxy.errors import SettingsError
from proxy.simulator.steps import overflow
from proxy.telemetry import traces
from proxy.wiring import build
from tests.support.conversations import chat_session

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from proxy.telemetry.otel import OtlpTracer

OVER = chat_session(9)
SMALL = chat_session(2)
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traced(world_factory: Any, exporter: InMemorySpanExporter) -> Any:
    """
    Start worlds whose proxy traces into memory.
    """

    async def start(**settings: Any) -> Any:
        return await world_factory(tracer=OtlpTracer(SimpleSpanProcessor(exporter)), **settings)

    return start


def by_kind(exporter: InMemorySpanExporter) -> tuple[list[Any], list[Any]]:
    """
    Return the spans of exchanges, and those of calls.
    """
    spans = exporter.get_finished_spans()
    return [s for s in spans if s.kind is SpanKind.SERVER], [s for s in spans if s.kind is SpanKind.CLIENT]


async def test_an_exchange_and_its_calls_are_spans_of_the_clients_trace(traced: Any, exporter: Any) -> None:
    """
    The client's span is the parent of ours, ours that of the calls, and the upstream is told the call's.
    """
    world = await traced()
    reply = await world.chat(OVER, headers={"traceparent": PARENT, "tracestate": "vendor=1"})
    (exchange,), calls = by_kind(exporter)
    summary, main = sorted(calls, key=lambda span: span.start_time)

    assert {span.context.trace_id for span in (exchange, summary, main)} == {int(TRACE, 16)}
    assert exchange.parent.span_id == int("b7ad6b7169203331", 16)
    assert {summary.parent.span_id, main.parent.span_id} == {exchange.context.span_id}
    assert world.sent.header("traceparent") == f"00-{TRACE}-{main.context.span_id:016x}-01"
    assert world.sent.header("tracestate") == "vendor=1"
    assert world.upstream.summary_calls[0].header("traceparent") == f"00-{TRACE}-{summary.context.span_id:016x}-01"
    assert exchange.attributes["concertina.id"] == reply.headers["x-concertina-id"]


async def test_spans_tell_model_tokens_and_what_was_done(traced: Any, exporter: Any) -> None:
    """
    By the names of the GenAI conventions, and ours under a prefix of our own.
    """
    world = await traced()
    await world.chat(OVER)
    (exchange,), calls = by_kind(exporter)
    main = max(calls, key=lambda span: span.start_time)

    assert main.name == "chat sim-model"
    for span in (exchange, main):
        assert span.attributes["gen_ai.operation.name"] == "chat"
        assert span.attributes["gen_ai.provider.name"] == "sim"
        assert span.attributes["gen_ai.request.model"] == "sim-model"
        assert span.attributes["gen_ai.usage.input_tokens"] == world.sent.prompt_tokens
        assert span.attributes["http.response.status_code"] == 200
    assert exchange.attributes["concertina.action"] == "compacted"
    assert exchange.attributes["concertina.before_tokens"] > exchange.attributes["concertina.after_tokens"]


async def test_each_try_is_a_span_and_a_refusal_is_an_error(traced: Any, exporter: Any) -> None:
    """
    The exchange itself was recovered, so it is none.
    """
    world = await traced(blind=True)
    world.upstream.will(overflow(limit=4_000))
    reply = await world.chat(OVER)
    (exchange,), calls = by_kind(exporter)
    faults = [call.attributes.get("error.type") for call in calls]

    assert (reply.action, exchange.attributes.get("error.type")) == ("recovered", None)
    assert faults.count("context_overflow") == 1
    assert len([fault for fault in faults if fault is None]) >= 1
    assert exchange.attributes["concertina.attempts"] == 2


async def test_an_upstream_that_is_down_ends_both_spans_as_errors(
    proxy_factory: Any, exporter: Any, unused_tcp_port: int
) -> None:
    """
    No span stays open.
    """
    tracer = OtlpTracer(SimpleSpanProcessor(exporter))
    proxied = await proxy_factory(f"http://127.0.0.1:{unused_tcp_port}/v1", tracer=tracer)
    await proxied.chat(SMALL)
    (exchange,), (call,) = by_kind(exporter)

    assert exchange.attributes["error.type"] == call.attributes["error.type"] == "upstream-failed"


@pytest.mark.parametrize("stream", [False, True])
async def test_no_text_and_no_key_is_in_a_trace(traced: Any, exporter: Any, stream: bool) -> None:
    """
    Whatever the exchange was.
    """
    world = await traced()
    rows = [*OVER[:-1], {"role": "user", "content": "Remember zanzibar-4711."}]
    await world.chat(rows, stream=stream, headers={"authorization": "Bearer sk-zanzibar", "x-request-id": "r-1"})
    told = "".join(span.to_json() for span in exporter.get_finished_spans())

    assert "concertina.route" in told
    assert "zanzibar" not in told
    assert "SUMMARY" not in told


async def test_without_an_endpoint_the_clients_trace_passes_as_it_came(world_factory: Any) -> None:
    """
    Byte for byte.
    """
    world = await world_factory()
    await world.chat(SMALL, headers={"traceparent": PARENT, "tracestate": "a=1"})

    assert (world.sent.header("traceparent"), world.sent.header("tracestate")) == (PARENT, "a=1")


async def test_spans_reach_a_collector(world_factory: Any, unused_tcp_port: int) -> None:
    """
    By OTLP over HTTP, at the latest when the proxy ends.
    """
    got: list[ExportTraceServiceRequest] = []

    async def receive(request: web.Request) -> web.Response:
        message = ExportTraceServiceRequest()
        message.ParseFromString(await request.read())
        got.append(message)
        return web.Response(content_type="application/x-protobuf")

    app = web.Application()
    app.router.add_post("/v1/traces", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    world = await world_factory(otlp=f"http://127.0.0.1:{unused_tcp_port}")
    await world.chat(SMALL)
    await world.proxied.listening.stop()
    await world.proxied.proxy.close()
    await runner.cleanup()
    resource = got[0].resource_spans[0]

    assert {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}[
        "service.name"
    ] == "concertina"
    assert sorted(span.name for span in resource.scope_spans[0].spans) == ["chat", "chat sim-model"]


async def test_a_collector_that_is_down_costs_nothing(world_factory: Any, unused_tcp_port: int) -> None:
    """
    Spans wait in a queue of bounded size and are given up.
    """
    world = await world_factory(otlp=f"http://127.0.0.1:{unused_tcp_port}")

    assert (await world.chat(SMALL)).status == 200


def test_a_missing_extra_is_a_mistake_with_its_remedy(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Found by check, before anything is served.
    """
    monkeypatch.setattr("proxy.config.checks.installed", lambda: False)
    file = tmp_path / "c.yaml"
    file.write_text("otlp: http://127.0.0.1:4318\nupstreams: {a: {base_url: http://127.0.0.1:1/v1}}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(file, environ={})

    assert caught.value.mistakes == (f"{file}:1: otlp: {traces.MISSING}",)


async def test_a_proxy_without_traces_makes_no_tracer() -> None:
    """
    The packages are not even loaded.
    """
    proxy = await build(
        AppSettings.model_validate(
            {"store": {"url": "memory://"}, "upstreams": {"a": {"base_url": "http://127.0.0.1:1/v1"}}}
        )
    )
    tracer = proxy.core.tracer
    await proxy.close()

    assert isinstance(tracer, traces.NoTracer)
