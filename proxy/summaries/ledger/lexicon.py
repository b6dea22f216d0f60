"""
Turn text into numbered features: words without stop words, identifiers, and character pairs of scripts without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import log

from proxy.chat.language import words

_CHUNK = re.compile(r"[^\s\"'`,;(){}\[\]<>|=\\，。、；：！？（）「」『』【】《》“”‘’…·]+")
_EDGES = ".:!?*~-+&^"
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_DIGIT = re.compile(r"\d")
_SMALL_NUMBER = re.compile(r"[\d.,%]{1,3}")
_IDENTIFIER_BONUS = 1.8
_NUMBER_BONUS = 0.9
_LONGEST = 200
_SHORT_CAPITALS = 3
STOP_WORDS = words(
    "a an and are as at be been but by can could did do does for from had has have he her here him his "
    "how i if in into is it its just let like may me might my no not now of on or our out over she should "
    "so some than that the their them then there these they this those to too under up us was we were "
    "what when where which while who will with would you your about after all also any because before "
    "being both each few first more most only other own same such very der die das und ist nicht ein eine "
    "zu mit auf für den von wir le la les et est pas une des du que pour dans el los las es una de por "
    "para con en se lo del al as os não uma em do da"
)


class Lexicon:
    """
    The features of one conversation, numbered as they are met.

    *shown* is how an identifier was first written, by number; empty for words and for parts of identifiers.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._chunks: dict[str, tuple[int, ...]] = {}
        self._bonus: list[float] = []
        self.shown: list[str] = []

    def features(self, text: str) -> tuple[int, ...]:
        """
        Return the distinct features of *text*, in order of first appearance.
        """
        found: dict[int, None] = {}
        known = self._chunks
        for chunk in _CHUNK.findall(text):
            numbers = known.get(chunk)
            if numbers is None:
                numbers = known[chunk] = tuple(self._classify(chunk[:_LONGEST]))
            for number in numbers:
                found[number] = None
        return tuple(found)

    def is_identifier(self, feature: int) -> bool:
        """
        Tell whether a feature is an identifier or a number rather than a word.
        """
        return self._bonus[feature] != 1.0

    def weights(self, units: Iterable[Sequence[int]]) -> list[float]:
        """
        Return one weight a feature: its inverse document frequency over *units*, more for identifiers.
        """
        counts = [0] * len(self.shown)
        total = 0
        for features in units:
            total += 1
            for feature in features:
                counts[feature] += 1
        return [
            bonus * log(1 + total / count) if count else 0.0 for bonus, count in zip(self._bonus, counts, strict=True)
        ]

    def _classify(self, chunk: str) -> Iterable[int]:
        chunk = chunk.strip(_EDGES)
        if not chunk:
            return
        if not chunk.isascii() and _CJK.search(chunk):
            yield from self._unspaced(chunk)
        elif "://" in chunk:
            yield self._number(chunk.casefold(), _IDENTIFIER_BONUS, shown=chunk)
        elif ":" in chunk and not chunk[0].isdigit():
            for part in chunk.split(":"):
                yield from self._classify(part)
        else:
            yield from self._plain(chunk)

    def _unspaced(self, chunk: str) -> Iterable[int]:
        position = 0
        for match in _CJK.finditer(chunk):
            yield from self._classify(chunk[position : match.start()])
            run = match[0]
            for start in range(max(len(run) - 1, 1)):
                yield self._number(run[start : start + 2], 1.0)
            position = match.end()
        yield from self._classify(chunk[position:])

    def _plain(self, chunk: str) -> Iterable[int]:
        if is_identifier(chunk):
            bonus = _NUMBER_BONUS if _SMALL_NUMBER.fullmatch(chunk) else _IDENTIFIER_BONUS
            yield self._number(chunk.casefold(), bonus, shown=chunk)
            base = chunk.rstrip("/").rpartition("/")[2]
            if base and base != chunk and len(base) > _SHORT_CAPITALS:
                yield self._number(base.casefold(), _IDENTIFIER_BONUS)
            return
        word = chunk.casefold()
        if len(word) > 1 and word not in STOP_WORDS:
            yield self._number(word, 1.0)

    def _number(self, name: str, bonus: float, *, shown: str = "") -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.shown)
            self.shown.append(shown)
            self._bonus.append(bonus)
        elif shown and not self.shown[number]:
            self.shown[number] = shown
        return number


def is_identifier(chunk: str) -> bool:
    """
    Tell whether a chunk without spaces names something exactly: a path, an id, a number, a constant, a camel-case name.
    """
    if _DIGIT.search(chunk) or "_" in chunk or "/" in chunk.strip("/") or "@" in chunk[1:-1] or "." in chunk.strip("."):
        return True
    return (chunk.isupper() and len(chunk) >= _SHORT_CAPITALS) or _CAMEL.search(chunk) is not None
