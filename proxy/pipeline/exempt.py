"""
Requests that are left alone unless they overflow.
"""

from __future__ import annotations

import re

from proxy.chat.messages import is_user, text_of
from proxy.chat.request import ChatRequest

SERVER_STATE = ("previous_response_id", "conversation", "transforms", "context_management")
"""Fields by which the upstream holds or compacts the history itself."""

_HOLDING = frozenset({*SERVER_STATE, "plugins"})
_OWN_SUMMARY = re.compile(
    r"\b(summari[sz]e|compact|condense)\b.{0,80}\b(conversation|session|history|transcript|chat|context)\b"
    r"|\bsummary of (the|our|this) (conversation|session|chat)\b|(总结|概括|摘要).{0,20}(对话|会话|聊天)",
    re.IGNORECASE | re.DOTALL,
)


def exemption(request: ChatRequest) -> str | None:
    """
    Return why the request is left alone, ``None`` where it is not.
    """
    held = None if _HOLDING.isdisjoint(request.data) else _held_elsewhere(request)
    if held is not None:
        return held
    if request.asked_output == 1:
        return "probe"
    return "own summary" if _asks_for_a_summary(request) else None


def _held_elsewhere(request: ChatRequest) -> str | None:
    for field in SERVER_STATE:
        if request.data.get(field):
            return field
    plugins = request.data.get("plugins")
    if isinstance(plugins, list) and any("compression" in str(p.get("id")) for p in plugins if isinstance(p, dict)):
        return "plugins"
    return None


def _asks_for_a_summary(request: ChatRequest) -> bool:
    """
    Tell a client's own summarisation call: no tools, and a long last instruction to summarise the conversation.
    """
    last = request.messages[-1]
    if not is_user(last):
        return False
    text = text_of(last)
    # A user who asks in passing writes a line; clients send a page of instructions.
    if len(text) < 400 or request.tools:
        return False
    return _OWN_SUMMARY.search(text[:4_000] + text[-2_000:]) is not None
