"""
Conversations as a small language: ids and sizes visible, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from proxy.chat.json import dumps

Row = dict[str, Any]

_WORDS = [
    "parser",
    "buffer",
    "lookup",
    "retry",
    "config",
    "socket",
    "branch",
    "worker",
    "schema",
    "render",
    "output",
    "header",
    "thread",
    "commit",
    "filter",
    "cursor",
    "packet",
    "window",
    "policy",
    "matrix",
    "driver",
    "handle",
    "script",
    "ledger",
    "signal",
    "vertex",
    "domain",
    "record",
    "module",
    "object",
]
_LINE_WORDS = 11


def filler(size: int, *, seed: str = "") -> str:
    """
    Return *size* characters of words and numbers that depend on *seed* alone; no two lines are the same.
    """
    state = sum((index + 1) * ord(char) for index, char in enumerate(seed)) * 2_654_435_761 + 12_345
    lines: list[str] = []
    total = 0
    while total < size:
        words = [f"{seed or 'line'}:{len(lines)}"]
        for _ in range(_LINE_WORDS):
            state = (state * 1_103_515_245 + 12_345) % 2**31
            words.append(_WORDS[(state >> 8) % len(_WORDS)] if state & 0xC0 else str(state % 10_007))
        lines.append(" ".join(words))
        total += len(lines[-1]) + 1
    return "\n".join(lines)[:size]


def system(text: str = "You are a careful assistant.", *, size: int | None = None) -> Row:
    """
    Return a system row.
    """
    return {"role": "system", "content": text if size is None else filler(size, seed="system")}


def developer(text: str = "Answer briefly.") -> Row:
    """
    Return a developer row.
    """
    return {"role": "developer", "content": text}


def user(text: str | int = "go on") -> Row:
    """
    Return a user row with this text, or with filler of this many characters.
    """
    return {"role": "user", "content": _text(text, "user")}


def assistant(text: str | int = "done") -> Row:
    """
    Return an assistant row without calls.
    """
    return {"role": "assistant", "content": _text(text, "assistant")}


def call(name: str, *, id: str = "a", text: str | None = None, **arguments: Any) -> Row:  # noqa: A002 - the wire's word
    """
    Return an assistant row that calls one tool.
    """
    return calls((name, id, arguments), text=text)


def calls(*several: tuple[str, str, Any], text: str | None = None) -> Row:
    """
    Return an assistant row that calls several tools, each ``(name, id, arguments)``.
    """
    made = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else dumps(given).decode()},
        }
        for name, call_id, given in several
    ]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(id: str = "a", content: str | int = "ok") -> Row:  # noqa: A002 - the wire's word
    """
    Return the result of a call, with this text or with filler of this many characters.
    """
    return {"role": "tool", "tool_call_id": id, "content": _text(content, id)}


def image(text: str = "what is this?", *, size: int = 4_000) -> Row:
    """
    Return a user row with a text part and an image part of *size* characters of base64.
    """
    url = "data:image/png;base64," + "iVBORw0KGgo" + "A" * size
    return {
        "role": "user",
        "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}],
    }


def tool_schema(name: str = "read_file", *parameters: str) -> Row:
    """
    Return one entry of ``tools``.
    """
    properties = {parameter: {"type": "string"} for parameter in parameters or ("path",)}
    function = {
        "name": name,
        "description": f"Tool {name}.",
        "parameters": {"type": "object", "properties": properties},
    }
    return {"type": "function", "function": function}


TOOLS = (tool_schema("read_file", "path"), tool_schema("run", "command"))


def request(rows: Sequence[Row], *, model: str = "sim-model", **fields: Any) -> bytes:
    """
    Return a request body with these rows.
    """
    return dumps({"model": model, "messages": list(rows), **fields})


def agent_session(
    rounds: int, *, bytes_per_round: int = 2_000, ask: str = "fix the failing test in src/app.py"
) -> list[Row]:
    """
    Return one ask and *rounds* tool rounds, ending on the last result, as a real agent's request does.
    """
    rows = [system(size=600), user(ask)]
    for number in range(rounds):
        call_id = f"call_{number:03d}"
        rows.append(call("read_file", id=call_id, text=f"I look at part {number}.", path=f"src/part_{number}.py"))
        rows.append(result(call_id, bytes_per_round))
    return rows


def chat_session(turns: int, *, bytes_per_turn: int = 2_000) -> list[Row]:
    """
    Return *turns* user rows with the answers between them, ending on the last user row.
    """
    rows = [system(size=600)]
    for number in range(turns):
        rows.append(
            {"role": "user", "content": f"Question {number}: " + filler(bytes_per_turn // 2, seed=f"q{number}")}
        )
        rows.append(
            {"role": "assistant", "content": f"Answer {number}: " + filler(bytes_per_turn // 2, seed=f"a{number}")}
        )
    return rows[:-1]


def as_requests(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """
    Yield the row lists a client sends one after the other to come to *rows*: one for each user row and tool round.
    """
    for index, row in enumerate(rows):
        following = rows[index + 1]["role"] if index + 1 < len(rows) else "assistant"
        if row["role"] in {"user", "tool"} and following == "assistant":
            yield list(rows[: index + 1])


def long_session(turns: int, bytes_per_round: int = 2_000, *, kind: str = "agent") -> list[list[Row]]:
    """
    Return the requests of a session that grows turn by turn: an ``agent`` with one ask, or a ``chat``.
    """
    whole = (
        agent_session(turns - 1, bytes_per_round=bytes_per_round)
        if kind == "agent"
        else chat_session(turns, bytes_per_turn=bytes_per_round)
    )
    return list(as_requests(whole))


def _text(value: str | int, seed: str) -> str:
    return filler(value, seed=seed) if isinstance(value, int) else value
