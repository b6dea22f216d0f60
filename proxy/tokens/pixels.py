"""
Read the size of an image from its first bytes, never the whole of it.
"""

from __future__ import annotations

import binascii
import struct
from base64 import b64decode

_HEADER_CHARS = 65_536
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset(range(0xD0, 0xD9)) | {0x01}


def size_of_data_uri(uri: str) -> tuple[int, int] | None:
    """
    Return width and height of a ``data:`` URI's image; ``None`` for anything else, which is never fetched.
    """
    comma = uri.find(",", 0, 256)
    if not uri.startswith("data:") or comma < 0 or "base64" not in uri[:comma]:
        return None
    return size_of_base64(uri[comma + 1 : comma + 1 + _HEADER_CHARS])


def size_of_base64(text: str) -> tuple[int, int] | None:
    """
    Return width and height of an image in base64, of which a beginning is enough.
    """
    try:
        head = text[:_HEADER_CHARS].encode("ascii")
        data = b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, UnicodeEncodeError):
        return None
    return size_of(data)


def size_of(data: bytes) -> tuple[int, int] | None:
    """
    Return width and height of a PNG, JPEG, GIF or WebP from its header.
    """
    try:
        size = _size(data)
    except (struct.error, IndexError):
        return None
    return size if size and min(size) > 0 else None


def _size(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _pair(data, ">II", 16)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _pair(data, "<HH", 6)
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker in _JPEG_SIZES:
            height, width = _pair(data, ">HH", at + 5)
            return width, height
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + length
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return (int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1)
    if kind == b"VP8 ":
        width, height = _pair(data, "<HH", 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _pair(data: bytes, form: str, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, data, at)
    return int(first), int(second)
