"""
Traces by OpenTelemetry; needs the extra ``otel``, so only ``traces.open_tracer`` imports this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span as RawSpan
from opentelemetry.trace import SpanKind, format_trace_id, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import StatusCode

from proxy import __version__
from proxy.telemetry.traces import Context, Value

SECONDS = 3.0
"""What sending may take, repeats included: the end of the process waits for it."""
TRACES_PATH = "/v1/traces"
_PROPAGATOR = TraceContextTextMapPropagator()


class OtlpSpan:
    """
    A span of the SDK.
    """

    def __init__(self, raw: RawSpan) -> None:
        self._raw = raw

    @property
    def trace_id(self) -> str:
        """
        Return 32 hexadecimal digits.
        """
        return format_trace_id(self._raw.get_span_context().trace_id)

    @property
    def context(self) -> Context:
        """
        Return the headers for a call under this span.
        """
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, set_span_in_context(self._raw))
        return carrier

    def tell(self, attributes: Mapping[str, Value]) -> None:
        """
        Add attributes.
        """
        self._raw.set_attributes(attributes)

    def end(self, fault: str = "") -> None:
        """
        End it.
        """
        if fault:
            self._raw.set_attribute("error.type", fault)
            self._raw.set_status(StatusCode.ERROR)
        self._raw.end()


class OtlpTracer:
    """
    Hands spans to *processor*.
    """

    def __init__(self, processor: SpanProcessor) -> None:
        resource = Resource.create({"service.name": "concertina", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("concertina", __version__)

    @classmethod
    def to(cls, endpoint: str) -> Self:
        """
        Return a tracer that sends in batches, from a thread, to the collector at *endpoint*.
        """
        url = endpoint if endpoint.endswith(TRACES_PATH) else endpoint.rstrip("/") + TRACES_PATH
        return cls(BatchSpanProcessor(OTLPSpanExporter(url, timeout=SECONDS)))

    def begin(self, name: str, *, parent: Context, serves: bool, attributes: Mapping[str, Value]) -> OtlpSpan:
        """
        Begin a span.
        """
        kind = SpanKind.SERVER if serves else SpanKind.CLIENT
        raw = self._tracer.start_span(name, _PROPAGATOR.extract(parent), kind=kind, attributes=attributes)
        return OtlpSpan(raw)

    def close(self) -> None:
        """
        Send what is left; call it in a thread.
        """
        self._provider.shutdown()
