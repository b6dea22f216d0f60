"""
A bound that needs no parsing: a request never has more of our tokens than it has bytes.

Every token is at least one byte of some string in the body, and every frame the counter adds is shorter than the JSON
around what it frames (``{"role":"`` … is longer than a message's 3 tokens). Only media cost more than they may weigh:
an address of 40 bytes is an image of 1,500 tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from proxy.chat.messages import Message
from proxy.chat.row_notes import RowNotes
from proxy.tokens.media import AUDIO_TYPES, FILE_TYPES, IMAGE_TYPES, VIDEO_TYPES

_KINDS = b"|".join(sorted(kind.encode() for kind in AUDIO_TYPES | FILE_TYPES | IMAGE_TYPES | VIDEO_TYPES))
_MEDIA_TYPE = re.compile(rb'"type"\s*:\s*"(?:' + _KINDS + rb')"')
_IMAGE_KEY = b'"image_url"'
_IMAGE_FIELD = re.compile(rb'"image_url"\s*:')
_BASE64 = b";base64,"
REASONING_PARTS = frozenset({"reasoning_details", "thinking_blocks"})
"""Fields of a row that hold parts, as its content may."""
DEAR_MEDIUM = 8_000
"""
Tokens of an image, recording or file that is dear; a few servers take more for very large ones.
"""
_ESCAPED_LETTERS = (rb"\u004", rb"\u005", rb"\u006", rb"\u007")  # a key or a type may hide behind one


def upper_bound(body: bytes) -> int | None:
    """
    Return a number the tokens of *body* cannot exceed; ``None`` where images, audio or files may be inside.
    """
    hidden = rb"\u00" in body and any(escape in body for escape in _ESCAPED_LETTERS)
    if hidden or _IMAGE_KEY in body or _MEDIA_TYPE.search(body):
        return None
    return len(body)


def holds_only_text(notes: RowNotes, *, behind: int = 0) -> bool:
    """
    Tell whether all rows *behind* the first ones hold nothing but text, so that their bytes are a bound.

    Unlike ``upper_bound`` it reads no text, and no row is looked at twice, however many turns it takes.
    """
    odd = notes.on("more than text", _odd_rows)
    return odd[-1] == (odd[behind - 1] if behind else 0)


def _odd_rows(known: Sequence[int], rows: Iterable[Message]) -> Iterator[int]:
    """
    Yield, for each row, how many of those up to it hold more than text.
    """
    number = known[-1] if known else 0
    for row in rows:
        number += not _is_text(row)
        yield number


def _is_text(row: Message) -> bool:
    if not REASONING_PARTS.isdisjoint(row):
        return False
    content = row.get("content")
    return (
        content is None or isinstance(content, str) or (isinstance(content, list) and all(map(_is_text_part, content)))
    )


def _is_text_part(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and "image_url" not in part


def without_media(body: bytes) -> bytes | None:
    """
    Return *body* with the base64 of every data URI left out, which takes a thousandth of the time of parsing it.

    What is left is JSON where *body* is. ``None`` where there is no data URI.
    """
    kept: list[bytes] = []
    position = 0
    while (start := body.find(_BASE64, position)) >= 0:
        end = body.find(b'"', start)
        if end < 0:
            break
        kept.append(body[position : start + len(_BASE64)])
        position = end
    return b"".join([*kept, body[position:]]) if kept else None


def light_bound(rest: bytes) -> int:
    """
    Return a number that the tokens of a request rarely exceed; *rest* is its body without media.
    """
    return len(rest) + DEAR_MEDIUM * max(
        rest.count(_BASE64), len(_MEDIA_TYPE.findall(rest)), len(_IMAGE_FIELD.findall(rest))
    )
