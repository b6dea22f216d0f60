import json

import pytest

from proxy.compaction.edits import NO_THINKING, apply_edit, cut_lengths, cut_text, has_thinking
from proxy.records.record import Edit
from tests.support.conversations import call, calls, image, result

MARK = {"type": "ephemeral"}


def edit(row, kind, **fields):
    """
    Return the row with one edit.
    """
    return apply_edit([row], row, Edit(0, kind, **fields))


def test_a_cut_keeps_both_ends_and_tells_what_went():
    """
    Errors stand at the end as often as at the front.
    """
    text = cut_text("A" * 500 + "B" * 500, head=100, tail=50)

    assert text.startswith("A" * 100 + "\n")
    assert text.endswith("\n" + "B" * 50)
    assert "850 characters left out" in text


def test_a_cut_that_would_not_shorten_leaves_the_text_alone():
    """
    The notice itself takes room.
    """
    assert cut_text("x" * 120, head=60, tail=40) == "x" * 120
    assert cut_text("short", head=60, tail=40) == "short"


def test_a_cut_may_keep_no_end_at_all():
    """
    ``text[-0:]`` would be the whole text.
    """
    assert cut_text("x" * 900, head=10, tail=0).endswith("left out …]\n")


def test_a_cut_between_surrogates_is_still_valid_text():
    """
    Half a pair cannot be encoded.
    """
    cut_text("\ud83d" * 900, head=10, tail=10).encode()


def test_a_cap_is_split_into_front_and_back():
    """
    70 to 30.
    """
    assert cut_lengths(1_000) == (700, 300)


def test_cutting_reaches_every_text_of_a_row():
    """
    Content, parts, and the reasoning beside them.
    """
    long = "y" * 2_000
    row = {
        "role": "assistant",
        "content": [{"type": "text", "text": long}],
        "reasoning_content": long,
        "reasoning": long,
    }
    cut = edit(row, "cut", head=70, tail=30)

    assert len(json.dumps(cut)) < 800
    assert row["reasoning"] == long


def test_cutting_leaves_images_and_signed_thinking_alone():
    """
    A trimmed signed block is refused with 400; an image cannot be cut.
    """
    thinking = {"type": "thinking", "thinking": "t" * 3_000, "signature": "s"}
    row = {
        "role": "assistant",
        "content": [thinking, {"type": "text", "text": "x" * 3_000}, *image(size=9_000)["content"]],
    }
    cut = edit(row, "cut", head=70, tail=30)

    assert cut["content"][0] is thinking
    assert cut["content"][3] == row["content"][3]
    assert len(cut["content"][1]["text"]) < 200


def test_cutting_content_of_unknown_shape_shows_how_it_began():
    """
    A huge dict can only become text.
    """
    row = {"role": "tool", "tool_call_id": "a", "content": {"rows": ["alpha"] * 900}}
    cut = edit(row, "cut", head=70, tail=30)["content"]

    assert cut[0]["type"] == "text"
    assert cut[0]["text"].startswith('{"rows":["alpha"')
    assert edit({**row, "content": {"a": 1}}, "cut", head=70, tail=30)["content"] == [{"a": 1}]


def test_cutting_a_number_changes_nothing():
    """
    There is nothing to cut in it.
    """
    row = {"role": "tool", "tool_call_id": "a", "content": 7}

    assert edit(row, "cut", head=1, tail=1) == row


def test_a_stub_keeps_every_other_field():
    """
    The id pairs it with its call.
    """
    rows = [call("read_file", path="a"), {**result("a", 900), "name": "read_file"}]
    stubbed = apply_edit(rows, rows[1], Edit(1, "stub"))

    assert stubbed.keys() == rows[1].keys()
    assert stubbed["tool_call_id"] == "a"
    assert len(stubbed["content"]) <= 200


def test_a_stub_keeps_the_cache_mark_of_its_parts():
    """
    The client counts on the breakpoint.
    """
    part = {"type": "text", "text": "x" * 900, "cache_control": MARK}
    rows = [call("read_file"), {"role": "tool", "tool_call_id": "a", "content": [part]}]

    assert apply_edit(rows, rows[1], Edit(1, "stub"))["content"][0]["cache_control"] == MARK


def test_a_duplicate_is_stubbed_with_its_own_words():
    """
    It is not lost, it stands again later.
    """
    rows = [call("read_file"), result("a", 900)]

    assert "the same result comes later" in apply_edit(rows, rows[1], Edit(1, "duplicate", head=9))["content"]


def test_long_arguments_become_valid_json_and_short_ones_stay():
    """
    Cut arguments were refused for ever after: some servers answer 500 to what is no JSON.
    """
    row = calls(("write", "a", {"text": "x" * 5_000}), ("ls", "b", {"p": "."}))
    small = edit(row, "arguments", head=200)

    first = json.loads(small["tool_calls"][0]["function"]["arguments"])
    assert "characters of arguments" in first["left_out"]
    assert first["begins_with"].startswith('{"text":"xxx')
    assert small["tool_calls"][1] == row["tool_calls"][1]
    assert [made["id"] for made in small["tool_calls"]] == ["a", "b"]


def test_thinking_goes_as_a_whole():
    """
    Signed reasoning is byte-exact or not there.
    """
    row = {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "said"}],
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}],
        "thinking_blocks": [{"thinking": "t"}],
    }

    assert has_thinking(row)
    assert edit(row, "thinking") == {"role": "assistant", "content": [{"type": "text", "text": "said"}]}


def test_a_turn_of_thinking_alone_is_never_left_empty():
    """
    Servers refuse empty turns; a call row needs no content.
    """
    thought = [{"type": "thinking", "thinking": "t", "signature": "s"}]

    assert edit({"role": "assistant", "content": thought}, "thinking")["content"] == NO_THINKING
    assert edit({**call("f"), "content": thought}, "thinking")["content"] is None
    assert edit({"role": "assistant", "content": "said", "thinking_blocks": [1]}, "thinking")["content"] == "said"


@pytest.mark.parametrize("kind", ["stub", "duplicate", "cut", "media", "arguments", "thinking"])
@pytest.mark.parametrize("content", [None, 7, True, {}, {"a": 1}, [], [None, 3, {"type": {}}], "text"])
def test_no_edit_raises_on_odd_content(kind, content):
    """
    ``list + str`` and ``dict.encode`` took whole sessions down.
    """
    for role in ("user", "assistant", "tool"):
        edit(
            {"role": role, "content": content, "tool_calls": [None, {"id": 1}], "function_call": {}},
            kind,
            head=9,
            tail=9,
        )
