"""
Whether this process is ready to serve, and what is amiss.
"""

from __future__ import annotations

from proxy.records.store import RecordStore
from proxy.server.contract import Readiness
from proxy.tokens.vocabulary import Vocabulary


def readiness(store: RecordStore, vocabulary: Vocabulary) -> Readiness:
    """
    Say what is missing: the token tables are waited for, a degraded store is only named.
    """
    state = store.describe()
    notes = [] if state.healthy else [f"store {state.kind}: {state.cause}"]
    if not vocabulary.ready:
        notes.append("token tables are loading")
    return Readiness(ready=vocabulary.ready, notes=tuple(notes))
