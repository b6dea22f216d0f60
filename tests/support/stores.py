"""
Records by name, and a clock that stands still until told.
"""

from dataclasses import dataclass, replace

from proxy.records.record import Record


@dataclass
class FakeClock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


_PLAIN = Record(key="", digest="", scope="s", covered=4, head_end=0, cut=4, summary="S", placement="row")


def record(key: str, digest: str | None = None, **fields) -> Record:
    """
    Return a record of one key; its digest is ``d-KEY`` unless told otherwise.
    """
    return replace(_PLAIN, key=key, digest=digest or f"d-{key}", **fields)
