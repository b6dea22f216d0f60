"""
What one compaction froze: everything emitted that is not the client's own row.

Row numbers count from the first row after the leading system rows, so that a changed system prompt moves nothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, Self

from proxy.chat.json import dumps, loads

EditKind = Literal["stub", "duplicate", "cut", "media", "arguments", "thinking"]
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Edit:
    """
    How one kept row is changed, recomputed from the client's row each time it is emitted.

    ``stub``: a tool result becomes one informative line. ``duplicate``: the same, where row *head* has the same result.
    ``cut``: text keeps *head* and *tail* characters. ``media``: images and other data are replaced by a label, but for
    the newest *tail* of them. ``arguments``: over-long call arguments become a small JSON object that shows *head*
    characters. ``thinking``: signed reasoning goes as a whole.
    """

    row: int
    kind: EditKind
    head: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """
    One immutable compaction of one conversation prefix.

    Rows ``[0, head_end)`` stay, rows ``[head_end, cut)`` are folded into *summary*, rows from *cut* on stay but for
    *edits*. The record applies to any request whose first *covered* rows have the digest *digest*.
    """

    key: str
    digest: str
    scope: str
    covered: int
    head_end: int
    cut: int
    summary: str | None
    restated: int | None = None
    restated_head: int = 0
    restated_tail: int = 0
    edits: tuple[Edit, ...] = ()
    parent: str | None = None
    session: str = ""
    client: str = ""
    model: str = ""
    title: str = ""
    depth: int = 0
    degraded: bool = False
    pending: bool = False
    before_tokens: int = 0
    after_tokens: int = 0
    created: float = 0.0

    def to_bytes(self) -> bytes:
        """
        Serialise for a store.
        """
        return dumps(asdict(self))

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """
        Read what *to_bytes* wrote; fields of later versions are ignored. Raises ``ValueError`` on anything else.
        """
        data = loads(raw)
        if not isinstance(data, dict):
            raise ValueError("a record is a JSON object")
        known = {name: data[name] for name in cls.__slots__ if name in data}
        try:
            known["edits"] = tuple(Edit(**edit) for edit in known.get("edits", ()))
            return cls(**known)
        except TypeError as exc:
            raise ValueError("a field of the record is missing or unknown") from exc
