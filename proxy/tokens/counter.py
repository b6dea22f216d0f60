"""
Count the tokens of messages and of what travels beside them: the one estimator of the whole proxy.

Every string value counts, with a few tokens for the frame that servers put around it. Counts are o200k_base tokens
whatever the model; calibration scales budgets, never counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import Any

from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.chat.row_notes import RowNotes
from proxy.tokens.bound import REASONING_PARTS
from proxy.tokens.cache import CountCache
from proxy.tokens.families import UNKNOWN, ModelFamily
from proxy.tokens.media import media_tokens
from proxy.tokens.opaque import BLOB_TOKENS, is_opaque, scrub
from proxy.tokens.vocabulary import Vocabulary

MESSAGE_FRAME = 3
NAME_FRAME = 1
CALL_FRAME = 8
REPLY_PRIMING = 3
TOOLS_FRAME = 9

_SAMPLES = 4
_SAMPLE_BYTES = 128
_UNSEEN = frozenset({"id", "tool_call_id", "type", "index", "status", "object", "created", "model", "cache_control"})
_REASONING_TEXT = ("reasoning_content", "reasoning")
_PART_TEXT = ("text", "refusal", "thinking", "reasoning", "summary")
_MESSAGE = "message"
_PLAIN_ROLES = ("user", "assistant", "system", "developer", "tool")
_PLAIN_FIELDS = ("role", "content")
_UNSEEN_FIELD = "tool_call_id"
_FIXED = ("tools", "functions", "response_format", "tool_choice", "function_call", "documents")


class TokenCounter:
    """
    Counts for one family of models; messages seen before cost a hash and a look-up.
    """

    def __init__(self, vocabulary: Vocabulary, cache: CountCache, family: ModelFamily = UNKNOWN) -> None:
        self._vocabulary = vocabulary
        self._cache = cache
        self._family = family
        # Counts of one family and of one kind of value must not serve another: images differ, and so do frames.
        self._name = family.name
        self._running_key = ("tokens", family.name)
        self._plain = {role: f"{role}\0{family.name}" for role in _PLAIN_ROLES}

    def text(self, text: str) -> int:
        """
        Return the tokens of a text.
        """
        return self._vocabulary.count(text)

    def is_dense(self, text: bytes) -> bool:
        """
        Tell by samples whether a token of *text* takes fewer than two bytes, as in base64 and tables of numbers.
        """
        starts = range(0, len(text), max(len(text) // _SAMPLES, _SAMPLE_BYTES))
        sample = b"".join([text[start : start + _SAMPLE_BYTES] for start in starts])
        return 2 * self.text(sample.decode("utf-8", "ignore")) > len(sample)

    def message(self, message: Message) -> int:
        """
        Return the tokens of one row, its frame included.
        """
        return self.messages((message,))

    def messages(self, messages: Sequence[Message]) -> int:
        """
        Return the tokens of all rows.
        """
        total = 0
        key_of, known = self._message_key, self._cache.get  # looked up once: a long history has thousands of rows
        for message in messages:
            key = key_of(message)
            count = known(key)
            total += self._kept(key, self._message, message) if count is None else count
        return total

    def running(self, notes: RowNotes) -> list[int]:
        """
        Return the tokens of all rows up to each, its own included; rows of earlier turns are not counted again.
        """
        if not self._vocabulary.ready:  # an estimate made while the table loads must not outlive that time
            return list(self._running((), notes.rows))
        return notes.on(self._running_key, self._running)

    def counted(self, notes: RowNotes) -> tuple[int, int]:
        """
        Return how many of the first rows were counted on an earlier turn, and their tokens.
        """
        known = notes.there(self._running_key)
        return len(known), known[-1] if known else 0

    def _running(self, known: Sequence[int], rows: Sequence[Message]) -> Iterator[int]:
        return islice(accumulate(map(self.message, rows), initial=known[-1] if known else 0), 1, None)

    def fixed(self, data: Message) -> int:
        """
        Return what the request carries beside its messages: tool schemas, an answer schema, the start of the reply.
        """
        return REPLY_PRIMING + sum(self._fixed(key, data[key]) for key in _FIXED if data.get(key))

    def _message_key(self, message: Message) -> int:
        """
        Return a key for all that the count depends on; for plain rows that is the role and the text.

        Python's own hash is keyed anew in every process and five times as fast as a digest. Among 2^17 entries of 64
        bits a row meets another's key once in 10^14 look-ups, and is then counted wrong.
        """
        content, role = message.get("content"), message.get("role")
        if isinstance(content, str) and isinstance(role, str) and role in self._plain:
            extra = len(message) - len(_PLAIN_FIELDS)
            if not extra or (extra == 1 and _UNSEEN_FIELD in message):
                return hash((self._plain[role], content))
        return hash((self._name, _MESSAGE, dumps(message)))

    def _fixed(self, kind: str, value: Any) -> int:
        key = hash((self._name, kind, dumps(value)))
        count = self._cache.get(key)
        return self._kept(key, partial(self._beside, kind), value) if count is None else count

    def _kept(self, key: int, counted: Callable[[Any], int], value: Any) -> int:
        exact = self._vocabulary.ready
        count = counted(value)
        if exact:  # an estimate made while the table loads must not outlive that time
            self._cache.put(key, count)
        return count

    def _beside(self, kind: str, value: Any) -> int:
        if kind in {"tool_choice", "function_call"} and isinstance(value, str):
            return 1
        return self._structure(value) + (TOOLS_FRAME if kind in {"tools", "functions"} else 0)

    def _message(self, message: Message) -> int:
        said = {value for key in _REASONING_TEXT if isinstance(value := message.get(key), str) and value}
        total = MESSAGE_FRAME + sum(map(self.text, said))
        for key, value in message.items():
            if key in _REASONING_TEXT or (said and key in REASONING_PARTS):
                continue
            total += self._field(key, value)
        return total

    def _field(self, key: str, value: Any) -> int:
        if key == "content" or key in REASONING_PARTS:
            return self._content(value)
        if key == "tool_calls":
            return sum(map(self._call, value)) if isinstance(value, list) else 0
        if key == "function_call":
            return self._function(value)
        if key in _UNSEEN or not isinstance(value, str):
            return 0
        frame = NAME_FRAME if key == "name" else 0
        return frame + self._unknown_text(value)

    def _unknown_text(self, text: str) -> int:
        return BLOB_TOKENS if is_opaque(text) else self.text(text)

    def _content(self, content: Any) -> int:
        if content is None:
            return 0
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, list):
            return sum(map(self._part, content))
        return self._part(content)

    def _part(self, part: Any) -> int:
        if isinstance(part, str):
            return self.text(part)
        if not isinstance(part, dict):
            return self._structure(part)
        media = media_tokens(part, self._family)
        if media is not None:
            return media
        texts = [value for key in _PART_TEXT if isinstance(value := part.get(key), str)]
        if texts:
            return sum(map(self.text, texts))
        if "content" in part and part.get("type") == "tool_result":
            return self._content(part["content"])
        return self._structure(part)

    def _call(self, call: Any) -> int:
        if not isinstance(call, dict):
            return 0
        body = call.get("function", call.get("custom"))
        return self._function(body)

    def _function(self, body: Any) -> int:
        if not isinstance(body, dict) or not body:
            return 0
        arguments = body.get("arguments", body.get("input"))
        inner = self.text(arguments) if isinstance(arguments, str) else self._structure(arguments)
        return CALL_FRAME + self._unknown_text(_string(body.get("name"))) + inner

    def _structure(self, value: Any) -> int:
        if value is None:
            return 0
        written, blobs = scrub(value)
        return self.text(dumps(written).decode()) + BLOB_TOKENS * blobs


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
