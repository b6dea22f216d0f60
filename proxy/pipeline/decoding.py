"""
Look into answers that travel compressed; what reaches the client stays as it was.
"""

from __future__ import annotations

import zlib

from proxy.pipeline.heads import Heads

READABLE = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
MOST_DECODED = 8 * 1024 * 1024
"""Bytes of one answer that are decoded for a look; compressed bombs end here."""


class Decoder:
    """
    Decodes a copy of a body chunk by chunk; gives up silently where it cannot.
    """

    def __init__(self, coding: str = "") -> None:
        self.readable = coding in READABLE
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB) if coding in {"gzip", "x-gzip", "deflate"} else None
        self._room = MOST_DECODED

    def feed(self, chunk: bytes) -> bytes:
        """
        Return the decoded bytes of *chunk*, empty once the body turned out to be unreadable or too large.
        """
        if not self.readable:
            return b""
        if self._inflate is None:
            return chunk
        try:
            decoded = self._inflate.decompress(chunk, self._room)
        except zlib.error:
            self.readable = False
            return b""
        self._room -= len(decoded)
        self.readable = self._room > 0
        return decoded


_PLAIN = Decoder()
"""Decodes nothing, and so has nothing to remember: one is enough for all."""


def decoder_of(heads: Heads) -> Decoder:
    """
    Return the decoder for a body with these headers.
    """
    coding = heads.get("content-encoding")
    return _PLAIN if coding is None else Decoder(coding.strip().lower())
