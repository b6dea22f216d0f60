"""
Take a model's name apart, as clients really send it.

``openrouter/anthropic/claude-sonnet-4.5:beta``, ``us.anthropic.claude-sonnet-4-20250514-v1:0``, ``models/gemini-2.5-pro``
and ``llama3.1:8b-instruct-q4_K_M`` all become words that can be compared: dots, dashes, underscores and colons
part words, and so does a digit after a letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Words = tuple[str, ...]

_WORD = re.compile(r"[a-z]+|[0-9]+[a-z]*|[^\x00-\x7f]+")
_DROPPED_FIRST = frozenset({"models", "publishers", "accounts"})
_FINE_TUNED = "ft:"  # ft:gpt-4o-mini-2024-07-18:organisation::id
_DOTTED_VENDOR = re.compile(r"^(?:(?:us|eu|apac|ap|jp|au|ca|us-gov|global)\.)?(?:[a-z0-9]+)\.(?=[a-z])")


def words(name: str) -> Words:
    """
    Return the words of a name.
    """
    found = tuple(_WORD.findall(name.lower()))
    return found[1:] if found[:2] == ("meta", "llama") else found


def providers(model: str) -> Words:
    """
    Return what stands before the slashes of a name, outermost first.
    """
    return tuple(part for part in model.lower().split("/")[:-1] if part not in _DROPPED_FIRST)


def spellings(model: str) -> Iterator[Words]:
    """
    Yield the words of a name from the fullest spelling to the barest.
    """
    seen: set[Words] = set()
    for spelling in _spellings(model.strip().lower().lstrip("~")):
        found = words(spelling)
        if found and found not in seen:
            seen.add(found)
            yield found


def _spellings(name: str) -> Iterator[str]:
    last = name.rsplit("/", 1)[-1]
    if last.startswith(_FINE_TUNED):
        last = last.split(":")[1]
    yield last
    bare = last.partition(":")[0].partition("@")[0]
    yield bare
    vendor = _DOTTED_VENDOR.match(bare)
    if vendor:
        yield bare[vendor.end() :]
