"""
What a client asks of the proxy itself, in ``x-concertina-*`` request headers.
"""

from __future__ import annotations

from dataclasses import dataclass

from proxy.upstream.wire import Headers

MODES = frozenset({"off", "observe", "recover", "compact"})
PREFIX = "x-concertina-"


@dataclass(frozen=True, slots=True)
class Directives:
    """
    The mode for this one request, a focus topic, a session hint, and whether to compact now.
    """

    mode: str | None = None
    focus: str | None = None
    session: str = ""
    force: bool = False


def read_directives(headers: Headers) -> Directives:
    """
    Return what the headers ask; an unknown mode is ignored.
    """
    values = {name.lower(): value.strip() for name, value in headers if name.lower().startswith(PREFIX)}
    mode = values.get(PREFIX + "mode", "").lower()
    return Directives(
        mode=mode if mode in MODES else None,
        focus=values.get(PREFIX + "focus") or None,
        session=values.get(PREFIX + "session", ""),
        force=values.get(PREFIX + "force", "").lower() == "true",
    )
