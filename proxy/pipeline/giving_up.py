"""
The last word where nothing helps: one OpenAI-shaped 400 that says why, in the upstream's words and in ours.
"""

from __future__ import annotations

from proxy.chat.errors import context_length_exceeded
from proxy.pipeline.scene import Scene
from proxy.recovery.fault import Fault
from proxy.upstream.wire import Answer

HEADERS = (("content-type", "application/json"),)
FILLED_SHARE = 0.9
"""From this share of the window on system prompt and tools are what is in the way, not the history."""


def gave_up(fault: Fault, scene: Scene | None) -> Answer:
    """
    Return ``context_length_exceeded``, whatever status the upstream chose.
    """
    said = fault.message or "the upstream gave no reason"
    ours = _in_the_way(fault, scene) or "The conversation does not fit the model, even compacted as far as it goes."
    return Answer.of_bytes(400, HEADERS, context_length_exceeded(f"{ours} The upstream said: {said}"))


def _in_the_way(fault: Fault, scene: Scene | None) -> str:
    """
    Return what fills the window by itself; nothing where the history is at fault.
    """
    if scene is None or fault.byte_limit is not None:
        return ""
    window = fault.limit or scene.window.tokens
    fixed = scene.scaled(scene.fixed)
    if fixed < FILLED_SHARE * window:
        return ""
    return (
        f"The system prompt and the tools alone take about {fixed} tokens of a window of {window}; "
        "they are never shortened, so that no compaction of the conversation can make this request fit."
    )
