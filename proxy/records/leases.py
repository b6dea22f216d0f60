"""
Leases: one worker at a time makes a summary, whichever process or replica it lives in.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lease:
    """
    The right to work on *key* until it expires; *token* proves who holds it, so that a holder who came too late
    cannot release the lease of its successor.
    """

    key: str
    token: str


def new_lease(key: str) -> Lease:
    """
    Return a lease with a token that nobody can guess.
    """
    return Lease(key, secrets.token_hex(16))
