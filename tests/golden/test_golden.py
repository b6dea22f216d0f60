"""
Compactions as readable JSON: what is sent for three conversations, in each posture.

Run with ``GOLDEN=write`` to write the files anew, then read the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from proxy.compaction.validate import validate
from proxy.engines.base import Posture
from proxy.simulator.rules import introduced
from tests.golden.conversations import agent, chinese_chat, odd_client
from tests.support.folding import Scribe, compact, sent, split

FOLDER = Path(__file__).parent
SUMMARIES = {
    "agent": "## Goal\nThe user wanted the failing test fixed and the public API kept.\n\n## Progress\n- src/app.py was read.",
    "chinese_chat": "## 目标\n用户想了解每个步骤的原因。\n\n## 已解决的问题\n- 前几个问题已经回答。",
    "odd_client": "## Goal\nThe user wanted the weather.\n\n## Resolved questions\n- It was sunny in Ulm.",
}
CASES = [
    pytest.param(name, rows, window, posture, id=f"{name}-{posture}")
    for name, rows, window in (
        ("agent", agent, 3_000),
        ("chinese_chat", chinese_chat, 2_600),
        ("odd_client", odd_client, 1_800),
    )
    for posture in Posture
]


@pytest.mark.parametrize(("name", "conversation", "window", "posture"), CASES)
async def test_a_compaction_is_what_it_was(
    name: str, conversation: Callable[[], list[Any]], window: int, posture: Posture
):
    """
    Byte stability over versions: a change of these files costs every running conversation its cached prefix.
    """
    system, rows = split(conversation())
    made = await compact(rows, window, system=system, posture=posture, scribe=Scribe(SUMMARIES[name]))
    assert made.layout is not None, made.report.why
    written = sent(made.layout, rows)
    validate([*system, *written], [*system, *rows])
    assert introduced([*system, *rows], [*system, *written]) == {}

    shown = {
        "window": window,
        "tokens": {"before": made.report.before, "after": made.report.after},
        "layout": {**asdict(made.layout), "summary": "below" if made.layout.summary else None},
        "messages": [*system, *written],
    }
    text = json.dumps(shown, ensure_ascii=False, indent=2) + "\n"
    file = FOLDER / f"{name}.{posture}.json"
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")

    assert file.read_text(encoding="utf-8") == text
