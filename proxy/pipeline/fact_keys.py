"""
Keys of facts in the store; the one that is asked for several times a request is remembered.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from proxy.windows.resolve import LONGEST_REMEMBERED


def key_of(upstream: str, model: str, credential: str) -> str:
    """
    Return the key of what is known of a model at an upstream, for a credential.
    """
    # Names come from clients: none of a length that could fill the memory is remembered.
    digest = _remembered if len(model) <= LONGEST_REMEMBERED else _digest
    return digest(f"{upstream}\0{model}\0{credential}")


def _digest(names: str) -> str:
    return f"model:{blake2b(names.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"


_remembered = lru_cache(maxsize=1024)(_digest)


def limits_key_of(upstream: str, name: str) -> str:
    """
    Return the key of what an upstream stated of a model, or of itself under a *name* of ours.
    """
    digest = blake2b(f"{upstream}\0{name}".encode("utf-8", "replace"), digest_size=12)
    return f"limits:{digest.hexdigest()}"
