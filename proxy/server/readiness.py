"""
Whether this process is ready to serve, and what is amiss.
"""

from __future__ import annotations

from proxy.records.store import RecordStore
from proxy.server.contract import Readiness
from proxy.tokens.vocabulary import Vocabulary


def readiness(store: RecordStore, vocabulary: Vocabulary) -> Readiness:
    """
    Say what is amiss: token tables are waited for while they load; estimates and a degraded store are only named.
    """
    state = store.describe()
    notes = [] if state.healthy else [f"store {state.kind}: {state.cause}"]
    if vocabulary.failed:
        notes.append("token tables could not be loaded: sizes are estimates")
    elif not vocabulary.ready:
        notes.append("token tables are loading")
    return Readiness(ready=vocabulary.ready or vocabulary.failed, notes=tuple(notes))
