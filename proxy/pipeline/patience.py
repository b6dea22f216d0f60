"""
How long a request may wait for a summary.
"""

from __future__ import annotations

from proxy.pipeline.exchange import Exchange
from proxy.upstream.wire import header

READ_TIMEOUT_HEADER = "x-stainless-read-timeout"
SHARE_OF_READ_TIMEOUT = 0.5
"""A request waits for a summary at most this share of its client's own read timeout."""


def patience(exchange: Exchange) -> float:
    """
    Return the seconds that are left of what the route allows and the client's own read timeout bears.
    """
    return max(_allowed(exchange) - exchange.waited, 0.0)


def _allowed(exchange: Exchange) -> float:
    wait = exchange.compaction.summarizer.wait
    stated = header(exchange.incoming.headers, READ_TIMEOUT_HEADER)
    try:
        return min(wait, float(stated) * SHARE_OF_READ_TIMEOUT) if stated else wait
    except ValueError:
        return wait
