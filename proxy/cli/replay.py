"""
Replay recorded conversations turn by turn, as the client that made them would have sent them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from proxy.chat.json import loads
from proxy.errors import SettingsError
from proxy.simulator.received import Received
from proxy.simulator.server import Simulator

MODEL = "sim-model"


@dataclass(frozen=True, slots=True)
class Request:
    """
    One request of a session: its number, its conversation, and the whole history that it carries.
    """

    number: int
    conversation: int
    rows: list[Any]
    tools: list[Any]

    @property
    def fields(self) -> dict[str, Any]:
        """
        The request's body.
        """
        tools = {"tools": self.tools} if self.tools else {}
        return {"model": MODEL, "messages": self.rows, **tools}


@dataclass(frozen=True, slots=True)
class Turn:
    """
    What became of one request: the tokens that the proxy states, and those that *arrived* as the upstream counts them.
    """

    number: int
    rows: int
    ok: bool
    error: str = ""
    before: int = 0
    after: int = 0
    arrived: int = 0
    action: str = ""
    summaries: int = 0
    prefix_kept: bool | None = None


def parse_conversations(text: bytes, name: str) -> list[dict[str, Any]]:
    """
    Return the conversations of a file, one JSON object with ``messages`` a line. Raises ``SettingsError``.
    """
    found = [_conversation(line, f"{name}:{n}") for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not any(requests(found)):
        raise SettingsError((f"{name}: no assistant row after the first row, so there is nothing to replay",))
    return found


def _conversation(line: bytes, place: str) -> dict[str, Any]:
    try:
        data = loads(line)
    except ValueError as exc:
        raise SettingsError((f"{place}: no JSON: {exc}",)) from exc
    rows = data.get("messages") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SettingsError((f"{place}: expected an object with a list of messages",))
    return {"messages": rows, "tools": data.get("tools") or []}


def requests(conversations: Sequence[dict[str, Any]], limit: int | None = None) -> list[Request]:
    """
    Return the first *limit* requests: each ends where an assistant row follows.
    """
    numbered = enumerate(_cuts(conversations), 1)
    return [
        Request(number, conversation, talk["messages"][:end], talk["tools"])
        for number, (conversation, talk, end) in islice(numbered, limit)
    ]


def _cuts(conversations: Sequence[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any], int]]:
    for conversation, talk in enumerate(conversations):
        rows = talk["messages"]
        for index in range(1, len(rows)):
            # Two assistant rows in a row are one answer of the model: only the first was asked for.
            if rows[index].get("role") == "assistant" and rows[index - 1].get("role") != "assistant":
                yield conversation, talk, index


class Replayer:
    """
    Sends requests through an OpenAI client and looks at what reached the simulator.
    """

    def __init__(self, client: Any, simulator: Simulator, *, refused: type[Exception]) -> None:
        self._client = client
        self._simulator = simulator
        self._refused = refused
        self._summaries = len(simulator.summary_calls)
        self._previous: tuple[int, list[Any]] | None = None

    async def replay(self, asked: Sequence[Request], *, each: Callable[[], None]) -> AsyncIterator[Turn]:
        """
        Yield what becomes of each request in turn.
        """
        for request in asked:
            turn = await self._turn(request)
            each()
            yield turn

    async def _turn(self, request: Request) -> Turn:
        start = len(self._simulator.received)
        try:
            raw = await self._client.chat.completions.with_raw_response.create(**request.fields)
        except self._refused as exc:
            return Turn(request.number, len(request.rows), ok=False, error=words(exc))
        calls = [call for call in self._simulator.received[start:] if call.is_chat and not call.is_summary_call]
        before, after = _tokens(raw.headers.get("x-concertina-tokens", ""), calls)
        return Turn(
            request.number,
            len(request.rows),
            ok=True,
            before=before,
            after=after,
            arrived=sum(call.prompt_tokens for call in calls),
            action=raw.headers.get("x-concertina-action", "direct"),
            summaries=len(self._simulator.summary_calls) - self._summaries,
            prefix_kept=self._extends(request.conversation, calls),
        )

    def _extends(self, conversation: int, calls: Sequence[Received]) -> bool | None:
        """
        Tell whether the upstream got its previous rows again, unchanged, in front: then its prompt cache serves.
        """
        previous, sent = self._previous, calls[-1].messages if calls else []
        self._previous = (conversation, sent)
        if previous is None or previous[0] != conversation:
            return None
        return sent[: len(previous[1])] == previous[1]


def words(exc: Exception) -> str:
    """
    Return what the server said, in its own words where it said something.
    """
    body = getattr(exc, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    status = getattr(exc, "status_code", None)
    return f"{status}: {said or exc}" if status else str(said or exc)


def _tokens(header: str, calls: Sequence[Received]) -> tuple[int, int]:
    """
    Return the tokens before and after; small requests are not counted by the proxy, so what arrived is both.
    """
    found = dict(item.partition("=")[::2] for item in header.split(";"))
    arrived = calls[-1].prompt_tokens if calls else 0
    return int(found.get("before") or arrived), int(found.get("after") or arrived)
