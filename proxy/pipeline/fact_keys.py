"""
Keys of facts in the store.
"""

from __future__ import annotations

from hashlib import blake2b


def key_of(upstream: str, model: str, credential: str) -> str:
    """
    Return the key of what is known of a model at an upstream, for a credential.
    """
    digest = blake2b(f"{upstream}\0{model}\0{credential}".encode("utf-8", "replace"), digest_size=12)
    return f"model:{digest.hexdigest()}"


def limits_key_of(upstream: str, name: str) -> str:
    """
    Return the key of what an upstream stated of a model, or of itself under a *name* of ours.
    """
    digest = blake2b(f"{upstream}\0{name}".encode("utf-8", "replace"), digest_size=12)
    return f"limits:{digest.hexdigest()}"
