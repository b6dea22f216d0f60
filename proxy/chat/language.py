"""
Which language a conversation is held in, told by the share of scripts and by common words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from proxy.chat.messages import Message, is_assistant, is_user, text_of

ENGLISH = "en"
_SAMPLE_CHARS = 20_000
_PER_TEXT = 1_500
_SCRIPT_SHARE = 0.15
_KANA_SHARE = 0.06
_WORD_LEAD = 1.15

_LETTERS = re.compile(r"[^\W\d_]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff\uff66-\uff9f]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_WORD = re.compile(r"[^\W\d_]+")


def words(text: str) -> frozenset[str]:
    """
    Return the words of *text* as a set: long lists read best as text.
    """
    return frozenset(text.split())


_COMMON_WORDS = {
    "en": words("the and is to of that it for you with this not are was have be on please"),
    "de": words("der die das und ist nicht ein eine zu mit auf für den von wir ich bitte sich auch"),
    "fr": words("le la les et est pas une des du que pour dans vous je avec sur ne ce il"),
    "es": words("el la los las y es no una de que por para con en se lo del al como"),
    "pt": words("o a os as e é não uma de que por para com em se do da ao você como"),
}


def detect_language(texts: Iterable[str]) -> str:
    """
    Return ``zh``, ``ja``, ``ko``, ``ru``, ``de``, ``fr``, ``es``, ``pt``, or ``en`` where nothing else is clear.
    """
    sample = _sample(texts)
    letters = len(_LETTERS.findall(sample))
    han, kana = len(_HAN.findall(sample)), len(_KANA.findall(sample))
    if not letters:
        return ENGLISH
    if han + kana > _SCRIPT_SHARE * letters:
        return "ja" if kana > _KANA_SHARE * (han + kana) else "zh"
    for name, script in (("ko", _HANGUL), ("ru", _CYRILLIC)):
        if len(script.findall(sample)) > _SCRIPT_SHARE * letters:
            return name
    return _by_common_words(sample)


def language_of(rows: Sequence[Message], *, extra: str = "") -> str:
    """
    Return the language that the people and the assistant of *rows* write; tool output says little about it.
    """
    users = [text_of(row) for row in rows if is_user(row)]
    spoken = [extra, *users, *(text_of(row) for row in rows if is_assistant(row))]
    if any(text.strip() for text in spoken):
        return detect_language(spoken)
    return detect_language(text_of(row) for row in rows)


def _sample(texts: Iterable[str]) -> str:
    taken: list[str] = []
    size = 0
    for text in texts:
        if size >= _SAMPLE_CHARS:
            break
        taken.append(text[:_PER_TEXT])
        size += len(taken[-1])
    return "\n".join(taken)


def _by_common_words(sample: str) -> str:
    words = [word.lower() for word in _WORD.findall(sample)]
    hits = {name: sum(word in common for word in words) for name, common in _COMMON_WORDS.items()}
    best = max(hits, key=lambda name: hits[name])
    return best if hits[best] > _WORD_LEAD * hits[ENGLISH] else ENGLISH
