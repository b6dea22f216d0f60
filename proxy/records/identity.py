"""
Recognise a conversation by its rows: rolling digests, no conversation id needed.

Digest *i* stands for the first *i* + 1 rows after the leading system rows: ``d[i] = H(d[i-1], canon(row[i]))``. Two
histories that share a beginning share its digests, so a fork finds the records of its ancestors. The seed keeps
tenants, routes and namespaces apart.
"""

from __future__ import annotations

import hmac
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b

from proxy.chat.messages import SYSTEM_ROLES, role_of
from proxy.records.canon import TextRule, row_pieces
from proxy.records.record import DIGEST_BYTES
from proxy.records.row_digests import RowDigests


def seed(secret: bytes, tenant: str, route: str, namespace: str) -> bytes:
    """
    Return where the chain of one tenant on one route begins; nobody without *secret* can guess it.
    """
    return hmac.digest(secret, _joined((tenant, route, namespace)), "sha256")


def row_digest(message: object, *, canonicalize: Sequence[TextRule] = ()) -> bytes:
    """
    Return the digest of one row alone, the same for every spelling that clients use for it.
    """
    return blake2b(_joined(row_pieces(message, canonicalize)), digest_size=DIGEST_BYTES).digest()


def prefix_digests(
    rows: Sequence[object],
    *,
    seed: bytes,
    canonicalize: Sequence[TextRule] = (),
    remembered: RowDigests | None = None,
) -> tuple[str, ...]:
    """
    Return the digest of every prefix of *rows*; a leading run of system rows is no part of the chain.

    Digests of rows are taken from those *remembered*, but where rules change texts before.
    """
    if remembered is not None and not canonicalize:
        return tuple(filter(None, more_digests((), rows, seed=seed, digest=remembered.of)))
    return tuple(filter(None, more_digests((), rows, seed=seed, digest=partial(row_digest, canonicalize=canonicalize))))


def more_digests(
    known: Sequence[str], rows: Iterable[object], *, seed: bytes, digest: Callable[[object], bytes]
) -> Iterator[str]:
    """
    Yield, for each of *rows*, the digest of all rows up to it, where those before them have *known* ones.

    Rows of the leading run of system rows have the empty string.
    """
    started = bool(known and known[-1])
    running = bytes.fromhex(known[-1]) if started else blake2b(seed, digest_size=DIGEST_BYTES).digest()
    for row in rows:
        started = started or not _is_system(row)
        if started:
            running = _link(running, digest(row))
        yield running.hex() if started else ""


def divergence(previous: Sequence[object], digests: Sequence[object]) -> int:
    """
    Return the index of the first row in which two chains differ: how many rows they share.
    """
    # Chains that part never meet again, so the shared rows are a prefix and can be bisected.
    shared = min(len(previous), len(digests))
    return bisect_left(range(shared), 1, key=lambda index: int(previous[index] != digests[index]))


def _link(running: bytes, row: bytes) -> bytes:
    return blake2b(running + row, digest_size=DIGEST_BYTES).digest()


def _is_system(row: object) -> bool:
    return isinstance(row, dict) and role_of(row) in SYSTEM_ROLES


def _joined(pieces: Sequence[str]) -> bytes:
    # Lengths first: without them ["ab", "c"] and ["a", "bc"] would share a digest.
    lengths = ",".join([str(len(piece)) for piece in pieces])
    # Lone surrogates reach us in JSON escapes; they must have a digest like any other text.
    return "".join([lengths, ";", *pieces]).encode("utf-8", "surrogatepass")
