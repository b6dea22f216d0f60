"""
Small conversations and fake models for the tests of summaries.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from proxy.chat.messages import Message
from proxy.errors import SummaryError
from proxy.summaries.base import SummaryJob
from proxy.summaries.guards import SummaryAnswer
from proxy.summaries.prompt import SummaryPrompt

GOOD = (
    "## Progress\n### Done\n- The import job was read and the failing row was found in src/load.py.\n"
    "## Key decisions\n- Batches of 500 rows were chosen."
)


def count(text: str) -> int:
    """
    Count a token for every four bytes.
    """
    return (len(text.encode("utf-8", "replace")) + 3) // 4


class Counter:
    """
    The counter as an object.
    """

    def text(self, text: str) -> int:
        return count(text)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(name: str, call_id: str = "a", **arguments: object) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(text: str, call_id: str = "a") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def job(rows: Sequence[Message], budget: int = 400, **changes: object) -> SummaryJob:
    values: dict = {
        "originals": rows,
        "fresh": rows,
        "previous": None,
        "tail": (),
        "budget_tokens": budget,
        "ceiling_tokens": budget,
        **changes,
    }
    return SummaryJob(**values)


class FakeModel:
    """
    Answers with the scripted texts or answers in turn (the last one for ever) and remembers what it was asked.
    """

    def __init__(self, *answers: str | SummaryAnswer | SummaryError) -> None:
        self.answers = list(answers) or [GOOD]
        self.asked: list[SummaryPrompt] = []

    async def __call__(self, prompt: SummaryPrompt) -> SummaryAnswer:
        self.asked.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, SummaryError):
            raise answer
        if isinstance(answer, SummaryAnswer):
            return answer
        return SummaryAnswer(answer, "stop", prompt_tokens=count(text_of_prompt(prompt)))


def text_of_prompt(prompt: SummaryPrompt) -> str:
    return "\n".join(row["content"] for row in prompt.messages)
