"""
Which limits that errors state may be believed, for whom and for how long.

One value serves one (upstream, model). Belief is guarded, since errors also echo the client's text, name other limits
(output, rate, bytes) and are wrong now and then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

LONG_TIER = "*long context*"
"""The 200,000-token cap of a credential without the long-context tier holds for every model."""
BYTES = "*bytes*"
"""The bytes that a gateway lets through, whatever the model."""
OUTPUT_CAP = "*output* "
"""Before a model's name: the most output that it may be asked for."""
OUTPUT_SUM = "*prompt and output* "
"""Before a model's name: the window that prompt and asked output share."""
SMALLEST_LIMIT = 1_024
_PROMPT_SHARE = 50  # a limit under a fiftieth of the prompt is a number of something else
_AGREEING = 2
_MOST_CREDENTIALS = 1_000  # the longest unheard of are dropped first


@dataclass(frozen=True, slots=True)
class Claim:
    """
    A limit that an error stated, with what is needed to judge it.

    *prompt* is our count of the rejected prompt, *window* what was believed, *text* the request's own words, *least*
    what such a limit is at least.
    """

    limit: int
    credential: str
    prompt: int
    window: int
    text: str = ""
    least: int = SMALLEST_LIMIT


@dataclass(frozen=True, slots=True)
class Belief:
    """
    A limit believed for one credential until it expires; a *doubted* one waits for a second statement.
    """

    credential: str
    limit: int
    expires: float
    doubted: bool = False


@dataclass(frozen=True, slots=True)
class LearnedLimits:
    """
    The limits believed of one model at one upstream, and the largest prompts it accepted, both by credential.
    """

    beliefs: tuple[Belief, ...] = ()
    accepted: tuple[tuple[str, int, float], ...] = ()

    def limit_for(self, credential: str, *, now: float) -> int | None:
        """
        Return the limit to respect: the credential's own, else one on which two other credentials agree.
        """
        if not self.beliefs:
            return None
        held = [b for b in self.beliefs if b.expires > now and not b.doubted]
        own = [b.limit for b in held if b.credential == credential]
        if own:
            return own[0]
        served = self._largest(credential, now)
        limits = [b.limit for b in held if b.limit >= served]
        return min((limit for limit in set(limits) if limits.count(limit) >= _AGREEING), default=None)

    def learn(self, claim: Claim, *, now: float, ttl: float) -> LearnedLimits:
        """
        Believe a stated limit where the guards allow it; else return the value as it is.

        A limit under what was already accepted is only noted: stated a second time it is believed, since a server
        can be started again with a smaller window.
        """
        if not is_plausible(claim):
            return self
        doubted = claim.limit < self._largest(claim.credential, now) and not self._stated(claim, now)
        belief = Belief(claim.credential, claim.limit, now + ttl, doubted)
        others = tuple(b for b in self.beliefs if b.expires > now and not _replaces(belief, b))
        return replace(self, beliefs=(*others, belief)[-_MOST_CREDENTIALS:])

    def accept(self, prompt: int, *, credential: str, now: float, ttl: float) -> LearnedLimits:
        """
        Note that a prompt of this true size was served; it refutes a smaller limit of the same credential.
        """
        learned = self
        if any(b.credential == credential and b.limit < prompt for b in self.beliefs):
            learned = replace(
                self, beliefs=tuple(b for b in self.beliefs if b.credential != credential or b.limit >= prompt)
            )
        if prompt <= self._largest(credential, now):
            return learned
        others = tuple(a for a in self.accepted if a[0] != credential and a[2] > now)
        return replace(learned, accepted=(*others, (credential, prompt, now + ttl))[-_MOST_CREDENTIALS:])

    def to_dict(self) -> dict[str, Any]:
        """
        Return what must be kept.
        """
        return {
            "beliefs": [[b.credential, b.limit, b.expires, b.doubted] for b in self.beliefs],
            "accepted": [list(a) for a in self.accepted],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LearnedLimits:
        """
        Return the value that was kept.

        Raises ``ValueError`` where *data* is none.
        """
        try:
            return cls(
                tuple(Belief(str(c), int(n), float(e), bool(d)) for c, n, e, d in data["beliefs"]),
                tuple((str(c), int(n), float(e)) for c, n, e in data["accepted"]),
            )
        except (KeyError, TypeError) as exc:
            raise ValueError("these are no learned limits") from exc

    def _largest(self, credential: str, now: float) -> int:
        return max((size for who, size, expires in self.accepted if who == credential and expires > now), default=0)

    def _stated(self, claim: Claim, now: float) -> bool:
        return any(
            b.credential == claim.credential and b.limit == claim.limit and b.expires > now for b in self.beliefs
        )


def is_plausible(claim: Claim) -> bool:
    """
    Tell whether a number can be a context window at all, seen from the request that met it.
    """
    return (
        claim.limit >= claim.least
        and claim.limit * _PROMPT_SHARE >= claim.prompt
        and claim.limit < claim.window
        and not occurs_in(claim.limit, claim.text)
    )


def occurs_in(number: int, text: str) -> bool:
    """
    Tell whether a text holds the number, with or without separators between its thousands.
    """
    if not text:
        return False
    digits = f"{number:,}".replace(",", "[,._'\u00a0\u202f ]?")
    return re.search(rf"(?<!\d){digits}(?!\d)", text) is not None


def _replaces(new: Belief, old: Belief) -> bool:
    """
    A doubted limit stands beside the one in force; any other takes the place of all that its credential stated.
    """
    return old.credential == new.credential and (not new.doubted or old.doubted)
