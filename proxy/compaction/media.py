"""
Images, audio, files: what of them stays, newest first, and the label that stands where one was.
"""

from __future__ import annotations

from proxy.chat.messages import Message, is_image_part, parts, parts_of

_TYPES = ("input_audio", "audio", "audio_url", "file", "input_file", "document", "video", "video_url", "input_video")


def is_media_part(part: Message) -> bool:
    """
    Tell whether a part is an image, audio, video or a file.
    """
    return is_image_part(part) or part.get("type") in _TYPES


def media_count(row: Message) -> int:
    """
    Return how many media parts a row carries.
    """
    return 0 if isinstance(row.get("content"), str) else sum(map(is_media_part, parts(row)))


def without_media(row: Message, *, keep: int) -> Message:
    """
    Return the row with labels in place of its media, but for the newest *keep* of them.
    """
    going = media_count(row) - keep
    if going <= 0:
        return row
    shown: list[Message] = []
    for part in parts_of(row.get("content")):
        leaves = going > 0 and is_media_part(part)
        going -= leaves
        shown.append(_label(part) if leaves else part)
    return {**row, "content": shown}


def _label(part: Message) -> Message:
    kind = str(part.get("type") or "media").replace("_url", "").replace("input_", "")
    label: Message = {"type": "text", "text": f"[an earlier {kind} was here; it is left out]"}
    if part.get("cache_control") is not None:
        label["cache_control"] = part["cache_control"]
    return label
