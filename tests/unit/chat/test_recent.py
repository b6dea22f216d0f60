"""
Turns that go on from one seen before.
"""

import json

import pytest

from proxy.chat.recent import Recent, continued
from proxy.chat.request import ChatRequest

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]


def body(rows, **fields) -> bytes:
    return json.dumps({"model": "m", "messages": rows, "tools": TOOLS, **fields}).encode()


def rows(count: int):
    return [
        {"role": "user" if each % 2 == 0 else "assistant", "content": f"{each} " + "x" * 2_000} for each in range(count)
    ]


def view(raw: bytes) -> ChatRequest:
    found = ChatRequest.parse(raw)
    assert found is not None
    return found


def test_only_what_is_new_is_read() -> None:
    """
    Rows that were there before are the very objects of the turn before, and so are fields that stayed.
    """
    before = view(body(rows(30)))
    after = continued(body(rows(32)), [before])

    assert after is not None
    assert after.new_bytes < 5_000 < len(before.body)
    assert all(new is old for new, old in zip(after.messages[:30], before.messages, strict=True))
    assert after.data["tools"] is before.data["tools"]
    assert after.data == json.loads(after.body)


def test_fields_that_changed_are_read_anew() -> None:
    """
    Behind the messages and before them.
    """
    before = view(body(rows(30)))
    after = continued(body(rows(31), temperature=0.5), [before])

    assert after is not None
    assert after.data == json.loads(after.body)
    assert continued(body(rows(31)).replace(b'"m"', b'"n"'), [before]) is None


@pytest.mark.parametrize("fields", [{}, {"temperature": 0.5}], ids=["same fields", "other fields"])
def test_new_rows_may_be_nested_no_deeper_than_in_a_body_parsed_whole(fields) -> None:
    """
    To the very level: the limit is what keeps work on a body bounded.
    """
    before = view(body(rows(30)))
    deep = [
        body([*rows(30), {"role": "user", "content": json.loads("[" * n + "]" * n)}], **fields) for n in range(1, 12)
    ]
    whole = [ChatRequest.parse(each, deepest=8) is not None for each in deep]

    assert [continued(each, [before], deepest=8) is not None for each in deep] == whole
    assert set(whole) == {True, False}


def test_an_edited_turn_shares_what_stands_before_it() -> None:
    """
    So does one that was cut short, and a fork is made from the turn that it shares most with.
    """
    short, long = view(body(rows(10))), view(body(rows(30)))
    edited = rows(30)
    edited[20] = {"role": "user", "content": "otherwise"}
    found = continued(body(edited), [short, long])
    cut = continued(body(rows(12)), [short, long])

    assert found is not None
    assert cut is not None
    assert [new is old for new, old in zip(found.messages, long.messages, strict=True)] == [True] * 20 + [False] * 10
    assert found.data == json.loads(found.body)
    assert (cut.data, cut.messages[9] is short.messages[9]) == (json.loads(cut.body), False)


def test_notes_on_shared_rows_are_handed_on() -> None:
    """
    What is found out about a row is found out once.
    """
    asked = []

    def note(_known, new):
        asked.extend(new)
        return [len(row["content"]) for row in new]

    before = view(body(rows(30)))
    before.notes.on("length", note)
    after = continued(body(rows(32)), [before])
    assert after is not None

    assert after.notes.missing("length") == 2
    assert after.notes.on("length", note) == [len(row["content"]) for row in after.messages]
    assert asked == after.messages


def test_a_turn_takes_the_place_of_the_one_before() -> None:
    """
    A growing conversation is held once; a fork beside it is held, too.
    """
    recent = Recent(1 << 20)
    view_of_turn = None
    for turn in (20, 22, 24):
        raw = body(rows(turn))
        view_of_turn = continued(raw, recent.alike(raw, "me")) or view(raw)
        recent.keep(view_of_turn, "me")
    assert len(recent) == 1
    fork = body([*rows(10), {"role": "user", "content": "other"}])
    forked = continued(fork, recent.alike(fork, "me"))
    assert forked is not None
    recent.keep(forked, "me")

    assert len(recent) == 2
    assert recent.alike(fork, "you") == []


def test_odd_json_is_read_as_a_whole() -> None:
    """
    Two parsers may not agree in every value of it.
    """
    odd = body(rows(20)).replace(b'"0 xx', b'"\\ud83d xx')
    recent = Recent(1 << 20)
    recent.keep(view(odd), "me")
    plain = view(body(rows(20)))

    assert len(recent) == 0
    assert continued(body([*rows(20), {"role": "user", "content": "\ud83d"}]), [plain]) is None


def test_what_is_too_large_or_too_small_is_not_kept() -> None:
    """
    One body never drives out all others, and short ones are parsed faster than they are found.
    """
    recent = Recent(100_000)
    recent.keep(view(body(rows(60))), "me")
    recent.keep(view(body(rows(2))), "me")

    assert (len(recent), recent.bytes) == (0, 0)
