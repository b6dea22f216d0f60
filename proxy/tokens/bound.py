"""
A bound that needs no parsing: a request never has more of our tokens than it has bytes.

Every token is at least one byte of some string in the body, and every frame the counter adds is shorter than the JSON
around what it frames (``{"role":"`` … is longer than a message's 3 tokens). Only media cost more than they may weigh:
an address of 40 bytes is an image of 1,500 tokens.
"""

from __future__ import annotations

import re

from proxy.tokens.media import AUDIO_TYPES, FILE_TYPES, IMAGE_TYPES, VIDEO_TYPES

_KINDS = b"|".join(sorted(kind.encode() for kind in AUDIO_TYPES | FILE_TYPES | IMAGE_TYPES | VIDEO_TYPES))
_MEDIA_TYPE = re.compile(rb'"type"\s*:\s*"(?:' + _KINDS + rb')"')
_IMAGE_KEY = b'"image_url"'
_ESCAPED_LETTERS = (rb"\u004", rb"\u005", rb"\u006", rb"\u007")  # a key or a type may hide behind one


def upper_bound(body: bytes) -> int | None:
    """
    Return a number the tokens of *body* cannot exceed; ``None`` where images, audio or files may be inside.
    """
    hidden = rb"\u00" in body and any(escape in body for escape in _ESCAPED_LETTERS)
    if hidden or _IMAGE_KEY in body or _MEDIA_TYPE.search(body):
        return None
    return len(body)
