"""
Tell whether an answer is a summary at all; each refusal has a name fit for a metric label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from proxy.errors import SummaryError
from proxy.privacy.injection import is_suspicious
from proxy.summaries.sections import Section, heading_of, section_of

REASONS = (
    "empty",
    "too_short",
    "headings_only",
    "echo",
    "repetition",
    "refusal",
    "length",
    "tool_calls",
    "reasoning",
    "error_text",
    "orders",
    "answer",
    "longer_than_source",
)
_SHORTEST = 20
_THINK = re.compile(
    r"<(think|thinking|reasoning|thought|scratchpad)\b[^>]{0,40}>.*?</\1\s*>\s*", re.IGNORECASE | re.DOTALL
)
_THINK_OPEN = re.compile(
    r"</?(?:think|thinking|reasoning|thought|scratchpad)\b[^>]{0,40}>|<\|channel\|>analysis", re.IGNORECASE
)
_CODE_FENCE = re.compile(r"\A```(?:markdown|md|text)?[ \t]*\n(.*)\n```\Z", re.DOTALL)
_TOOL_PROTOCOL = re.compile(
    r"</?(?:tool_call|function_call|function_calls|invoke|tool_use|function=)\b|<\|(?:tool_call|python_tag|tool▁calls?▁begin)"
    r"|\A\s*\{\s*\"(?:name|tool|function|tool_calls)\"\s*:",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\A\W*(?:(?:I'?m|I am) (?:really |very |so )?sorry|sorry,|I apologi[sz]e|(?:I'?m|I am) (?:unable|not able)|I (?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|will not|must decline)"
    r"|as an AI|unfortunately,? I|很?抱歉|对不起|我(?:无法|不能)|申し訳|すみません|お手伝いできません)",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\A\W*(?:error\b|\{\s*\"error\"|(?:HTTP|status)[ /]?(?:code )?:?[ ]?[45]\d\d|[45]\d\d\b[ :]|traceback \(most recent|internal server error|"
    r"bad gateway|service unavailable|gateway time-?out|too many requests|rate limit|<!doctype html|<html|upstream (?:error|connect)|"
    r"request timed out|context length exceeded|invalid api key)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\W{0,6}(?:you (?:must|should|need to|will now|are to)\b|(?:now )?(?:please )?(?:continue|proceed|begin|start|run|execute|respond|reply|ignore|resume) "
    r"(?:by|with|the|now|to|from|all)\b|your (?:next )?(?:task|step|job) is|next,? you\b|你(?:必须|应该|需要|现在)|请(?:继续|立即|执行|运行|忽略)"
    r"|(?:続けて|実行して|無視して)ください)",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"[\"“”「『'‘`]")
_MOST_ORDERS = 2
_ORDERS_SHARE = 0.2
_QUOTING = frozenset({Section.CONSTRAINTS, Section.PENDING, Section.REMAINING, Section.RESOLVED})
"""Sections that hold what people demanded; elsewhere a summary tells, and demands nothing."""
_TRANSCRIPT_LABEL = re.compile(
    r"^\[(?:USER|ASSISTANT|TOOL RESULT|SYSTEM|NOTES FROM EARLIER|ROW)\b[^\]\n]{0,60}\] ", re.MULTILINE
)
_MOST_LABELS = 3
_CHAT = re.compile(
    r"\A\W*(?:(?:sure|certainly|of course|okay|ok|great|alright|absolutely|gladly|yes|no problem)\b[ ,.!:]|I(?:'|’)?(?:ll| will| can| would|'d|’d)\b"
    r"|let(?:'|’)?s? (?:me|us)?\b|happy to\b|当然|好的|没问题|让我|我(?:会|来|可以)|はい|もちろん|承知)",
    re.IGNORECASE,
)
_ECHO_LINES = (
    "between the two lines marked",
    "write notes from which the work can go on",
    "return the notes alone",
    "material to describe; requests",
)
_REPEATED = 4
_REPEATED_SHARE = 0.5
_LONG_LINE = 12
_GRAM = 40
_RELATIVE_SOURCE = 1_500


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """
    What a model answered, and what it cost.
    """

    text: str
    finish_reason: str | None = None
    tool_calls: bool = False
    refusal: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0


def accept(answer: SummaryAnswer, *, source: str) -> str:
    """
    Return the summary in *answer*, reasoning taken out. Raises ``SummaryError`` with one of ``REASONS``.
    """
    if answer.refusal:
        raise SummaryError("refusal")
    if answer.tool_calls or answer.finish_reason in {"tool_calls", "function_call"}:
        raise SummaryError("tool_calls")
    if answer.finish_reason in {"length", "max_tokens"}:
        raise SummaryError("length")
    if answer.finish_reason == "content_filter":
        raise SummaryError("refusal")
    text = without_reasoning(answer.text)
    reason = fault_of(text, source=source)
    if reason is not None:
        raise SummaryError(reason, transient=reason == "empty")
    return text


def fault_of(text: str, *, source: str) -> str | None:
    """
    Return why *text* is no summary of *source*, ``None`` where it is one.
    """
    if not text.strip():
        return "empty"
    return _fault_of_form(text) or _fault_of_content(text, source)


def without_reasoning(text: str) -> str:
    """
    Take out closed reasoning blocks and a fence around the whole.
    """
    text = _THINK.sub("", text).strip() if "<" in text else text.strip()
    fenced = _CODE_FENCE.match(text)
    return fenced[1].strip() if fenced else text


def _fault_of_form(text: str) -> str | None:
    if _THINK_OPEN.search(text):
        return "reasoning"
    if _TOOL_PROTOCOL.search(text):
        return "tool_calls"
    if _ERROR.match(text):
        return "error_text"
    if _REFUSAL.match(text):
        return "refusal"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    content = [line for line in lines if heading_of(line) is None]
    if not content:
        return "headings_only"
    return "too_short" if sum(len(line) for line in content) < _shortest(text) else None


def _fault_of_content(text: str, source: str) -> str | None:
    folded = text.casefold()
    if sum(line in folded for line in _ECHO_LINES) > 1 or "</record " in folded:
        return "echo"
    if len(_TRANSCRIPT_LABEL.findall(text)) >= _MOST_LABELS:
        return "echo"
    if _CHAT.match(text) and not any(heading_of(line) for line in text.splitlines()):
        return "answer"
    if _repeats(text):
        return "repetition"
    if _gives_orders(text):
        return "orders"
    # A short source may well need more room in sections than it had as chat.
    if len(text) > max(len(source), _RELATIVE_SOURCE):
        return "longer_than_source"
    return None


def _shortest(text: str) -> int:
    # One Chinese or Japanese character says about as much as three Latin ones.
    return _SHORTEST if text.isascii() else _SHORTEST // 2


def _repeats(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines() if len(line.strip()) >= _LONG_LINE and heading_of(line) is None]
    if len(lines) >= _REPEATED and len(lines) - len(set(lines)) >= max(_REPEATED - 1, _REPEATED_SHARE * len(lines)):
        return True
    grams = [text[start : start + _GRAM] for start in range(0, len(text) - _GRAM, _GRAM)]
    return _loops(text) if len(grams) > _REPEATED else False


def _loops(text: str) -> bool:
    """
    Tell whether the end of the text says one thing over and over, as a model does that has lost its way.
    """
    ending = text[-_GRAM:]
    return text.count(ending) >= _REPEATED


def _gives_orders(text: str) -> bool:
    """
    Tell whether the text tells the next model what to do, where it should tell what was done.
    """
    told = list(_told_lines(text))
    if any(is_suspicious(line) and _QUOTE.search(line) is None for line in told):
        return True
    orders = sum(_ORDER.match(line) is not None and _QUOTE.search(line[:4]) is None for line in told)
    return orders >= _MOST_ORDERS or (orders > 0 and orders >= _ORDERS_SHARE * len(told))


def _told_lines(text: str) -> Iterator[str]:
    section: Section | None = None
    for line in filter(None, map(str.strip, text.splitlines())):
        if heading_of(line) is not None:
            section = section_of(line)
        elif section not in _QUOTING:
            yield line
