"""
Numbered summaries for summariser calls: plausible prose of a set size, with the sections a summary has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_SECTIONS = (
    "Goal",
    "Constraints & preferences",
    "Progress",
    "Key decisions",
    "Resolved questions",
    "Relevant files",
    "Remaining work",
    "Critical context",
)
_SENTENCES = (
    "The user asked for a change and the assistant read the code that it concerned.",
    "The tests were run after every edit and their failures were read one by one.",
    "The smaller of two solutions was chosen since it left the callers as they were.",
    "A first attempt was taken back because it broke the order of the results.",
    "The remaining failure came from a fixture that expected the old shape.",
    "The names of public functions stayed as they were, as the user had wished.",
    "The documentation was brought in line with what the code did by then.",
    "The next step was to look at the callers that had not been read yet.",
)
_PATH = re.compile(r"[\w.-]*/[\w./-]+\.\w{1,5}\b")
_MOST_PATHS = 8


def summary_text(number: int, source: str, *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """
    Return summary *number* of *source*, as long as *budget_tokens* allow; it names files that the source names.
    """
    lines = [f"SUMMARY-{number}"]
    used = count(lines[0])
    for line in _lines(number, source):
        cost = count("\n" + line)
        if used + cost > budget_tokens:
            break
        lines.append(line)
        used += cost
    return "\n".join(lines)


def _lines(number: int, source: str) -> Iterator[str]:
    paths = list(dict.fromkeys(_PATH.findall(source)))[:_MOST_PATHS]
    turn = number
    per_section = 2
    while True:
        for title in _SECTIONS:
            yield f"## {title}"
            if title == "Relevant files":
                yield from (f"- {path}" for path in paths)
            for _ in range(per_section):
                yield f"- {_SENTENCES[turn % len(_SENTENCES)][:-1]} (item {turn})."
                turn += 1
        per_section += 1
