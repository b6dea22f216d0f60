"""
Three small conversations of our own making, and what each golden file shows of its compaction.
"""

from __future__ import annotations

from typing import Any

from tests.support.conversations import assistant, call, calls, filler, image, result, system, user

Row = dict[str, Any]


def agent() -> list[Row]:
    """
    Return a coding agent's loop: one ask, reads that fail and succeed, a file read twice, a pending round.
    """
    rows = [
        system("You are a careful coding agent."),
        user("Fix the failing test in src/app.py, but keep the public API."),
    ]
    same = "def parse(text):\n" + filler(700, seed="app")
    steps = [
        ("read_file", {"path": "src/app.py"}, same),
        (
            "run",
            {"command": "pytest -q"},
            filler(400, seed="log") + "\nERROR: test_parse failed at src/app.py:42\n" + filler(300),
        ),
        ("grep", {"pattern": "parse"}, "src/app.py:42\nsrc/cli.py:7"),
        ("read_file", {"path": "src/cli.py"}, filler(900, seed="cli")),
        ("read_file", {"path": "src/app.py"}, same),
        ("run", {"command": "pytest -q"}, "3 passed\n" + filler(600, seed="pass")),
        ("read_file", {"path": "README.md"}, filler(500, seed="readme")),
    ]
    for number, (name, arguments, output) in enumerate(steps):
        rows += [call(name, id=f"call_{number}", **arguments), result(f"call_{number}", output)]
    return rows


def chinese_chat() -> list[Row]:
    """
    Return a chat in Chinese with an image and a cache mark, ending on a question.
    """
    rows = [system("你是一位有帮助的助手。")]
    for number in range(8):
        rows.append(user(f"第 {number} 个问题：" + "请说明这个步骤的原因和结果。" * 6))
        rows.append(assistant(f"第 {number} 个回答：" + "这个步骤用于检查数据是否正确。" * 6))
    rows[3]["content"] = [{"type": "text", "text": rows[3]["content"], "cache_control": {"type": "ephemeral"}}]
    return [*rows, image("这张图里是什么？", size=40)]


def odd_client() -> list[Row]:
    """
    Return what an untidy client sends: a leading assistant row, legacy calls, reminders, parallel calls, a prefill.
    """
    rows = [system("s"), assistant("Hello, how can I help?"), user("Look up the weather. " + filler(500, seed="ask"))]
    rows.append(
        {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": '{"city":"Ulm"}'}}
    )
    rows.append({"role": "function", "name": "weather", "content": filler(600, seed="weather")})
    rows += [assistant("Sunny. " + filler(400, seed="sunny")), {"role": "developer", "content": "Answer briefly."}]
    rows += [user("And trains? " + filler(300, seed="trains")), calls(("a", "x", {"n": 1}), ("b", "x2", {"n": 2}))]
    rows += [result("x2", 700), result("x", 300), assistant("Two trains. " + filler(300, seed="two"))]
    return [*rows, user("Which is faster?"), assistant("The faster one is")]
