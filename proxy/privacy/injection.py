"""
Find text in tool output that tries to give orders, so that a summary can label it as quoted data.

Nothing is ever blocked: the client's own rows pass untouched, and what enters a summary is labelled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

FindingKind = Literal["override", "invisible", "markup"]

# Joiners inside emoji and Indic or Arabic words are legitimate; runs and bidirectional overrides are not.
_INVISIBLE = re.compile(
    "[\u200b\u2060-\u2064\ufeff\u00ad\u180e\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|[\u200c\u200d]{2,}"
)
_MARKUP = re.compile(
    r"<!--(?=[^<>]{0,300}?(?:ignore|instruction|system|assistant|prompt|secret))"
    r"|<[a-z]{1,10}\b[^<>]{0,200}?(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0|\bhidden\b)[^<>]{0,200}>"
    r"|<\|(?:im_start|im_end|system|endoftext)[^>\n]{0,20}\|>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:all\s+|any\s+|the\s+|your\s+|these\s+|of\s+){0,4}"
    r"(?:previous|prior|above|earlier|preceding|existing|system|safety)\s+(?:\w+\s+){0,2}?"
    r"(?:instructions?|prompts?|rules?|guidelines?|messages?|directions?|context)"
    r"|\b(?:new|updated|real|actual)\s+(?:system\s+)?(?:instructions?|prompt)\s*:"
    r"|\bsystem\s+prompt\s+override\b|\byou\s+are\s+now\s+(?:a|an|in|the|dan|developer)\b"
    r"|\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal\s+(?:this\s+)?to)\s+(?:this\s+to\s+)?the\s+user\b"
    r"|\b(?:reveal|print|repeat|output|leak|exfiltrate)\s+(?:your|the)\s+(?:system\s+prompt|hidden\s+instructions|api\s+keys?|secrets)\b"
    r"|\bact\s+as\s+if\s+you\s+have\s+no\s+(?:rules|restrictions|guidelines)\b"
    r"|\b(?:curl|wget)\b[^\n]{0,120}\$\{?\w{0,40}(?:key|token|secret|password)"
    r"|(?:忽略|无视|忘记|不要理会)[^。\n]{0,8}(?:之前|以上|上面|先前|前面|所有)[^。\n]{0,8}(?:指令|指示|提示|规则|命令)"
    r"|(?:以前|上記|これまで|前)の[^。\n]{0,8}(?:指示|命令|ルール|プロンプト)[^。\n]{0,4}(?:無視|忘れ)",
    re.IGNORECASE,
)
_OVERRIDE_HINTS = (
    "ignore", "disregard", "forget", "override", "bypass", "instruction", "prompt", "you are now", "the user",
    "curl", "wget", "restrictions", "act as if", "忽略", "无视", "忘记", "不要理会", "無視", "忘れ", "reveal", "repeat", "leak",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One suspicious place: its *kind* and where it stands.
    """

    kind: FindingKind
    start: int
    end: int


def scan(text: str) -> tuple[Finding, ...]:
    """
    Return override phrases, invisible characters and hidden markup of *text*, in order.
    """
    found = [Finding("invisible", *match.span()) for match in _INVISIBLE.finditer(text)] if not text.isascii() else []
    visible = text.lower()
    if "<" in text or "[" in text:
        found += [Finding("markup", *match.span()) for match in _MARKUP.finditer(text)]
    if any(hint in visible for hint in _OVERRIDE_HINTS):
        found += [Finding("override", *match.span()) for match in _OVERRIDE.finditer(text)]
    return tuple(sorted(found, key=lambda finding: (finding.start, finding.end)))


def is_suspicious(text: str) -> bool:
    """
    Tell whether *text*, invisible characters taken out, holds an override phrase or hidden markup.
    """
    return any(finding.kind != "invisible" for finding in scan(strip_invisible(text)))


def strip_invisible(text: str) -> str:
    """
    Return *text* without invisible characters.
    """
    return text if text.isascii() else _INVISIBLE.sub("", text)
