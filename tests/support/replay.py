"""
Replay a recorded conversation turn by turn through a proxy, and judge what reached the upstream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from proxy.chat.json import dumps, loads
from proxy.simulator.server import Simulator
from tests.support.proxied import Proxied
from tests.support.shared import shared_file

FILES = (
    "pi_coding",
    "tau_airline_sessions",
    "tau_airline_single",
    "crosswoz_zh",
    "bfcl_replay",
    "openhands",
    "sweagent",
)


@dataclass(slots=True)
class Judged:
    """
    What the simulator saw of one replay.
    """

    turns: int = 0
    failures: list[str] = field(default_factory=list)
    illegal: list[str] = field(default_factory=list)
    unstable: list[str] = field(default_factory=list)
    refused: int = 0
    breaks: int = 0
    compactions: int = 0


def shared_conversations(name: str) -> list[dict[str, Any]]:
    """
    Return the conversations of one shared file; skips the test where there is none.
    """
    lines = shared_file(f"data/conversations/{name}.jsonl").read_bytes().splitlines()
    return [loads(line) for line in lines]


def turns(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """
    Yield the requests that a client made on the way: each ends where an assistant row follows.
    """
    for index, row in enumerate(messages):
        if index and row.get("role") == "assistant" and messages[index - 1].get("role") in {"user", "tool"}:
            yield list(messages[:index])


async def replay(
    conversation: dict[str, Any], upstream: Simulator, proxied: Proxied, *, model: str, every: int = 1
) -> Judged:
    """
    Send every turn and return the simulator's judgement: statuses, legality, and prefix stability.
    """
    judged = Judged()
    previous: list[bytes] = []
    tools = {"tools": conversation["tools"]} if conversation.get("tools") else {}
    requests = list(turns(conversation["messages"]))
    for index, rows in enumerate(requests):
        if index % every and index != len(requests) - 1:
            continue
        start = len(upstream.received)
        reply = await proxied.post({"model": model, "messages": rows, **tools, "stream": bool(index % 2)})
        judged.turns += 1
        calls = [call for call in upstream.received[start:] if call.is_chat and not call.is_summary_call]
        if reply.status != 200:
            judged.failures.append(f"turn {index}: {reply.status} {reply.body[:200]!r}")
            continue
        judged.refused += len(calls) - 1
        sent = calls[-1].messages
        introduced = calls[-1].introduced(rows)
        if introduced:
            judged.illegal.append(f"turn {index}: {introduced}")
        written = [dumps(row) for row in sent]
        extends = written[: len(previous)] == previous
        judged.breaks += bool(previous) and not extends
        compacted = reply.action in {"compacted", "recovered"}
        judged.compactions += compacted
        if previous and not extends and not compacted:
            judged.unstable.append(f"turn {index}: {reply.action}")
        previous = written
    return judged
