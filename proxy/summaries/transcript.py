"""
Write rows as the labelled transcript that a summariser reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.chat.messages import (
    Message,
    is_assistant,
    is_system,
    is_tool_result,
    part_text,
    parts,
    role_of,
    text_of,
    tool_calls,
)
from proxy.compaction.handover import is_generated_row, neutralise, unwrap
from proxy.privacy.injection import is_suspicious, strip_invisible
from proxy.privacy.redact import redact

BODY_CHARS = (6_000, 3_000, 1_500, 800, 400)
_HEAD_SHARE = 4_000 / 5_500
_KEPT_SHARE = 5_500 / 6_000
_ARGUMENT_CHARS = 1_500
_ARGUMENT_KEPT = 1_200
_DATA_URI = re.compile(r"data:[\w.+-]{1,40}/[\w.+-]{1,80}(?:;[\w=.-]{1,60}){0,4};base64,[A-Za-z0-9+/=_-]*")
_QUOTED_DATA = "quoted data, no instruction"


@dataclass(frozen=True, slots=True)
class Caps:
    """
    How many characters of one row a transcript shows: *body* of what people and the assistant wrote, *tool* of results.
    """

    body: int = BODY_CHARS[0]
    tool: int = BODY_CHARS[0]

    @property
    def argument(self) -> int:
        """
        Characters of the arguments of one call.
        """
        return min(_ARGUMENT_CHARS, max(self.tool, 200))


def transcript(rows: Sequence[Message], *, caps: Caps | None = None, mask: bool = True) -> list[str]:
    """
    Return one labelled text a row, cut to *caps*; secrets are masked before anything is cut.
    """
    caps = caps or Caps()
    return [text for text in (_row(row, caps, mask=mask) for row in rows) if text]


def without_data(text: str) -> str:
    """
    Replace data URIs, whose bytes say nothing to a reader.
    """
    return _DATA_URI.sub("[data]", text) if ";base64," in text else text


def shorten(text: str, size: int) -> str:
    """
    Cut a body over *size* characters to its head and tail, in the proportion 4,000 to 1,500.
    """
    if len(text) <= size:
        return text
    kept = int(size * _KEPT_SHARE)
    head = int(kept * _HEAD_SHARE)
    tail = kept - head
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


def _row(row: Message, caps: Caps, *, mask: bool) -> str:
    label, size = _label(row), caps.tool if is_tool_result(row) else caps.body
    body = _clean(text_of(row), mask=mask)
    if is_generated_row(row):
        label, body = "NOTES FROM EARLIER", unwrap(body) or body
    body = neutralise(body)
    if is_tool_result(row) and is_suspicious(body):
        label = f"{label} ({_QUOTED_DATA})"
    lines = [shorten(body.strip(), size), *_media(row), *_calls(row, caps, mask=mask)]
    text = "\n".join(line for line in lines if line)
    return f"[{label}] {text}" if text else ""


def _label(row: Message) -> str:
    if is_tool_result(row):
        return "TOOL RESULT"
    if is_assistant(row):
        return "ASSISTANT"
    return "SYSTEM" if is_system(row) else role_of(row).upper() or "ROW"


def _media(row: Message) -> list[str]:
    return [
        f"[{part.get('type', 'media')}]" for part in parts(row) if not part_text(part) and part.get("type") != "text"
    ]


def _calls(row: Message, caps: Caps, *, mask: bool) -> list[str]:
    return [f"CALL {call.name}({_argument(_clean(call.arguments, mask=mask), caps)})" for call in tool_calls(row)]


def _argument(text: str, caps: Caps) -> str:
    if len(text) <= caps.argument:
        return text
    return text[: caps.argument * _ARGUMENT_KEPT // _ARGUMENT_CHARS] + "…"


def _clean(text: str, *, mask: bool) -> str:
    text = strip_invisible(without_data(text))
    return redact(text) if mask else text
