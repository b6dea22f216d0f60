"""
The trace of one exchange: a span for the whole, and one for each call to an upstream, by the names of the GenAI
semantic conventions of OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxy.pipeline.guarded import guarded
from proxy.pipeline.heads import Heads
from proxy.telemetry.traces import CARRIED, NO_SPAN, Context, NoTracer, Span, Tracer, Value
from proxy.upstream.wire import Headers

OPERATION = "chat"
LONGEST = 200
"""Characters of a model's name, which the client chooses."""
_OURS = "concertina."
_USAGE = {
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "status": "http.response.status_code",
}
_TOLD = (
    "id", "route", "action", "why", "ended", "attempts", "before_tokens", "after_tokens", "threshold", "window",
    "window_source", "record", "depth", "summary_calls", "degraded", "before_cost", "after_cost",
)  # fmt: skip


class Trace:
    """
    Follows one exchange; with no tracer it does nothing and leaves headers as they are.
    """

    __slots__ = ("_call", "_tracer", "_upstream", "_whole")

    def __init__(self) -> None:
        self._tracer: Tracer | None = None
        self._whole: Span = NO_SPAN
        self._call: Span | None = None
        self._upstream = ""

    @property
    def trace_id(self) -> str:
        """
        Return the id of the trace, empty where there is none.
        """
        return self._whole.trace_id

    @classmethod
    def begun(cls, tracer: Tracer, heads: Heads, upstream: str) -> Trace:
        """
        Begin with the request, as a child of the client's own span if it told one.
        """
        trace = cls()
        trace._tracer, trace._upstream = tracer, upstream
        parent = {name: heads[name] for name in CARRIED if name in heads}
        trace._whole = tracer.begin(OPERATION, parent=parent, serves=True, attributes=trace._names())
        return trace

    def call(self, headers: Headers, *, model: str) -> tuple[Span, Headers]:
        """
        Begin a call to an upstream; return its span, and *headers* with that span as parent.
        """
        tracer = self._tracer
        if tracer is None:
            return NO_SPAN, headers
        untraced: tuple[Span, Headers] = (NO_SPAN, headers)
        return guarded("trace", self._called, tracer, headers, model[:LONGEST], otherwise=untraced)

    def _called(self, tracer: Tracer, headers: Headers, model: str) -> tuple[Span, Headers]:
        span = tracer.begin(
            f"{OPERATION} {model}".strip(),
            parent=self._whole.context,
            serves=False,
            attributes={**self._names(), "gen_ai.request.model": model},
        )
        return span, _carrying(headers, span.context)

    def main_call(self, headers: Headers, *, model: str) -> Headers:
        """
        Begin the call whose answer may be relayed; it ends when it is refused, or with the exchange.
        """
        if self._tracer is not None:
            self._call, headers = self.call(headers, model=model)
        return headers

    def refused(self, fault: str) -> None:
        """
        End the call that was refused.
        """
        no_attributes: Mapping[str, Value] = {}
        guarded("trace", self._end_call, no_attributes, fault, otherwise=None)

    def end(self, event: Mapping[str, object], *, fault: str) -> None:
        """
        End the exchange with the fields of its canonical event.
        """
        if self._tracer is None:
            return
        usage = {_USAGE[name]: value for name, value in _plain(event).items() if name in _USAGE}
        self._end_call(usage, fault)
        told = {_OURS + name: value for name, value in _plain(event).items() if name in _TOLD}
        model = str(event.get("model", ""))[:LONGEST]
        self._whole.tell({**usage, **told, "gen_ai.request.model": model})
        self._whole.end(fault)

    def _end_call(self, attributes: Mapping[str, Value], fault: str) -> None:
        if self._call is not None:
            self._call.tell(attributes)
            self._call.end(fault)
            self._call = None

    def _names(self) -> dict[str, Value]:
        return {"gen_ai.operation.name": OPERATION, "gen_ai.provider.name": self._upstream}


UNTRACED = Trace()
"""Follows nothing: the trace of every exchange where there is no tracer."""


def trace_of(tracer: Tracer, heads: Heads, upstream: str) -> Trace:
    """
    Begin the trace of a request; a fault of the tracer's leaves it without one.
    """
    if isinstance(tracer, NoTracer):
        return UNTRACED
    return guarded("trace", Trace.begun, tracer, heads, upstream, otherwise=UNTRACED)


def _plain(event: Mapping[str, object]) -> dict[str, Value]:
    return {name: value for name, value in event.items() if isinstance(value, str | int | float | bool)}


def _carrying(headers: Headers, context: Context) -> Headers:
    if not context:
        return headers
    kept = tuple(pair for pair in headers if pair[0].lower() not in CARRIED)
    return (*kept, *context.items())
