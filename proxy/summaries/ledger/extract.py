"""
From the originals to the finished extract: read, weigh, fill, write, and fit the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.chat.language import language_of
from proxy.chat.messages import text_of
from proxy.compaction.handover import is_real_ask
from proxy.summaries.base import Note, SummaryJob
from proxy.summaries.keeping import notes_within, within
from proxy.summaries.ledger.calls import Call
from proxy.summaries.ledger.fill import Filling, Stage
from proxy.summaries.ledger.focus import focused_stages, topic_features
from proxy.summaries.ledger.index import Name, choose, collect
from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.near import without_near_duplicates
from proxy.summaries.ledger.reach import within_reach
from proxy.summaries.ledger.redundancy import keep_distinct
from proxy.summaries.ledger.roles import Candidate, find_turns, join_answers, weigh
from proxy.summaries.ledger.routine import fade_routine
from proxy.summaries.ledger.segments import fill_topics, topics
from proxy.summaries.ledger.sizes import cut_to, pieces, scales
from proxy.summaries.ledger.slots import successors, values_of
from proxy.summaries.ledger.todo import todo_lines, writes_todo
from proxy.summaries.ledger.units import Source, Unit, clean, read, sentences
from proxy.summaries.ledger.writing import Page, add_index, blocks_of
from proxy.summaries.sections import Section, render

GOAL_TOKENS = 600
INDEX_SHARE = 0.12
PINNED_SHARE = 0.80
NOTES_SHARE = 0.15
_AMPLE_TOKENS = 800
_GOAL_SHARE = 0.35
_TODO_SHARE = 0.12
_FOCUS_WEIGHT = 5.0
_OUTDATED_WEIGHT = 0.3
_SPOKEN_WEIGHT = 1.5
_TELLING = 0.5
"""Sentences that weigh less only say what comes next; they have no share of their own."""
_HEADING_TOKENS = 40
_TRIES = 6
_SLACK = 0.98
_TAIL_CHARS = 60_000
_PROGRESS = frozenset({Section.DONE, Section.IN_PROGRESS, Section.BLOCKED, Section.DECISIONS})

_STAGES = (
    Stage(0.45, lambda c: c.must and c.section is not Section.GOAL, whole=True),
    Stage(0.30, lambda c: c.unit.source is Source.USER),
    Stage(0.10, lambda c: c.section is Section.FILES and c.weight > 1, whole=True),
    Stage(0.12, lambda c: c.section is Section.RESOLVED),
    Stage(0.22, lambda c: c.section in _PROGRESS and c.weight >= _TELLING),
    Stage(0.06, lambda c: c.error),
    Stage(1.00, lambda c: c.section is not Section.GOAL),
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """
    Everything known of a conversation before the budget has a say.
    """

    language: str
    goal: str
    todo: tuple[str, ...]
    calls: tuple[Call, ...]
    candidates: tuple[Candidate, ...]
    weights: tuple[float, ...]
    replaced: dict[int, int]
    stale: frozenset[int]
    names: tuple[Name, ...]
    lexicon: Lexicon
    covered: tuple[int, ...]
    focused: frozenset[int]
    topics: Mapping[int, int]
    pinned: tuple[str, ...]
    notes: tuple[Note, ...]


def extract(job: SummaryJob, count: Callable[[str], int]) -> str:
    """
    Return the extract of the originals of *job*, up to its ceiling; the same job gives the same text.

    A model is asked for a length; an extract costs nothing, and says the more the longer it is.
    """
    budget = max(job.ceiling_tokens, 1)
    ledger = read_ledger(job, count, budget=budget)
    room = float(budget)
    best, best_tokens = "", 0
    for _ in range(_TRIES):
        text = _compose(ledger, room)
        tokens = count(text)
        if best_tokens < tokens <= budget:
            best, best_tokens = text, tokens
        elif tokens <= budget:
            break  # more room brings no more text: everything worth it is there
        if _SLACK * budget <= tokens <= budget:
            break
        room *= 0.98 * budget / max(tokens, 1)
    return best or cut_to(text, budget, count)


def read_ledger(job: SummaryJob, count: Callable[[str], int], *, budget: int) -> Ledger:
    """
    Read *job* into candidates with features, weights and sizes.
    """
    first_ask = clean(job.first_ask, mask=job.redact).strip()
    rows = within_reach(job.evidence or job.originals)
    reading = read(rows, mask=job.redact)
    turns = find_turns(rows, live=any(is_real_ask(row) for row in job.tail))
    units = join_answers(fade_routine(without_near_duplicates(keep_distinct(reading.units, reading.calls))), turns)
    pinned = tuple(within(job.pinned, PINNED_SHARE * job.ceiling_tokens, count))
    units = [
        unit
        for unit in units
        if (not _said_already(unit, (first_ask, *pinned)) and unit.row not in turns.answered_questions) or unit.section
    ]
    units = [*_goal_units(first_ask), *units, *_file_units(reading.calls)]
    lexicon = Lexicon()
    features = [lexicon.features(unit.text) for unit in units]
    covered = lexicon.features("\n".join(text_of(row)[:_TAIL_CHARS] for row in job.tail)[:_TAIL_CHARS])
    focus = topic_features(job.focus or "", lexicon)
    weights = lexicon.weights(features)
    ratio = scales(units, count)
    candidates = [
        _sized(weigh(unit, found, lexicon, turns=turns, calls=reading.calls), ratio)
        for unit, found in zip(units, features, strict=True)
    ]
    candidates = _favour_spoken_of(candidates, lexicon)
    replaced = successors(candidates, lexicon, weights)
    focused = frozenset(n for n, c in enumerate(candidates) if focus and focus & set(c.features))
    return Ledger(
        language=language_of(rows, extra=first_ask),
        goal=cut_to(first_ask, min(GOAL_TOKENS, int(_GOAL_SHARE * budget)), count) if first_ask else "",
        todo=() if writes_todo(job.tail) else tuple(todo_lines(rows, mask=job.redact)),
        calls=reading.calls,
        candidates=tuple(_reweigh(c, n in replaced, n in focused) for n, c in enumerate(candidates)),
        weights=tuple(weights),
        replaced=replaced,
        stale=_stale(candidates, replaced, lexicon),
        names=collect(units, features, lexicon),
        lexicon=lexicon,
        covered=covered,
        focused=focused,
        topics={} if focused else topics(candidates, weights),
        pinned=pinned,
        notes=notes_within(job.notes, int(NOTES_SHARE * budget), count),
    )


def _compose(ledger: Ledger, room: float) -> str:
    left = room - _HEADING_TOKENS - (pieces(ledger.goal) * 1.1 if ledger.goal else 0.0)
    todo = _todo_within(ledger.todo, _TODO_SHARE * left)
    left -= sum(pieces(line) + 2 for line in [*todo, *ledger.pinned, *(note.text for note in ledger.notes)])
    chosen = _fill(ledger, left) if left > 0 else []
    blocks = blocks_of(Page(ledger.language, ledger.goal, todo, ledger.calls, ledger.pinned, ledger.notes), chosen)
    body = render(blocks, ledger.language)
    used = sum(candidate.tokens + 2 for candidate in chosen)
    names = choose(
        ledger.names,
        present=frozenset(ledger.lexicon.features(body)),
        stale=ledger.stale,
        room=max(_index_share(left) * left, left - used - _HEADING_TOKENS),
    )
    return render(add_index(blocks, names, ledger.language), ledger.language) if names else body


def _fill(ledger: Ledger, room: float) -> list[Candidate]:
    filling = Filling(
        ledger.candidates,
        ledger.weights,
        room,
        label_tokens={group: pieces(call.label) + 2 for group, call in enumerate(ledger.calls)},
        successors=ledger.replaced,
    )
    filling.cover(ledger.covered)
    goal = [n for n, c in enumerate(ledger.candidates) if c.section is Section.GOAL]
    for number in goal:
        filling.take(number)
    filling.used -= sum(filling.cost(number) for number in goal)
    limit = room * (1 - _index_share(room))
    stages = focused_stages(_STAGES, {id(ledger.candidates[n]) for n in ledger.focused}) if ledger.focused else _STAGES
    *shared, free = stages
    for stage in shared:
        filling.run(stage, limit=limit)
    fill_topics(filling, ledger.topics, limit=limit)
    filling.run(free, limit=limit)
    return [ledger.candidates[n] for n in sorted(filling.chosen - set(goal))]


def _index_share(room: float) -> float:
    """
    Return the share of the index: in a small summary whole lines say more than single strings.
    """
    return INDEX_SHARE * min(1.0, room / _AMPLE_TOKENS)


def _todo_within(lines: tuple[str, ...], room: float) -> list[str]:
    taken = []
    for line in lines:
        room -= pieces(line) + 2
        if room < 0:
            break
        taken.append(line)
    return taken


def _goal_units(first_ask: str) -> list[Unit]:
    return [Unit(-1, Source.USER, text, section=Section.GOAL) for text in sentences(first_ask)]


def _file_units(calls: tuple[Call, ...]) -> list[Unit]:
    names: dict[str, dict[str, None]] = {}
    for call in calls:
        if call.path and not call.is_todo:
            names.setdefault(call.path, {})[call.name] = None
    groups = {call.path: group for group, call in enumerate(calls)}
    return [
        Unit(calls[groups[path]].row, Source.CALL, f"{path} ({', '.join(done)})", groups[path], section=Section.FILES)
        for path, done in names.items()
    ]


def _sized(candidate: Candidate, ratio: Mapping[Source, float]) -> Candidate:
    unit = candidate.unit
    section, must = candidate.section, candidate.must
    if unit.section in {Section.GOAL, Section.FILES, Section.RESOLVED}:
        section, must = unit.section, must and unit.section is not Section.GOAL
    tokens = max(1, round(pieces(unit.text) * ratio[unit.source]))
    return Candidate(unit, section, candidate.features, candidate.weight, tokens, must=must, error=candidate.error)


def _favour_spoken_of(candidates: Sequence[Candidate], lexicon: Lexicon) -> list[Candidate]:
    """
    Raise output lines that name what people or the assistant name elsewhere.
    """
    spoken = {
        feature
        for candidate in candidates
        if candidate.unit.source not in {Source.TOOL, Source.PASTED}
        for feature in candidate.features
        if lexicon.shown[feature]
    }
    return [
        replace(c, weight=c.weight * _SPOKEN_WEIGHT)
        if c.unit.source is Source.TOOL and not spoken.isdisjoint(c.features)
        else c
        for c in candidates
    ]


def _reweigh(candidate: Candidate, outdated: bool, focused: bool) -> Candidate:
    factor = (_OUTDATED_WEIGHT if outdated else 1.0) * (_FOCUS_WEIGHT if focused else 1.0)
    return replace(candidate, weight=candidate.weight * factor) if factor != 1.0 else candidate


def _said_already(unit: Unit, texts: Sequence[str]) -> bool:
    return unit.source is Source.USER and any(unit.text in text for text in texts)


def _stale(candidates: Sequence[Candidate], replaced: Mapping[int, int], lexicon: Lexicon) -> frozenset[int]:
    stale: set[int] = set()
    for older, newer in replaced.items():
        stale |= values_of(candidates[older], lexicon) - values_of(candidates[newer], lexicon)
    return frozenset(stale)
