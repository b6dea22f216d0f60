"""
How long a request may wait for what an upstream says of its window: its first moments, and only where it matters.
"""

from __future__ import annotations

from proxy.pipeline.exchange import Exchange
from proxy.pipeline.knowledge import Discover
from proxy.upstream.discovery import FIRST_WAIT, WindowDiscovery

SMALL_BODY = 4_000
"""Bytes, so tokens at most: what fits every window that a chat can be held in need not wait."""


def first_word(discovery: WindowDiscovery) -> Discover:
    """
    Return the question for an exchange's window: a larger request waits up to 200 ms, once, while nothing is known.
    """

    async def discover(exchange: Exchange, model: str) -> int | None:
        asked = exchange.incoming
        patience = FIRST_WAIT if len(asked.body) > SMALL_BODY else 0.0
        return await discovery.window(exchange.party.upstream, model, asked.headers, patience=patience)

    return discover
