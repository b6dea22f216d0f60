"""
Tell what in a request is data rather than text: data URIs, encrypted reasoning, signatures.
"""

from __future__ import annotations

import re
from typing import Any

from proxy.chat.json import clean_text

BLOB_TOKENS = 500  # less than the bytes of any blob, so that bytes stay an upper bound
_LONG = 2_048
_SAMPLE = 512
_BASE64 = re.compile(r"[A-Za-z0-9+/_=\r\n-]+")
_OPAQUE_KEYS = frozenset(
    {"signature", "thought_signature", "thoughtSignature", "encrypted_content", "encrypted", "cache_control"},
)
_LARGE_INTEGER = 2**63


def is_opaque(text: str) -> bool:
    """
    Tell whether a long string is base64 or a data URI, which servers decode rather than read.
    """
    if len(text) <= _LONG:
        return False
    if text.startswith("data:"):
        return True
    samples = (text[:_SAMPLE], text[-_SAMPLE:])
    return all(_BASE64.fullmatch(sample) for sample in samples)


def scrub(value: Any) -> tuple[Any, int]:
    """
    Return a JSON value without its blobs, ready to be written, and how many blobs there were.

    Numbers that Python may write longer than the client did (``1e9``) become 0.
    """
    if isinstance(value, dict):
        return _scrub_members(value)
    if isinstance(value, list):
        pairs = [scrub(item) for item in value]
        return [item for item, _ in pairs], sum(blobs for _, blobs in pairs)
    if isinstance(value, str):
        return ("", 1) if is_opaque(value) else (clean_text(value), 0)
    if isinstance(value, float) and value.is_integer():
        return 0, 0
    if isinstance(value, int) and abs(value) >= _LARGE_INTEGER:
        return 0, 0
    return value, 0


def _scrub_members(value: dict[str, Any]) -> tuple[dict[str, Any], int]:
    kept: dict[str, Any] = {}
    blobs = 0
    for key, member in value.items():
        if key in _OPAQUE_KEYS:
            continue
        kept[clean_text(key)], found = scrub(member)
        blobs += found
    return kept, blobs
