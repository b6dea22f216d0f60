"""
Cut rows into the units that are kept or dropped whole: paragraphs of people, sentences of the assistant, lines of tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxy.chat.messages import (
    Message,
    is_assistant,
    is_system,
    is_tool_result,
    result_id,
    role_of,
    text_of,
    tool_calls,
)
from proxy.compaction.handover import is_generated_row, rest_after, unwrap
from proxy.privacy.injection import strip_invisible
from proxy.privacy.redact import redact
from proxy.summaries.ledger.calls import Call, read_call
from proxy.summaries.ledger.flatten import LINE_CHARS, Line, flatten_json
from proxy.summaries.sections import Section, heading_of, section_of
from proxy.summaries.transcript import without_data

PARAGRAPH_CHARS = 600
_PARAGRAPH_LINES = 8
_PASTE_CHARS = 4_000
_MOST_LINES = 6_000
_CODE_RARITY = 0.3
_PARAGRAPHS = re.compile(r"\n\s*\n")
_SENTENCES = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[A-Z0-9À-Þ\"'`(*\[])|(?<=[。！？])")
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{180,}")


class Source(StrEnum):
    """
    Who a unit is from; ``PASTED`` is bulk text in a user row, ``NOTE`` a line of a summary made elsewhere.
    """

    USER = "user"
    ASSISTANT = "assistant"
    CALL = "call"
    TOOL = "tool"
    PASTED = "pasted"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Unit:
    """
    One piece of text, verbatim but for white space, from *row* of the originals.

    *group* numbers the tool call that an output line belongs to, -1 for none. *rarity* is 1 for a line whose shape
    occurs once in its output, less the more often it does. *section* is set where the text itself says it. *is_record*
    marks the fields of a JSON object.
    """

    row: int
    source: Source
    text: str
    group: int = -1
    rarity: float = 1.0
    section: Section | None = None
    is_record: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """
    All units of a conversation, in order, and its tool calls by group number.
    """

    units: tuple[Unit, ...]
    calls: tuple[Call, ...]


def clean(text: str, *, mask: bool) -> str:
    """
    Return text fit for a summary: no data URIs, no invisible characters, secrets masked.
    """
    text = strip_invisible(without_data(text))
    return redact(text) if mask else text


def read(rows: Sequence[Message], *, mask: bool = True) -> Reading:
    """
    Cut *rows* into units.
    """
    units: list[Unit] = []
    calls: list[Call] = []
    open_calls: dict[str, int] = {}
    for index, row in enumerate(rows):
        if is_assistant(row):
            first = len(calls)
            for call in tool_calls(row):
                open_calls[call.call_id] = len(calls)
                calls.append(read_call(call, row=index, mask=mask))
            text = clean(text_of(row), mask=mask)
            units += _note(index, text) if is_generated_row(row) else _assistant(index, text)
            units += _call_units(calls, first)
        elif is_tool_result(row):
            group = open_calls.get(result_id(row), len(calls) - 1)
            units += _output(index, clean(_tool_text(row), mask=mask), source=Source.TOOL, group=group)
        elif not is_system(row) or index:
            units += _spoken(index, row, mask=mask)
    return Reading(tuple(units), tuple(calls))


def sentences(text: str) -> list[str]:
    """
    Split prose into sentences, whatever the script.
    """
    return [piece.strip() for piece in _SENTENCES.split(text) if piece and piece.strip()]


def _spoken(index: int, row: Message, *, mask: bool) -> Iterator[Unit]:
    text = clean(text_of(row), mask=mask)
    if is_generated_row(row):
        yield from _note(index, text)
        return
    own = rest_after(text) or text
    if own is not text:
        yield from _note(index, text)
    source = Source.USER if role_of(row) == "user" else Source.NOTE
    pieces = [piece.strip() for piece in _PARAGRAPHS.split(own) if piece.strip()]
    bulky = len(own) > _PASTE_CHARS
    for number, piece in enumerate(pieces):
        if _is_paste(piece) or (bulky and 1 < number < len(pieces) - 2):
            yield from _output(index, piece, source=Source.PASTED, group=-1)
        else:
            yield from (Unit(index, source, part) for part in _paragraph(piece))


def _is_paste(piece: str) -> bool:
    return piece.count("\n") >= _PARAGRAPH_LINES or len(piece) > 3 * PARAGRAPH_CHARS


def _paragraph(piece: str) -> Iterator[str]:
    if len(piece) <= PARAGRAPH_CHARS:
        yield piece
        return
    taken = ""
    for sentence in sentences(piece):
        if taken and len(taken) + len(sentence) > PARAGRAPH_CHARS:
            yield taken
            taken = ""
        taken = f"{taken} {sentence}" if taken else sentence
    if taken:
        yield taken


def _note(index: int, text: str) -> Iterator[Unit]:
    section: Section | None = None
    for line in (unwrap(text) or text).splitlines():
        if heading_of(line) is not None:
            section = section_of(line)
        elif line.strip():
            yield Unit(index, Source.NOTE, line.strip().removeprefix("- "), section=section)


def _assistant(index: int, text: str) -> Iterator[Unit]:
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced and line.strip():
            yield Unit(
                index, Source.ASSISTANT, line.strip()[:LINE_CHARS], rarity=_CODE_RARITY, section=Section.CRITICAL
            )
        elif line.strip() and heading_of(line) is None:
            bare = line.strip().removeprefix("- ").removeprefix("* ")
            yield from (
                Unit(index, Source.ASSISTANT, part) for sentence in sentences(bare) for part in _windows(sentence)
            )


def _call_units(calls: Sequence[Call], first: int) -> Iterator[Unit]:
    """
    Yield those of the *first* call and all behind it: of the row that was read last.
    """
    for number in range(first, len(calls)):
        call = calls[number]
        if not call.is_todo:
            yield Unit(call.row, Source.CALL, call.text, group=number)


def _output(index: int, text: str, *, source: Source, group: int) -> Iterator[Unit]:
    fields = flatten_json(text)
    lines = fields or [Line(line, "") for line in text.splitlines()]
    shaped = [(line.text, line.shape or shape_of(line.text)) for line in _bounded(lines) if line.text.strip()]
    counts: dict[str, int] = {}
    for _, shape in shaped:
        counts[shape] = counts.get(shape, 0) + 1
    for line_text, shape in shaped:
        rarity = 1 / counts[shape]
        yield from (
            Unit(index, source, part, group, rarity, is_record=bool(fields)) for part in _windows(line_text.strip())
        )


def _bounded(lines: list[Line]) -> list[Line]:
    """
    Keep the first and the last lines of an output of very many, so that one row cannot cost minutes.
    """
    if len(lines) <= _MOST_LINES:
        return lines
    half = _MOST_LINES // 2
    return lines[:half] + lines[-half:]


def _windows(line: str) -> Iterator[str]:
    line = _OPAQUE.sub("…", line) if len(line) > LINE_CHARS else line
    while len(line) > LINE_CHARS:
        cut = max(line.rfind(" ", LINE_CHARS // 2, LINE_CHARS), line.rfind(",", LINE_CHARS // 2, LINE_CHARS)) + 1
        cut = cut or LINE_CHARS
        yield line[:cut].strip()
        line = line[cut:]
    if line.strip():
        yield line.strip()


_WORDS = re.compile(r"[^\W\d_]+")
_NUMBERS = re.compile(r"\d+")
_LINE_NUMBER = re.compile(r"^\s*\d{1,6}\s*[:|\t→]\s?")


def shape_of(line: str) -> str:
    """
    Return the shape of a line's beginning: letters become ``a``, digits ``0``, ten characters at most.
    """
    return _NUMBERS.sub("0", _WORDS.sub("a", without_line_number(line)[:60]))[:10]


def without_line_number(line: str) -> str:
    """
    Take off the line number that file viewers put in front.
    """
    return _LINE_NUMBER.sub("", line, count=1)


def _tool_text(row: Message) -> str:
    return text_of(row)
