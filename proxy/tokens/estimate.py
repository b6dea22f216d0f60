"""
Estimate tokens from character classes, for the time before the token table is loaded.

A token is mostly a short word, up to three digits, a run of punctuation, or a part of a letter of a large script, so
the estimate weighs how many characters of each class there are and how many runs they form.
"""

from __future__ import annotations

from collections.abc import Iterable

_CLASSES: tuple[tuple[str, float, Iterable[int]], ...] = (
    # letter of the class, tokens a character, lead bytes in UTF-8
    ("u", 0.052, range(0x41, 0x5B)),
    ("l", 0.019, range(0x61, 0x7B)),
    ("d", 0.052, range(0x30, 0x3A)),
    ("s", 0.050, (0x20,)),
    ("n", 0.0, (0x09, 0x0A, 0x0B, 0x0C, 0x0D)),
    ("p", 0.312, (*range(0x21, 0x30), *range(0x3A, 0x41), *range(0x5B, 0x61), *range(0x7B, 0x7F))),
    ("x", 0.5, range(0xC2, 0xCE)),  # Latin with marks
    ("g", 0.216, range(0xCE, 0xD4)),  # Greek, Cyrillic
    ("r", 0.303, range(0xD4, 0xE0)),  # Armenian, Hebrew, Arabic
    ("i", 0.323, (0xE0, 0xE1)),  # Indic, Thai, Georgian, Ethiopic
    ("k", 0.685, (0xE3,)),  # kana, CJK punctuation
    ("h", 0.628, range(0xE4, 0xEA)),  # Han
    ("o", 0.617, range(0xEA, 0xEE)),  # Hangul
    ("e", 1.71, (0xE2, 0xEE, 0xEF, *range(0xF0, 0xF5), *range(0x20), 0x7F)),  # symbols, emoji, controls
)
_RUNS: tuple[tuple[str, str, float], ...] = (
    # classes before, classes after, tokens a border: where a run begins, a token begins
    ("dsnpxgrikhoe", "ul", 0.755),
    ("ulsnpxgrikhoe", "d", 1.60),
    ("l", "u", 1.0),
    ("uldsnxgrikhoe", "p", 0.169),
    ("uldnpxgrikhoe", "s", 0.203),
    ("uldspxgrikhoe", "n", 1.617),
)


def _class_table() -> bytes:
    table = bytearray(b"c" * 256)  # c: a continuation byte
    for letter, _, leads in reversed(_CLASSES):
        for byte in leads:
            table[byte] = ord(letter)
    return bytes(table)


def _border_table(before: str, after: str) -> bytes:
    table = bytearray(256)
    for letter in before + "c":
        table[ord(letter)] = 1
    for letter in after:
        table[ord(letter)] = 2
    return bytes(table)


_TABLE = _class_table()
_WEIGHTS = tuple((letter.encode(), weight) for letter, weight, _ in _CLASSES)
_BORDERS = tuple((_border_table(before, after), weight) for before, after, weight in _RUNS)


def estimate(text: str) -> int:
    """
    Return about how many tokens *text* has; never more than its UTF-8 bytes, and 1 at least where there is text.
    """
    if not text:
        return 0
    classes = b"n" + text.encode("utf-8", "replace").translate(_TABLE)
    total = sum(classes.count(letter) * weight for letter, weight in _WEIGHTS)
    total += sum(classes.translate(table).count(b"\x01\x02") * weight for table, weight in _BORDERS)
    return max(1, min(round(total), len(classes) - 1))
