"""
One row of the rule tables, and how it is matched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from proxy.recovery.fault import Label
from proxy.recovery.normalise import Refusal


@dataclass(frozen=True)
class Rule:
    """
    A wording (*pattern*, on folded text) or a *code* that means *label*, with an *example* that a test holds it to.

    *unless* is a pattern that rules it out; *status* restricts it (alone: any wording with it); *seen* names the provider when the rule was written
    for that one alone (families, which should carry to unseen providers, name none).
    """

    label: Label
    example: str
    pattern: str = ""
    code: str = ""
    unless: str = ""
    status: int | None = None
    seen: str = ""
    structure: bool = False
    confident: bool = True

    def matches(self, refusal: Refusal, status: int | None) -> bool:
        """
        Say whether *refusal* is of this kind.
        """
        if self.status is not None and status != self.status:
            return False
        if not (self._code_found(refusal) or self._text_found(refusal) or self._any):
            return False
        return self._unless is None or not self._unless.search(refusal.text)

    @property
    def _any(self) -> bool:
        """
        A rule with neither wording nor code stands for its status alone.
        """
        return not self.pattern and not self.code

    def _text_found(self, refusal: Refusal) -> bool:
        return self._pattern is not None and self._pattern.search(refusal.text) is not None

    def _code_found(self, refusal: Refusal) -> bool:
        """
        Codes that are words are also found in text, where relays put them; numbers only as codes.
        """
        if self._code is None:
            return False
        if any(self._code.fullmatch(code) for code in refusal.codes):
            return True
        return any("_" in word and self._code.fullmatch(word) for word in _WORD.findall(refusal.text))

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        return re.compile(self.pattern, re.DOTALL) if self.pattern else None

    @cached_property
    def _unless(self) -> re.Pattern[str] | None:
        return re.compile(self.unless, re.DOTALL) if self.unless else None

    @cached_property
    def _code(self) -> re.Pattern[str] | None:
        return re.compile(self.code) if self.code else None


_WORD = re.compile(r"[a-z][a-z0-9_]{4,60}")
