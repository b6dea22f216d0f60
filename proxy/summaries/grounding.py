"""
Check a model's summary against its source, without a model: append what must not be missing, drop invented quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proxy.chat.messages import text_of
from proxy.compaction.handover import is_real_ask, neutralise
from proxy.compaction.shorten import shorten
from proxy.summaries.base import SummaryJob
from proxy.summaries.ledger.extract import GOAL_TOKENS, PINNED_SHARE, Ledger, read_ledger
from proxy.summaries.ledger.index import choose
from proxy.summaries.ledger.roles import Candidate
from proxy.summaries.ledger.sizes import cut_to
from proxy.summaries.ledger.units import Source, clean
from proxy.summaries.ledger.writing import index_line, note_line, pin_line
from proxy.summaries.sections import Section, heading_of, section_of, title

_GROUNDING_SHARE = 0.35
_INDEX_SHARE = 0.10
_ASK_CHARS = 1_400
_QUOTED = re.compile(r"[\"“「『]([^\"“”「」『』\n]{4,600})[\"”」』]")
_SPACE = re.compile(r"\s+")
_LEAST_QUOTE = 4
_GOAL_SHARE = 0.5


@dataclass(slots=True)
class _Notes:
    """
    A summary as sections in order, being completed within *room* tokens; made and used within one call.
    """

    sections: list[tuple[str, Section | None, list[str]]]
    language: str
    room: float
    count: Callable[[str], int]

    def add(self, section: Section, line: str, *, first: bool = False) -> bool:
        cost = self.count(line) + 3
        if cost > self.room:
            return False
        self.room -= cost
        lines = self._lines_of(section)
        lines.insert(0 if first else len(lines), line)
        return True

    def text(self) -> str:
        written = []
        for heading, _, lines in self.sections:
            body = "\n".join(lines).strip("\n")
            if body.strip():
                written.append(f"{heading}\n{body}" if heading else body)
        return "\n\n".join(written)

    def _lines_of(self, section: Section) -> list[str]:
        for _, found, lines in self.sections:
            if found is section:
                return lines
        order = list(Section)
        place = next(
            (
                n
                for n, (_, found, _) in enumerate(self.sections)
                if found is not None and order.index(found) > order.index(section)
            ),
            len(self.sections),
        )
        self.room -= self.count(title(section, self.language)) + 4
        self.sections.insert(place, (f"## {title(section, self.language)}", section, []))
        return self.sections[place][2]


def ground(text: str, job: SummaryJob, count: Callable[[str], int]) -> str:
    """
    Return *text* with what it lacks of the source: the first and the latest ask, the user's rules, the todo list, edited
    files, and an index of exact strings; never above the ceiling of *job*.

    Where both are too much, the model's own words give way: what people said is not exchanged for a paraphrase.
    """
    text = clean(text, mask=job.redact)
    ledger = read_ledger(job, count, budget=max(job.budget_tokens, 1))
    grounded = _completed(text, job, ledger, count)
    over = count(grounded) - job.ceiling_tokens
    if over > 0:
        own = shorten(text, tokens=max(count(text) - over, 0), count=count)
        grounded = _completed(own, job, ledger, count)
    return grounded if count(grounded) <= job.ceiling_tokens else cut_to(grounded, job.ceiling_tokens, count)


def _completed(text: str, job: SummaryJob, ledger: Ledger, count: Callable[[str], int]) -> str:
    source = "\n".join([job.first_ask, job.previous or "", *(text_of(row) for row in [*job.originals, *job.tail])])
    sections = _without_invented(_split(text), squeeze(clean(source, mask=job.redact)))
    size = min(job.budget_tokens, job.ceiling_tokens)
    notes = _Notes(sections, ledger.language, PINNED_SHARE * job.ceiling_tokens, count)
    _ground_pinned(notes, ledger)
    notes.room = _GROUNDING_SHARE * size
    _ground_goal(notes, job, most=min(GOAL_TOKENS, int(_GOAL_SHARE * size)))
    said = squeeze(notes.text())
    _ground_rules(notes, ledger, said)
    _ground_latest_ask(notes, job)
    _ground_todo(notes, ledger, said)
    _ground_files(notes, ledger, said)
    _ground_notes(notes, ledger, said)
    _ground_index(notes, ledger, job)
    return notes.text()


def squeeze(text: str) -> str:
    """
    Return *text* for comparing: one kind of space and quote, case folded.
    """
    return _SPACE.sub(" ", text.replace("’", "'").replace("‘", "'")).casefold()


def _split(text: str) -> list[tuple[str, Section | None, list[str]]]:
    sections: list[tuple[str, Section | None, list[str]]] = [("", None, [])]
    for line in text.splitlines():
        found = section_of(line)
        if heading_of(line) is not None and found not in {Section.DONE, Section.IN_PROGRESS, Section.BLOCKED}:
            sections.append((line.strip(), found, []))
        else:
            sections[-1][2].append(line)
    return sections


def _without_invented(
    sections: list[tuple[str, Section | None, list[str]]], source: str
) -> list[tuple[str, Section | None, list[str]]]:
    """
    Drop lines of the constraints that quote what nobody said.
    """
    return [
        (heading, section, [line for line in lines if section is not Section.CONSTRAINTS or _is_genuine(line, source)])
        for heading, section, lines in sections
    ]


def _is_genuine(line: str, source: str) -> bool:
    quotes = [squeeze(quote).strip(" .…。") for quote in _QUOTED.findall(line)]
    return all(quote in source for quote in quotes if len(quote) >= _LEAST_QUOTE)


def _ground_goal(notes: _Notes, job: SummaryJob, *, most: int) -> None:
    """
    Quote the first ask, whatever room all else has: the task is what every later turn is judged by.
    """
    ask = clean(job.first_ask, mask=job.redact).strip()
    if not ask:
        return
    shown = neutralise(cut_to(ask, most, notes.count))
    if shown and squeeze(shown) not in squeeze(notes.text()):
        room, notes.room = notes.room, math.inf
        notes.add(Section.GOAL, shown, first=True)
        notes.room = room


def _ground_pinned(notes: _Notes, ledger: Ledger) -> None:
    """
    Pinned words have room of their own, before anything else.
    """
    text = notes.text()
    for pin in ledger.pinned:
        if pin not in text:
            notes.add(Section.CONSTRAINTS, pin_line(pin))


def _ground_notes(notes: _Notes, ledger: Ledger, said: str) -> None:
    for note in ledger.notes:
        if squeeze(note.text) not in said:
            notes.add(Section.CRITICAL, note_line(note, ledger.language))


def _ground_rules(notes: _Notes, ledger: Ledger, said: str) -> None:
    for candidate in _newest_first(ledger, lambda c: c.unit.source is Source.USER and c.must):
        if squeeze(candidate.unit.text) in said:
            continue
        section = (
            candidate.section if candidate.section in {Section.PENDING, Section.IN_PROGRESS} else Section.CONSTRAINTS
        )
        if section is not Section.IN_PROGRESS:
            notes.add(section, f"- “{neutralise(candidate.unit.text)}”")


def _ground_latest_ask(notes: _Notes, job: SummaryJob) -> None:
    if any(is_real_ask(row) for row in job.tail):
        return
    asks = [text_of(row) for row in job.originals if is_real_ask(row)]
    latest = clean(asks[-1] if asks else "", mask=job.redact).strip()[:_ASK_CHARS]
    if latest and squeeze(latest) not in squeeze(notes.text()):
        notes.add(Section.PROGRESS, f"- {title(Section.IN_PROGRESS, notes.language)}: “{neutralise(latest)}”")


def _ground_todo(notes: _Notes, ledger: Ledger, said: str) -> None:
    for line in ledger.todo:
        if squeeze(line.removeprefix("[ ] ")) not in said and not notes.add(Section.REMAINING, neutralise(line)):
            return


def _ground_files(notes: _Notes, ledger: Ledger, said: str) -> None:
    edited = {call.path: call.name for call in ledger.calls if call.is_edit and call.path}
    for path, name in reversed(edited.items()):
        if squeeze(path) not in said and not notes.add(Section.FILES, f"- {neutralise(path)} ({name})"):
            return


def _ground_index(notes: _Notes, ledger: Ledger, job: SummaryJob) -> None:
    names = choose(
        ledger.names,
        present=frozenset(ledger.lexicon.features(notes.text())),
        stale=ledger.stale,
        room=min(notes.room, _INDEX_SHARE * job.budget_tokens),
    )
    while names and not notes.add(Section.CRITICAL, index_line(names, ledger.language)):
        names = names[: len(names) * 3 // 4]


def _newest_first(ledger: Ledger, wanted: Callable[[Candidate], bool]) -> Sequence[Candidate]:
    return [
        candidate
        for candidate in reversed(ledger.candidates)
        if wanted(candidate) and candidate.section is not Section.GOAL
    ]
