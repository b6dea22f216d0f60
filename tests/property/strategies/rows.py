"""
Conversations of every shape that clients send, for hypothesis: small enough to be fast, odd enough to be worth it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from tests.support.conversations import filler

Row = dict[str, Any]

CHINESE = "请修复测试并说明原因。错误代码 4711 出现在 src/app.py 第 42 行。"
IDS = st.sampled_from(["a", "b", "c"])
"""Few ids, so that clients reuse them across rounds."""
MARK = {"type": "ephemeral"}


@lru_cache(maxsize=512)
def _filler(size: int, seed: str) -> str:
    return filler(size, seed=seed)


@st.composite
def texts(draw: st.DrawFn, most: int = 3_000) -> str:
    """
    Return prose, lists of lines, Chinese, or one long word.
    """
    size = draw(st.sampled_from([3, 40, 150, 400, most]))
    seed = draw(st.sampled_from(["north", "south", "east", "west"]))
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return (CHINESE * (size // len(CHINESE) + 1))[:size]
    if kind == 1:
        return "error: " + "x" * size
    return _filler(size, f"{seed}{draw(st.integers(0, 9))}")


@st.composite
def images(draw: st.DrawFn) -> Row:
    """
    Return an image part, inline or by address.
    """
    if draw(st.booleans()):
        return {"type": "image_url", "image_url": {"url": f"https://example.test/{draw(st.integers(0, 9))}.png"}}
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * draw(st.integers(4, 900))}}


@st.composite
def part_lists(draw: st.DrawFn, *, least_text: int = 1) -> list[Row]:
    """
    Return content as parts: a text first, then texts, images and kinds that nobody knows.
    """
    found: list[Row] = [{"type": "text", "text": draw(texts())} for _ in range(least_text)]
    for kind in draw(st.lists(st.sampled_from(["text", "image", "odd"]), max_size=3)):
        if kind == "text":
            found.append({"type": "text", "text": draw(texts(400))})
        elif kind == "image":
            found.append(draw(images()))
        else:
            found.append({"type": "custom_blob", "payload": {"k": draw(texts(400))}})
    if draw(st.integers(0, 5)) == 0:
        found[-1] = {**found[-1], "cache_control": MARK}
    return found


def user_rows() -> st.SearchStrategy[Row]:
    """
    Return user rows: text, parts, and the odd shapes that some clients send.
    """
    odd = st.sampled_from([7, True, {"type": "text", "text": "as a dict"}, {"question": "unknown dict"}])
    content = st.one_of(texts(), texts(), part_lists(), odd)
    return st.builds(lambda given: {"role": "user", "content": given}, content)


def answer_rows() -> st.SearchStrategy[Row]:
    """
    Return assistant rows without calls.
    """
    plain = st.one_of(texts(), texts(), part_lists())
    row = st.builds(lambda given: {"role": "assistant", "content": given}, plain)
    reasoned = st.builds(
        lambda said, thought: {"role": "assistant", "content": said, "reasoning_content": thought}, texts(), texts()
    )
    signed = st.builds(
        lambda said, thought: {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": thought, "signature": "s"}, {"type": "text", "text": said}],
        },
        texts(),
        texts(),
    )
    return st.one_of(row, row, row, reasoned, signed)


@st.composite
def arguments(draw: st.DrawFn) -> str:
    """
    Return call arguments, always JSON, sometimes long.
    """
    size = draw(st.sampled_from([2, 30, 1_500]))
    return '{"path": "' + "p" * size + '"}'


@st.composite
def rounds(draw: st.DrawFn, *, whole: bool = False) -> list[Row]:
    """
    Return a tool round: one call or several, results in any order, sometimes one missing, one too many, or none.
    """
    if draw(st.integers(0, 7)) == 0:
        return draw(legacy_rounds())
    ids = draw(st.lists(IDS, min_size=1, max_size=3, unique=True))
    calls = [
        {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": draw(arguments())}}
        for call_id in ids
    ]
    said = draw(st.one_of(st.none(), st.none(), texts(150)))
    row: Row = {"role": "assistant", "content": said, "tool_calls": calls}
    answered = list(draw(st.permutations(ids)))
    fault = 0 if whole else draw(st.integers(0, 9))
    if fault == 1:
        answered = answered[1:]
    elif fault == 2:
        answered = [*answered, answered[0]]
    elif fault == 3:
        answered = [*answered, "stray"]
    return [row, *(draw(result_rows(call_id)) for call_id in answered)]


@st.composite
def result_rows(draw: st.DrawFn, call_id: str) -> Row:
    """
    Return the result of a call: text mostly, small enough or huge, now and then a dict or a list.
    """
    odd = st.sampled_from([None, 3, False, {"status": "ok", "lines": ["one"] * 90}])
    content = draw(st.one_of(texts(6_000), texts(6_000), texts(6_000), part_lists(), odd))
    return {"role": "tool", "tool_call_id": call_id, "content": content}


@st.composite
def legacy_rounds(draw: st.DrawFn) -> list[Row]:
    """
    Return a round in the form before tools: ``function_call`` and a ``function`` row.
    """
    call = {"name": "lookup", "arguments": draw(arguments())}
    return [
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "lookup", "content": draw(texts())},
    ]


def turns() -> st.SearchStrategy[list[Row]]:
    """
    Return one step of a conversation, of any kind.
    """
    system_row = st.builds(lambda text: {"role": "system", "content": text}, texts(150))
    developer = st.builds(lambda text: {"role": "developer", "content": text}, texts(150))
    stray = st.builds(lambda text: {"role": "tool", "tool_call_id": "gone", "content": text}, texts())
    return st.one_of(
        st.builds(lambda row: [row], user_rows()),
        st.builds(lambda row: [row], user_rows()),
        st.builds(lambda row: [row], answer_rows()),
        st.builds(lambda row: [row], answer_rows()),
        rounds(),
        rounds(),
        rounds(),
        st.builds(lambda row: [row], st.one_of(system_row, developer, stray)),
    )


@st.composite
def any_rows(draw: st.DrawFn, *, least: int = 1, most: int = 14) -> list[Row]:
    """
    Return rows after the leading system rows, in any order at all, each an object of its own.
    """
    steps = draw(st.lists(turns(), min_size=least, max_size=most))
    return [dict(row) for step in steps for row in step] or [{"role": "user", "content": "hello"}]


@st.composite
def orderly_rows(draw: st.DrawFn, *, most: int = 8) -> list[Row]:
    """
    Return rows as a careful client sends them: an ask, tool rounds, an answer, and so on, ending anywhere.
    """
    rows: list[Row] = []
    for _ in range(draw(st.integers(1, most))):
        rows.append(draw(user_rows()))
        for step in draw(st.lists(rounds(whole=True), max_size=3)):
            rows += step
        if draw(st.integers(0, 4)) == 0:
            rows.append(draw(answer_rows()))
            rows += draw(rounds(whole=True))
        rows.append(draw(answer_rows()))
    return rows[: draw(st.integers(1, len(rows)))] if draw(st.booleans()) else rows[:-1]


def conversations() -> st.SearchStrategy[list[Row]]:
    """
    Return any conversation: orderly or not at all.
    """
    return st.one_of(orderly_rows(), any_rows())
