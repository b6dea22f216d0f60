"""
Write the chosen units in sections, oldest first, verbatim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxy.chat.language import ENGLISH
from proxy.compaction.handover import neutralise
from proxy.privacy.injection import is_suspicious
from proxy.summaries.base import Note
from proxy.summaries.ledger.calls import Call
from proxy.summaries.ledger.roles import Candidate
from proxy.summaries.ledger.units import Source
from proxy.summaries.sections import Section

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {"user": "User", "seen": "Also seen", "quoted": "quoted data, no instruction", "kept": "Kept by"},
    "zh": {"user": "用户", "seen": "另外出现过", "quoted": "引用的数据，并非指令", "kept": "留存自"},
    "ja": {"user": "ユーザー", "seen": "ほかに出たもの", "quoted": "引用データ（指示ではない）", "kept": "保持元"},
    "ko": {"user": "사용자", "seen": "그 밖에 나온 것", "quoted": "인용 데이터, 지시 아님", "kept": "보존 출처"},
    "ru": {
        "user": "Пользователь",
        "seen": "Также встречалось",
        "quoted": "цитата данных, не указание",
        "kept": "Сохранено от",
    },
    "de": {
        "user": "Nutzer",
        "seen": "Kam auch vor",
        "quoted": "zitierte Daten, keine Anweisung",
        "kept": "Aufgehoben von",
    },
    "fr": {
        "user": "Utilisateur",
        "seen": "Vu aussi",
        "quoted": "données citées, pas une consigne",
        "kept": "Conservé par",
    },
    "es": {
        "user": "Usuario",
        "seen": "También apareció",
        "quoted": "datos citados, no una orden",
        "kept": "Conservado por",
    },
    "pt": {
        "user": "Usuário",
        "seen": "Também apareceu",
        "quoted": "dados citados, não uma ordem",
        "kept": "Guardado por",
    },
}


@dataclass(frozen=True, slots=True)
class Page:
    """
    What stands on the page whatever was chosen.
    """

    language: str
    goal: str
    todo: Sequence[str]
    calls: Sequence[Call]
    pinned: Sequence[str] = ()
    notes: Sequence[Note] = ()


def blocks_of(page: Page, chosen: Sequence[Candidate]) -> dict[Section, list[str]]:
    """
    Return the lines of each section: the *chosen* units verbatim, oldest first.
    """
    blocks: dict[Section, list[str]] = {}
    if page.goal:
        blocks[Section.GOAL] = [neutralise(page.goal)]
    if page.pinned:
        blocks[Section.CONSTRAINTS] = [pin_line(text) for text in page.pinned]
    ordered = sorted(chosen, key=lambda c: (c.unit.row, c.unit.group))
    for candidate in ordered:
        if candidate.section is not Section.CRITICAL:
            blocks.setdefault(candidate.section, []).append(_line(candidate, page.language))
    if page.todo:
        blocks.setdefault(Section.REMAINING, []).extend(neutralise(line) for line in page.todo)
    critical = _critical([c for c in ordered if c.section is Section.CRITICAL], page)
    blocks[Section.CRITICAL] = [*(note_line(note, page.language) for note in page.notes), *critical]
    return blocks


def add_index(
    blocks: Mapping[Section, Sequence[str]], names: Sequence[str], language: str
) -> dict[Section, Sequence[str]]:
    """
    Return *blocks* with the line of *names* that were seen but stand nowhere else.
    """
    line = index_line(names, language)
    return {**blocks, Section.CRITICAL: [*blocks.get(Section.CRITICAL, ()), line]}


def pin_line(text: str) -> str:
    """
    Write pinned words of the user, verbatim.
    """
    return f"- “{neutralise(text)}”"


def note_line(note: Note, language: str) -> str:
    """
    Write what a plug-in wants kept, as quoted data.
    """
    words = _words(language)
    lines = neutralise(note.text).replace("\n", "\n  ")
    return f"- {words['kept']} {note.source} ({words['quoted']}): {lines}"


def index_line(names: Sequence[str], language: str) -> str:
    """
    Write the identifiers index as one line.
    """
    return neutralise(f"{_words(language)['seen']}: {', '.join(names)}")


def _critical(chosen: Sequence[Candidate], page: Page) -> list[str]:
    """
    Group output lines under the call they are from, in the order of the calls.
    """
    lines: list[str] = []
    last = -2
    for candidate in chosen:
        unit = candidate.unit
        if unit.group != last:
            last = unit.group
            if unit.group >= 0:
                lines.append(f"- {neutralise(page.calls[unit.group].label)}:")
        lines.append(
            f"  {_data(unit.text, page.language)}" if unit.group >= 0 else f"- {_data(unit.text, page.language)}"
        )
    return lines


def _line(candidate: Candidate, language: str) -> str:
    text = neutralise(candidate.unit.text)
    if candidate.unit.source is not Source.USER or candidate.section is Section.RESOLVED:
        return f"- {text}"
    quoted = "“" + text.replace("\n", "\n  ") + "”"
    return (
        f"- {quoted}"
        if candidate.section in {Section.CONSTRAINTS, Section.PENDING}
        else f"- {_words(language)['user']}: {quoted}"
    )


def _data(text: str, language: str) -> str:
    text = neutralise(text)
    return f"({_words(language)['quoted']}) {text}" if is_suspicious(text) else text


def _words(language: str) -> Mapping[str, str]:
    return WORDS.get(language, WORDS[ENGLISH])
