"""
The token table in the package: lengths and bytes of the tokens in rank order, deflated.

The ranks are dense, so they need not be stored; the ``.tiktoken`` text can be rebuilt byte for byte.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from itertools import accumulate, pairwise
from pathlib import Path

ENCODING_NAME = "o200k_base"
TABLE_FILE = Path(__file__).with_name(f"{ENCODING_NAME}.bin")
SOURCE_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_COUNT_BYTES = 4


def pack(tokens: list[bytes]) -> bytes:
    """
    Return the table of *tokens*, given in rank order; each is 1 to 255 bytes long.
    """
    raw = len(tokens).to_bytes(_COUNT_BYTES, "big") + bytes(map(len, tokens)) + b"".join(tokens)
    return zlib.compress(raw, 9)


def unpack(table: bytes) -> list[bytes]:
    """
    Return the tokens in rank order.

    Raises ``ValueError`` where the table is damaged.
    """
    try:
        raw = zlib.decompress(table)
    except zlib.error as exc:
        raise ValueError("the token table is damaged") from exc
    count = int.from_bytes(raw[:_COUNT_BYTES], "big")
    lengths = raw[_COUNT_BYTES : _COUNT_BYTES + count]
    ends = list(accumulate(lengths, initial=_COUNT_BYTES + count))
    if len(lengths) != count or ends[-1] != len(raw):
        raise ValueError("the token table is cut short")
    return [raw[start:end] for start, end in pairwise(ends)]


def read_source(text: bytes) -> list[bytes]:
    """
    Return the tokens of a ``.tiktoken`` file in rank order.

    Raises ``ValueError`` where the ranks are not 0, 1, 2, ….
    """
    tokens = []
    for number, line in enumerate(text.splitlines()):
        token, rank = line.split()
        if int(rank) != number:
            raise ValueError(f"rank {number} is missing")
        tokens.append(b64decode(token))
    return tokens


def write_source(tokens: list[bytes]) -> bytes:
    """
    Return the ``.tiktoken`` text of *tokens*, as its publisher writes it.
    """
    return b"".join(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
