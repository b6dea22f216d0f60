"""
Decide which section a unit belongs to and how much it weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxy.chat.messages import Message, is_assistant, is_user, text_of
from proxy.compaction.handover import is_generated_row
from proxy.summaries.ledger import cues
from proxy.summaries.ledger.calls import Call
from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.units import Source, Unit
from proxy.summaries.sections import Section

_QUESTION_CHARS = 240
_ANSWER_CHARS = 320
_ANSWER_SENTENCES = 4
_SMALL_TALK_CHARS = 24
_SMALL_TALK_WEIGHT = 0.05
_NARRATION_WEIGHT = 0.3
_EXACT_WEIGHT = 1.5
_LONG_EXACT = 9
_SHAPE_FLOOR, _SHAPE_SPAN = 0.3, 3.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    A unit with its section, features, weight and size; *must* marks what people ruled, *error* a failure.
    """

    unit: Unit
    section: Section
    features: tuple[int, ...]
    weight: float
    tokens: int
    must: bool = False
    error: bool = False


@dataclass(frozen=True, slots=True)
class Turns:
    """
    Which rows ask, which answer a question, and which ask nobody has answered yet.
    """

    answers: dict[int, str]
    answered_questions: frozenset[int]
    unanswered: int | None
    last_assistant: int | None


def find_turns(rows: Sequence[Message], *, live: bool = False) -> Turns:
    """
    Pair short questions with the first text that answers them.

    *live* says that a newer ask follows *rows*: then none in them is still being worked on.
    """
    answers: dict[int, str] = {}
    answered: set[int] = set()
    asked: int | None = None
    last_assistant: int | None = None
    for index, row in enumerate(rows):
        if is_generated_row(row):
            continue
        text = text_of(row).strip()
        if is_user(row) and text:
            asked = index
        elif is_assistant(row) and text:
            last_assistant = index
            if asked is not None:
                question = text_of(rows[asked]).strip()
                if len(question) <= _QUESTION_CHARS and cues.QUESTION.search(question):
                    answers[index] = question
                    answered.add(asked)
                asked = None
    return Turns(answers, frozenset(answered), None if live else asked, last_assistant)


def join_answers(units: Sequence[Unit], turns: Turns) -> list[Unit]:
    """
    Put each short question together with the beginning of its answer; the question alone then goes.
    """
    joined: list[Unit] = []
    taken: dict[int, list[Unit]] = {}
    for unit in units:
        if unit.source is Source.ASSISTANT and unit.row in turns.answers:
            taken.setdefault(unit.row, []).append(unit)
    for unit in units:
        parts = taken.get(unit.row)
        if parts is None or unit.source is not Source.ASSISTANT:
            joined.append(unit)
            continue
        lead = _lead(parts)
        if unit is parts[0]:
            text = f"{turns.answers[unit.row]} → {' '.join(part.text for part in lead)}"
            joined.append(replace(unit, text=text, section=Section.RESOLVED, rarity=1.0))
        elif not any(unit is part for part in lead):
            joined.append(unit)
    return joined


def weigh(unit: Unit, features: tuple[int, ...], lexicon: Lexicon, *, turns: Turns, calls: Sequence[Call]) -> Candidate:
    """
    Return *unit* as a candidate; its size is not known yet.
    """
    exact = any(lexicon.is_identifier(feature) for feature in features)
    if unit.source is Source.USER:
        return _user(unit, features, turns, exact=_exactness(features, lexicon))
    if unit.source in {Source.ASSISTANT, Source.NOTE}:
        return _assistant(unit, features, turns, exact=exact)
    if unit.source is Source.CALL:
        call = calls[unit.group]
        return Candidate(unit, Section.TOOLS, features, 1.6 if call.is_edit else 1.0, 0)
    return _line(unit, features, exact=exact)


def _exactness(features: Sequence[int], lexicon: Lexicon) -> float:
    """
    Return by how much exact strings raise the words of a person: a date, path or address is harder to guess than ``30s``.
    """
    longest = max((len(lexicon.shown[feature]) for feature in features), default=0)
    return 1.0 if not longest else _EXACT_WEIGHT if longest < _LONG_EXACT else _EXACT_WEIGHT**2


def _user(unit: Unit, features: tuple[int, ...], turns: Turns, *, exact: float) -> Candidate:
    text = unit.text
    if _is_small_talk(text):
        return Candidate(unit, Section.DONE, features, _SMALL_TALK_WEIGHT, 0)
    rules = cues.CONSTRAINT.search(text) is not None or cues.CORRECTION.search(text) is not None
    pending = cues.PENDING.search(text) is not None
    weight = 1.5 * (2.0 if rules or pending else 1.0) * exact
    if unit.row == turns.unanswered:
        return Candidate(unit, Section.IN_PROGRESS, features, 2 * weight, 0, must=True)
    asks_later = pending and not cues.QUESTION.search(text)
    section = (
        Section.PENDING
        if asks_later and not cues.CORRECTION.search(text)
        else Section.CONSTRAINTS
        if rules
        else Section.DONE
    )
    return Candidate(unit, section, features, weight, 0, must=rules or pending)


def _assistant(unit: Unit, features: tuple[int, ...], turns: Turns, *, exact: bool) -> Candidate:
    text = unit.text
    if _is_small_talk(text):
        return Candidate(unit, Section.DONE, features, _SMALL_TALK_WEIGHT, 0)
    decides = cues.DECISION.search(text) is not None
    weight = 1.5 * unit.rarity * (2.5 if decides else 1.0) * (2.0 if exact else 1.0)
    if not exact and not decides and cues.FUTURE.search(text) and unit.row != turns.last_assistant:
        weight *= _NARRATION_WEIGHT
    if unit.section is not None:
        section = Section.DONE if unit.section is Section.PROGRESS else unit.section
        is_rule = section in {Section.CONSTRAINTS, Section.PENDING}
        return Candidate(unit, section, features, weight * (1.5 if is_rule else 1.0), 0, must=is_rule)
    if cues.BLOCKED.search(text) and not cues.DONE.search(text):
        section = Section.BLOCKED
    elif decides:
        section = Section.DECISIONS
    elif unit.row == turns.last_assistant and cues.FUTURE.search(text):
        section = Section.IN_PROGRESS
    else:
        section = Section.DONE
    return Candidate(unit, section, features, weight, 0)


def _is_small_talk(text: str) -> bool:
    return len(text) <= _SMALL_TALK_CHARS and cues.SMALL_TALK.fullmatch(text) is not None


def _line(unit: Unit, features: tuple[int, ...], *, exact: bool) -> Candidate:
    error = cues.ERROR.search(unit.text) is not None
    weight = 4.0 if error else 1.0
    if not error and exact and cues.RESULT.search(unit.text):
        weight = 2.0
    if not exact:
        weight *= 0.5
    return Candidate(
        unit, Section.CRITICAL, features, weight * (_SHAPE_FLOOR + _SHAPE_SPAN * unit.rarity), 0, error=error
    )


def _lead(parts: Sequence[Unit]) -> list[Unit]:
    lead: list[Unit] = []
    size = 0
    for part in parts[:_ANSWER_SENTENCES]:
        if lead and size + len(part.text) > _ANSWER_CHARS:
            break
        lead.append(part)
        size += len(part.text)
    return lead
