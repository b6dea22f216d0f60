"""
The seam behind which traces are made: spans that begin, carry attributes and end. No text of a message goes in.

Without an endpoint nothing is made, and a client's ``traceparent`` passes on as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

Value = str | int | float | bool
Context = Mapping[str, str]
"""Headers that carry a trace: ``traceparent`` and ``tracestate``."""
CARRIED = ("traceparent", "tracestate")
MISSING = "needs the extra otel: pip install 'concertina-proxy[otel]'"
NO_CONTEXT: Context = {}


class Span(Protocol):
    """
    One piece of work.
    """

    @property
    def trace_id(self) -> str:
        """
        Return the id of the whole trace, empty where none is made.
        """
        ...

    @property
    def context(self) -> Context:
        """
        Return the headers that make a call a child of this span.
        """
        ...

    def tell(self, attributes: Mapping[str, Value]) -> None:
        """
        Add attributes.
        """
        ...

    def end(self, fault: str = "") -> None:
        """
        End it; *fault* is the kind of what went wrong.
        """
        ...


class Tracer(Protocol):
    """
    Begins spans.
    """

    def begin(self, name: str, *, parent: Context, serves: bool, attributes: Mapping[str, Value]) -> Span:
        """
        Begin a span under *parent*; it *serves* a client, or else calls a server.
        """
        ...

    def close(self) -> None:
        """
        Send what is left.
        """
        ...


class NoSpan:
    """
    Nothing is made.
    """

    trace_id = ""
    context = NO_CONTEXT

    def tell(self, attributes: Mapping[str, Value]) -> None:
        """
        Forget them.
        """

    def end(self, fault: str = "") -> None:
        """
        Do nothing.
        """


class NoTracer:
    """
    Makes none.
    """

    def begin(self, name: str, *, parent: Context, serves: bool, attributes: Mapping[str, Value]) -> Span:  # noqa: ARG002 - a Tracer
        """
        Return a span that is none.
        """
        return NO_SPAN

    def close(self) -> None:
        """
        Do nothing.
        """


NO_SPAN = NoSpan()


def installed() -> bool:
    """
    Tell whether the packages of the extra are there.
    """
    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def open_tracer(endpoint: str | None) -> Tracer:
    """
    Return a tracer that sends to *endpoint*.

    Raises ``ImportError`` where the extra is not installed, which the settings are checked for.
    """
    if endpoint is None:
        return NoTracer()
    # By name and late: the packages are an extra, and take a while to load.
    tracer: Tracer = import_module("proxy.telemetry.otel").OtlpTracer.to(endpoint)
    return tracer
