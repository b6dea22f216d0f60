"""
The view of a turn that goes on from one seen before, for any two bodies that clients may send after each other.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from proxy.chat.recent import SMALLEST, Recent, closest, continued, weight
from proxy.chat.request import ChatRequest
from proxy.records.identity import prefix_digests

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300)
DEEPEST = 12
TEXTS = st.text(max_size=8) | st.sampled_from(
    [
        '"',
        "\\",
        "]",
        '"}],"messages":[{}',
        '],"model":"x"',
        "],",
        "messages",
        "é",
        "\U0001f600",
        "压缩",
        "\ud83d",
        "a" * 40,
    ]
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, width=32) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.sampled_from(["messages", "role"]), inner, max_size=3)
    ),
    max_leaves=6,
)
IMAGES = st.builds(
    lambda data: {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}},
    st.text("Ab+/", max_size=9),
)
ROWS = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={"content": TEXTS | st.lists(IMAGES | VALUES, max_size=3), "messages": VALUES, "tool_calls": VALUES},
)
HISTORIES = st.lists(ROWS, min_size=1, max_size=5)
FIELDS = st.dictionaries(st.sampled_from(["model", "tools", "stream", "messages ", "x"]) | TEXTS, VALUES, max_size=3)
STYLES = st.sampled_from(
    [
        {"separators": (",", ":"), "ensure_ascii": False},
        {"separators": (",", ":")},
        {},
        {"indent": 1, "ensure_ascii": False},
    ]
)


def written(before: dict[str, Any], rows: list[Any], after: dict[str, Any], style: dict[str, Any]) -> bytes:
    """
    Write a body; a key in both *before* and *after* occurs twice in it, and so may ``messages``.
    """
    parts = [*before.items(), ("messages", rows), *after.items()]
    text = ", ".join(json.dumps(key) + " :" + json.dumps(value, **style) for key, value in parts)
    return ("{" + text + " }").encode("utf-8", "surrogatepass")


@st.composite
def pairs(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """
    Draw a body, and what its client may send next.
    """
    before, rows, after, style = draw(FIELDS), draw(HISTORIES), draw(FIELDS), draw(STYLES)
    kept = draw(st.integers(0, len(rows)))
    later = draw(
        st.sampled_from(
            [
                rows,
                rows + draw(HISTORIES),
                rows[:kept],
                rows[:kept] + draw(HISTORIES),
                rows[:kept] + draw(st.lists(VALUES, max_size=2)),
                draw(st.permutations(rows)),
                [*rows[:kept], {**rows[-1], "content": draw(VALUES)}, *rows[kept:]],
            ]
        )
    )
    changed = draw(st.sampled_from([after, after, after, draw(FIELDS), {**after, "messages": draw(VALUES)}]))
    first = written(before, rows, after, style)
    second = written(before, later, changed, draw(st.sampled_from([style, style, style, draw(STYLES)])))
    return first, draw(st.sampled_from([second, second, second, second[: draw(st.integers(0, len(second)))]]))


def facts(request: ChatRequest | None) -> Any:
    """
    Return all that anybody can see of a view.
    """
    if request is None:
        return None
    try:
        spans: Any = (dict(request.spans.values), request.spans.rows)
    except ValueError:
        spans = "cannot be spliced"
    return repr((request.body, sorted(request.data.items(), key=lambda item: item[0]), spans))


def digests(rows: list[Any]) -> list[str]:
    """
    Return what a conversation is recognised by.
    """
    return list(prefix_digests(rows, seed=b"seed"))


@calm
@given(pairs())
@example((b'{"messages":[{"a":1}]}', b'{"messages":[{"a":1},{"b":2}],"messages":[{"c":3}]}'))
@example((b'{"messages":[{"a":1}],"x":"]"}', b'{"messages":[{"a":1}],"x":"},{],"x":"]"}'))
@example((b'{"messages":[{"a":1}],"x":5}', b'{"messages":[{"a":1}],"x":[{"y":1}],"x":5}'))
@example((b'{"x":1,"messages":[{"a":1}]}', b'{"x":1,"messages":[{"a":1}],"x":2}'))
@example((b'{"messages":[{"a":1}],"mess\\u0061ges":[]}', b'{"messages":[{"a":1}],"mess\\u0061ges":[]}'))
@example((b'{"messages":[{"a":18446744073709551616}]}', b'{"messages":[{"a":18446744073709551616},{"b":"\\ud83d"}]}'))
@example((b'{"messages":[{"a":1}]}', b'{"messages":[{"a":1}' + b',{"b":' * 9 + b"[[[[1]]]]" + b"}" * 9 + b"]}"))
@example((b'{"messages":[{"a":1}]}', b'{"messages":[{"a":1},5]}'))
@example((b'{"messages":[{"a":1}]}', b'{"messages":[{"a":1}{"b":2}]}'))
@example((b'{"messages":[{"a":1}]}', b'{"messages":[{"a":1},]}'))
def test_a_continued_view_is_the_view_of_the_whole_body(pair: tuple[bytes, bytes]) -> None:
    """
    Rows, fields and places, what cannot be understood and what cannot be spliced: all as if the body were the first.
    """
    first, second = pair
    known = ChatRequest.parse(first, deepest=DEEPEST)
    whole = ChatRequest.parse(second, deepest=DEEPEST)
    found = continued(second, [known] if known is not None and known.plain else [], deepest=DEEPEST)

    if found is not None:
        assert facts(found) == facts(whole)
        assert whole is not None
        assert whole.plain
        assert digests(found.messages) == digests(whole.messages)
        assert found.splice(found.messages[1:]) == whole.splice(whole.messages[1:])


@calm
@given(st.lists(HISTORIES, min_size=2, max_size=5), FIELDS, FIELDS, STYLES)
def test_turn_after_turn_stays_the_view_of_the_whole(
    turns: list[list[Any]], before: dict[str, Any], after: dict[str, Any], style: dict[str, Any]
) -> None:
    """
    Each view is made from the one before, which was made so itself; notes on rows are those of the rows.
    """
    rows: list[Any] = []
    view: ChatRequest | None = None
    for turn in turns:
        rows = [*rows, *turn]
        body = written(before, rows, after, style)
        whole = ChatRequest.parse(body)
        found = continued(body, [view]) if view is not None else None
        view = found or (whole if whole is not None and whole.plain else None)
        assert found is None or facts(found) == facts(whole)
        if view is not None:
            noted = view.notes.on("row", lambda _, new: map(json.dumps, new))
            assert noted == [json.dumps(row) for row in view.messages]


@calm
@given(st.lists(HISTORIES, min_size=1, max_size=6), HISTORIES, st.integers(0, 6), FIELDS, STYLES)
def test_of_several_the_one_that_shares_most_rows_is_gone_on_from(
    histories: list[list[Any]], more: list[Any], chosen: int, fields: dict[str, Any], style: dict[str, Any]
) -> None:
    """
    Whatever the others are; those that clearly share fewer rows are told by the end of one of theirs.
    """
    parsed = [ChatRequest.parse(written(fields, histories[0] + rows, {}, style)) for rows in histories]
    views = [view for view in parsed if view is not None and view.plain]
    body = written(fields, histories[0] + histories[chosen % len(histories)] + more, {}, style)

    alone = [common.rows for view in views if (common := closest(body, [view])) is not None]
    best = closest(body, views)

    assert (best.rows if best is not None else 0) == max(alone, default=0)


@calm
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(1, 4)), max_size=12))
def test_what_is_kept_is_bounded_and_never_serves_another_sender(calls: list[tuple[str, int, int]]) -> None:
    """
    The bytes told are those of the views held, and every view found is the sender's own.
    """
    recent = Recent(200_000)
    seen: dict[str, list[bytes]] = {"a": [], "b": []}
    for sender, number, turns in calls:
        rows = [{"role": "system", "content": "One prompt for all. " * 20}]
        rows += [{"role": "user", "content": f"{number}:{turn} " + "x" * SMALLEST} for turn in range(turns)]
        body = written({"model": "m"}, rows, {"user": "ü"}, {})
        alike = recent.alike(body, sender)
        assert all(view.body in seen[sender] for view in alike)
        view = continued(body, alike) or ChatRequest.parse(body)
        assert view is not None
        recent.keep(view, sender)
        seen[sender].append(body)
        held = [each for whose in "ab" for each in recent.alike(body, whose)]
        assert recent.bytes == sum(weight(each) for each in held) <= 200_000
        assert len(held) == len(recent)
