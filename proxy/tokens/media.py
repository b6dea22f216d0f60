"""
What the parts of a message cost that are no text: images, audio, video, files.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from proxy.chat.messages import Message, parts_of
from proxy.chat.row_notes import RowNotes
from proxy.tokens.families import UNKNOWN, ModelFamily
from proxy.tokens.images import image_tokens
from proxy.tokens.pixels import size_of_base64, size_of_data_uri

AUDIO_TYPES = frozenset({"input_audio", "audio", "audio_url"})
FILE_TYPES = frozenset({"file", "input_file", "document"})
VIDEO_TYPES = frozenset({"video", "video_url", "input_video"})
IMAGE_TYPES = frozenset({"image_url", "image", "input_image"})

FILE_TOKENS = 1_500  # a page or so; nothing better is known before a server counts
VIDEO_TOKENS = 5_000
_AUDIO_TOKENS_PER_SECOND = 10
_AUDIO_BYTES_PER_SECOND = 16_000  # of a compressed format that we do not read
_AUDIO_MINIMUM = 50


def media_tokens(part: Message, family: ModelFamily) -> int | None:
    """
    Return the tokens of a part that is no text; ``None`` where it is none of these.
    """
    kind = part.get("type")
    if not isinstance(kind, str):
        kind = ""
    if kind in IMAGE_TYPES or "image_url" in part:
        return _image(part, family)
    if kind in AUDIO_TYPES:
        return _audio(part)
    if kind in FILE_TYPES:
        return FILE_TOKENS
    return VIDEO_TOKENS if kind in VIDEO_TYPES else None


def carries_media(rows: Iterable[Message]) -> bool:
    """
    Tell whether any row has a part that is no text: such a request teaches nothing about the ratio of texts.
    """
    return any(map(_has_medium, rows))


def known_to_carry_media(notes: RowNotes) -> bool:
    """
    Tell the same of a history of which no row is looked at twice, however many turns it takes.
    """
    return notes.on("media", _up_to_each)[-1]


def _up_to_each(known: Sequence[bool], rows: Iterable[Message]) -> Iterator[bool]:
    found = bool(known and known[-1])
    for row in rows:
        found = found or _has_medium(row)
        yield found


def _has_medium(row: Message) -> bool:
    content = row.get("content")
    if content is None or type(content) is str:
        return False
    return any(media_tokens(part, UNKNOWN) is not None for part in parts_of(content))


def _image(part: Message, family: ModelFamily) -> int:
    holder = part.get("image_url", part.get("image", part.get("source")))
    detail = part.get("detail")
    if isinstance(holder, dict):
        detail = holder.get("detail", detail)
        size = _size(holder.get("url", holder.get("data")))
    else:
        size = _size(holder)
    return image_tokens(family, size, detail if isinstance(detail, str) else "auto")


def _size(source: Any) -> tuple[int, int] | None:
    if not isinstance(source, str):
        return None
    if source.startswith("data:"):
        return size_of_data_uri(source)
    return None if source.startswith(("http:", "https:", "file:")) else size_of_base64(source)


def _audio(part: Message) -> int:
    holder = part.get("input_audio", part.get("audio"))
    data = holder.get("data") if isinstance(holder, dict) else None
    if not isinstance(data, str):
        return FILE_TOKENS
    seconds = len(data) * 3 / 4 / _byte_rate(data)
    return max(_AUDIO_MINIMUM, round(seconds * _AUDIO_TOKENS_PER_SECOND))


def _byte_rate(data: str) -> int:
    try:
        head = b64decode(data[:64].encode("ascii"))
    except (binascii.Error, UnicodeEncodeError):
        return _AUDIO_BYTES_PER_SECOND
    rate = int.from_bytes(head[28:32], "little") if head.startswith(b"RIFF") else 0
    return rate or _AUDIO_BYTES_PER_SECOND
