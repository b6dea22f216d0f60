"""
What a client asks of the proxy itself, in ``x-concertina-*`` request headers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxy.chat.messages import is_user, text_of
from proxy.chat.request import ChatRequest
from proxy.pipeline.heads import Heads

MODES = frozenset({"off", "observe", "recover", "compact"})
_IN_ORDER = ("x-concertina-mode", "x-concertina-focus", "x-concertina-session", "x-concertina-force")
_NAMES = frozenset(_IN_ORDER)
UNKNOWN_MODE = "x-concertina-mode was ignored: it is off, observe, recover or compact"


@dataclass(frozen=True, slots=True)
class Directives:
    """
    The mode for this one request, a focus topic, a session hint, and whether to compact now; *misread* tells what of
    them was no use.
    """

    mode: str | None = None
    focus: str | None = None
    session: str = ""
    force: bool = False
    misread: tuple[str, ...] = ()


_NOTHING = Directives()


def with_command(directives: Directives, request: ChatRequest, command: str | None) -> Directives:
    """
    Take a last user message such as ``/compact TOPIC`` as the wish to compact now, with that topic as focus.
    """
    last = request.messages[-1]
    words = text_of(last).strip().split(maxsplit=1) if command and is_user(last) else []
    if not words or words[0] != command:
        return directives
    return replace(directives, force=True, focus=words[1] if len(words) > 1 else directives.focus)


def read_directives(heads: Heads) -> Directives:
    """
    Return what the headers ask; an unknown mode is told and ignored, so that the request is answered.
    """
    if _NAMES.isdisjoint(heads):
        return _NOTHING
    mode, focus, session, force = (heads.get(name, "").strip() for name in _IN_ORDER)
    mode = mode.lower()
    return Directives(
        mode=mode if mode in MODES else None,
        focus=focus or None,
        session=session,
        force=force.lower() == "true",
        misread=() if not mode or mode in MODES else (UNKNOWN_MODE,),
    )
