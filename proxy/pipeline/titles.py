"""
What people call a conversation: the first line of its summary's goal.
"""

from __future__ import annotations

from proxy.compaction.handover import unwrap
from proxy.privacy.redact import redact
from proxy.summaries.sections import Section, section_of

TITLE_CHARACTERS = 80
_DECORATION = " \t-*•>\"'`“”„«»「」"
_ELLIPSIS = "…"


def title_of(summary: str | None) -> str:
    """
    Return the title that *summary*, handover included, gives a conversation; empty where it names no goal.
    """
    body = unwrap(summary or "") or ""
    inside = False
    for line in body.splitlines():
        section = section_of(line)
        if section is not None:
            inside = section is Section.GOAL
        elif inside and (text := line.strip(_DECORATION)):
            return _short(redact(text))
    return ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[: TITLE_CHARACTERS - 1].rstrip() + _ELLIPSIS
