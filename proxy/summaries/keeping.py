"""
What goes into a summary whatever else does: pinned words of the user, and what plug-ins set aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from proxy.chat.messages import Message
from proxy.chat.patterns import OwnPattern, Patience
from proxy.compaction.handover import ask_text, is_real_ask
from proxy.summaries.base import Note
from proxy.summaries.ledger.sizes import cut_to
from proxy.summaries.ledger.units import clean
from proxy.summaries.transcript import shorten

WHOLE_CHARS = 2_000
"""A pinned message up to this size is kept whole, a longer one by its paragraphs."""
NOTE_CHARS = 6_000
"""What a plug-in returns is cut to its head and tail above this size."""
MASKED_CHARS = 32 * NOTE_CHARS
"""Characters at either end that are looked at for secrets; what lies further inside is cut away in any case."""
_PARAGRAPHS = re.compile(r"\n\s*\n")


def pinned(
    rows: Sequence[Message], patterns: Sequence[str], *, mask: bool, patience: Patience | None = None
) -> tuple[str, ...]:
    """
    Return the words of the user that match one of *patterns*, verbatim but for secrets, in order and once each; those
    found before *patience* ends.
    """
    if not patterns:
        return ()
    patience = patience or Patience()
    rules = [OwnPattern(pattern, patience) for pattern in patterns]
    found: dict[str, None] = {}
    for row in rows:
        if is_real_ask(row):
            text = clean(ask_text(row), mask=mask).strip()
            found |= dict.fromkeys(_matching(text, rules))
    return tuple(found)


def note(source: str, text: str, *, mask: bool) -> Note | None:
    """
    Return what a plug-in said, secrets masked and then cut; ``None`` where it said nothing.
    """
    text = clean(_ends(text), mask=mask).strip()
    return Note(source, shorten(text, NOTE_CHARS)) if text else None


def _ends(text: str) -> str:
    """
    Return the two ends of a text of any size, without the words that a cut would halve.
    """
    if len(text) <= 2 * MASKED_CHARS:
        return text
    first, last = text[:MASKED_CHARS], text[-MASKED_CHARS:]
    return f"{first[: first.rfind(' ')]}\n{last[last.find(' ') + 1 :]}"


def within(texts: Sequence[str], room: float, count: Callable[[str], int]) -> list[str]:
    """
    Return the texts that *room* tokens hold, in order; the newest first where they do not all fit.
    """
    taken: list[str] = []
    for text in reversed(texts):
        cost = count(text) + 3
        if cost <= room:
            room -= cost
            taken.append(text)
    return taken[::-1]


def notes_within(notes: Sequence[Note], room: int, count: Callable[[str], int]) -> tuple[Note, ...]:
    """
    Return what plug-ins said, each cut in its middle to its part of *room* tokens.
    """
    if not notes:
        return ()
    cut = (replace(note, text=cut_to(note.text, room // len(notes), count)) for note in notes)
    return tuple(note for note in cut if note.text)


def _matching(text: str, rules: Sequence[OwnPattern]) -> list[str]:
    spans = [span for rule in rules for span in rule.spans(text)]
    if not spans:
        return []
    if len(text) <= WHOLE_CHARS:
        return [text]
    return [
        text[start:end].strip()
        for start, end in _paragraphs(text)
        if any(start < max(last, first + 1) and first < end for first, last in spans)
    ]


def _paragraphs(text: str) -> list[tuple[int, int]]:
    gaps = [match.span() for match in _PARAGRAPHS.finditer(text)]
    starts = [0, *(end for _, end in gaps)]
    ends = [*(start for start, _ in gaps), len(text)]
    return list(zip(starts, ends, strict=True))
