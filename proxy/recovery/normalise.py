"""
Take an error body apart: texts, codes and structured numbers, from whatever nesting it arrived in.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proxy.chat.json import loads

MAX_BYTES = 65_536
MAX_DEPTH = 6
MAX_ITEMS = 50
MAX_TEXTS = 200
MAX_TEXT = 2_000
MAX_JOINED = 3_000
MAX_COUNT = 10**12
"""No number of tokens is larger; one that is stands for nothing."""

CODE_KEYS = frozenset({
    "code", "type", "status", "error_type", "errortype", "reason", "error_code", "errorcode", "kind", "err_code",
    "finish_reason", "stop_reason", "__type",
})  # fmt: skip
TEXT_KEY = re.compile(
    r"message|msg|error|detail|reason|descri|fault|raw|cause|title|metadata|response|exception|^data$|^param$|^err$|^text$|^body$|^result$|^output$|^status$|^code$|^type$|^kind$|hint|explanation|violations"
)
NUMBER_KEYS: Mapping[str, str] = {
    "n_ctx": "limit",
    "max_model_len": "limit",
    "max_context_length": "limit",
    "context_length": "limit",
    "context_window": "limit",
    "max_input_tokens": "limit",
    "max_prompt_tokens": "limit",
    "n_prompt_tokens": "prompt",
    "prompt_tokens": "prompt",
    "input_tokens": "prompt",
    "num_prompt_tokens": "prompt",
    "requested_tokens": "total",
}

# What is never closed lasts to the end, as in browsers; looked for from each opening, it would take seconds.
_TAG = re.compile(
    r"<(?:script|style)\b.*?(?:</(?:script|style)>|\Z)|<!--.*?(?:-->|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL
)
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml|h1|center)\b", re.IGNORECASE)
_DATA_LINE = re.compile(r"^data:\s?(.*)$", re.MULTILINE)
_BYTES_REPR = re.compile(r"""\bb(?P<q>['"])(?P<body>.*?)(?<!\\)(?P=q)""", re.DOTALL)
_EMBEDDED = re.compile(r"""[{\[]\s*(?:\{\s*)?["']""")
_PAIR = re.compile(r"""["'](?P<key>\w+)["']\s*:\s*(?:["'](?P<word>[\w .\-/]{1,80})["']|(?P<number>-?\d+)\b)""")
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_NO_COUNT = re.compile(r"\d[\d,._]{19,}")
"""A run of digits that is no count of anything: patterns would try every part of it, for seconds."""
_LONG_WORD = re.compile(r"\w{60}(?=\w)")
"""No word is longer, and patterns that look for the end of one try every part of it."""
_SPACE = re.compile(r"[ \t\r\f\v]+")
_SENTENCE_END = re.compile(r"\. |[!?;。！？] ?")
_CAMEL = re.compile(
    r"\b(?:max|min|num|input|prompt|context|seq|sequence|total|output|token|tokens)(?:[A-Z][a-z]+)+\b|\b(?:[A-Z][a-z]+){2,}(?<=Exceeded|.TooLong|TooLarge|Overflow)(?:Error|Exception)?\b"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    A body taken apart: its *text* (folded), the same with one sentence a *line*, its *codes*, structured *numbers*.
    """

    text: str
    lines: str
    codes: frozenset[str]
    numbers: Mapping[str, int]
    message: str


@dataclass(slots=True)
class _Found:
    texts: list[str] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)


def normalise(body: bytes) -> Refusal:
    """
    Gather everything that *body* says, at any nesting; never raises.
    """
    raw = body[:MAX_BYTES].decode("utf-8", "replace").strip()
    found = _Found()
    _walk(_parsed(raw), found, 0)
    texts = list(dict.fromkeys(text for text in found.texts if text))
    text = _bounded(fold("\n".join(texts)[: 2 * MAX_JOINED]))
    return Refusal(
        text=text,
        lines=sentences(text),
        codes=frozenset(found.codes),
        numbers=dict(found.numbers),
        message=max(texts[:3], key=len, default="")[:2_000],
    )


def fold(text: str) -> str:
    """
    Return *text* in the one form that the rules are written for: NFKC, lower case, plain quotes, single spaces.
    """
    plain = _CAMEL.sub(_snake, unicodedata.normalize("NFKC", text)).lower()
    plain = plain.replace("`", "").replace("’", "'").replace("\xa0", " ")
    return _SPACE.sub(" ", plain)


def _bounded(text: str) -> str:
    """
    Leave nothing in folded *text* that patterns could be long about.
    """
    return _LONG_WORD.sub(r"\g<0> ", _NO_COUNT.sub(" ", text)[:MAX_JOINED])[:MAX_JOINED]


def _snake(name: re.Match[str]) -> str:
    """
    Write a name as Java and C++ servers do (maxInputLen) in the way that the rules do (max_input_len).
    """
    return _HUMP.sub("_", name[0])


def sentences(text: str) -> str:
    """
    Return *text* with one sentence a line: what is said of one thing is looked for in one sentence.
    """
    return _SENTENCE_END.sub("\n", text)


def _parsed(raw: str) -> Any:
    try:
        return loads(raw.encode("utf-8", "replace"))
    except ValueError:
        return raw


def _walk(value: Any, found: _Found, depth: int) -> None:
    if depth > MAX_DEPTH or len(found.texts) >= MAX_TEXTS:
        return
    if isinstance(value, str):
        _walk_text(value, found, depth)
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            _walk(item, found, depth + 1)
    elif isinstance(value, dict):
        for key, item in list(_named(value).items())[:MAX_ITEMS]:
            _walk_member(str(key).lower(), item, found, depth)


def _named(value: dict[Any, Any]) -> dict[Any, Any]:
    """
    Put the name of the field before what a validator says of it: it stands in a list of its own.
    """
    where, said = value.get("loc"), value.get("msg")
    if isinstance(where, list) and where and isinstance(said, str):
        return {**value, "msg": f"{where[-1]}: {said}"}
    return value


def _walk_member(key: str, item: Any, found: _Found, depth: int) -> None:
    _note(key, item, found)
    is_word = isinstance(item, str) and " " not in item.strip() and key in CODE_KEYS
    if isinstance(item, dict | list) or (isinstance(item, str) and not is_word and TEXT_KEY.search(key)):
        _walk(item, found, depth + 1)


def _note(key: str, item: Any, found: _Found) -> None:
    """
    Keep a code or a structured number.
    """
    if isinstance(item, bool) or item is None:
        return
    if key in CODE_KEYS and isinstance(item, str | int):
        found.codes.add(str(item).strip().lower())
    if key in NUMBER_KEYS and isinstance(item, int | float) and 0 < item <= MAX_COUNT:
        found.numbers.setdefault(NUMBER_KEYS[key], int(item))


def _walk_text(text: str, found: _Found, depth: int) -> None:
    """
    Keep a message, or what stands inside it: JSON in a string, a Python repr of bytes, SSE lines, HTML.
    """
    text = _plain(text.strip())
    inner = list(_inner_values(text)) if depth < MAX_DEPTH else []
    for value, start, end in inner[:1]:
        before = len(found.texts)
        _walk(value, found, depth + 1)
        said_more = len(found.texts) > before
        if said_more:
            text = (text[:start] + " " + text[end:]).strip(" -:'\"b\n")
    _scrape(text, found)
    found.texts.append(_clip(_unescape(text)))


def _clip(text: str) -> str:
    """
    Keep the beginning and the end: a server that quotes the request back says why before or after it.
    """
    tail = MAX_TEXT // 4
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - tail] + "\n" + text[-tail:]


def _plain(text: str) -> str:
    if _HTML.match(text):
        return html.unescape(_NO_COUNT.sub(" ", _TAG.sub(" ", text))).strip()
    return text


def _inner_values(text: str) -> Iterator[tuple[Any, int, int]]:
    """
    Yield the JSON values that stand inside *text*, with where each begins and ends.
    """
    if data := _DATA_LINE.search(text):
        yield _parsed(data[1]), data.start(), data.end()
        return
    if wrapped := _BYTES_REPR.search(text):
        yield _parsed(_unescape(wrapped["body"])), wrapped.start(), wrapped.end()
        return
    if found := _EMBEDDED.search(text):
        try:
            value, end = _DECODER.raw_decode(text, found.start())
        except ValueError:
            return
        except RecursionError:
            return
        yield value, found.start(), end


def _scrape(text: str, found: _Found) -> None:
    """
    Read ``"code": …`` pairs out of text that is no JSON: cut off, escaped, or a Python repr.
    """
    if ":" not in text or not ('"' in text or "'" in text):
        return
    for pair in _PAIR.finditer(_unescape(text)[:MAX_TEXT]):
        value = int(pair["number"]) if pair["number"] else pair["word"]
        _note(pair["key"].lower(), value, found)


def _unescape(text: str) -> str:
    """
    Undo the escapes that nesting in strings leaves behind.
    """
    for _ in range(3):
        if "\\" not in text:
            break
        text = _UNICODE.sub(lambda m: chr(int(m[1], 16)), text)
        text = text.replace("\\\\", "\\").replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n")
    return text
