import json

from proxy.compaction.fit import (
    SMALLEST_CAP,
    argument_edits,
    capped,
    cut_bodies,
    fewer_media,
    kept_rows,
    thinking_edits,
)
from proxy.compaction.layout import Layout, emit
from proxy.records.record import Edit
from tests.support.conversations import assistant, call, image, result, user

WHOLE = Layout(head_end=0, cut=0, summary=None)


def within(rows, limit):
    """
    Return a judge of layouts by characters.
    """
    return lambda layout: len(json.dumps(emit(layout, rows))) <= limit


def test_what_fits_is_not_cut():
    """
    The layout itself comes back.
    """
    rows = [user("x" * 5_000)]

    assert cut_bodies(WHOLE, rows, fits=lambda _: True) is WHOLE


def test_bodies_are_cut_to_about_the_largest_cap_that_fits():
    """
    As much as possible stays.
    """
    rows = [user("x" * 50_000), call("f"), result("a", 50_000)]
    fits = within(rows, 20_000)
    layout = cut_bodies(WHOLE, rows, fits=fits)

    assert fits(layout)
    assert len(json.dumps(emit(layout, rows))) > 18_000


def test_where_even_the_smallest_cap_is_too_large_it_is_returned():
    """
    The caller decides what then.
    """
    rows = [user("x" * 50_000)]
    layout = cut_bodies(WHOLE, rows, fits=lambda _: False)

    assert layout.edits[0].head + layout.edits[0].tail == SMALLEST_CAP


def test_stubs_and_short_rows_are_not_cut():
    """
    They are short already.
    """
    rows = [user("short"), call("f"), result("a", 5_000), call("g"), result("a", 5_000)]
    layout = capped(Layout(0, 0, None, edits=(Edit(2, "stub"),)), rows, 500)

    assert [edit.row for edit in layout.edits if edit.kind == "cut"] == [4]


def test_a_new_cap_takes_the_place_of_the_old_one():
    """
    A row is cut once.
    """
    rows = [user("x" * 5_000)]

    assert len(capped(capped(WHOLE, rows, 900), rows, 300).edits) == 1


def test_folded_rows_are_left_alone_and_head_rows_are_not():
    """
    Only what is sent counts.
    """
    rows = [user("x" * 900), assistant("y" * 900), user("z" * 900), assistant("w" * 900)]

    assert list(kept_rows(Layout(1, 3, "s"), [*rows, user("v")])) == [0, 3, 4]


def test_a_prefill_is_never_shortened():
    """
    Last and byte for byte.
    """
    rows = [user("x" * 900), assistant("y" * 9_000)]

    assert list(kept_rows(WHOLE, rows)) == [0]
    assert capped(WHOLE, rows, 200).edits == (Edit(0, "cut", 140, 60),)


def test_a_long_restated_ask_is_capped_with_the_bodies():
    """
    It is sent like any other text.
    """
    rows = [user("x" * 9_000), call("f"), result()]
    layout = capped(Layout(0, 1, "s", restated=0), rows, 300)

    assert (layout.restated_head, layout.restated_tail) == (210, 90)


def test_every_kind_of_long_text_is_found():
    """
    Reasoning of a huge size, parts, unknown dicts.
    """
    rows = [
        {"role": "assistant", "content": "s", "reasoning_content": "r" * 900},
        {"role": "user", "content": [{"type": "text", "text": "p" * 900}]},
        {"role": "tool", "tool_call_id": "a", "content": {"k": "d" * 900}},
        {"role": "tool", "tool_call_id": "a", "content": 7},
        user("u"),
    ]

    assert [edit.row for edit in capped(WHOLE, rows, 300).edits] == [0, 1, 2]


def test_as_many_of_the_newest_media_stay_as_fit():
    """
    Three hundred images in the newest row: the newest K, not none.
    """
    many = {"role": "user", "content": [{"type": "text", "text": "look"}, *[image(size=1_000)["content"][1]] * 300]}
    rows = [image(size=1_000), assistant(), many]
    fits = within(rows, 60_000)
    layout = fewer_media(WHOLE, rows, fits=fits)
    images = sum(part["type"] == "image_url" for part in emit(layout, rows)[2]["content"])

    assert fits(layout)
    assert images > 30
    assert emit(layout, rows)[0]["content"][1]["type"] == "text"


def test_media_all_go_where_nothing_helps_and_all_stay_where_they_fit():
    """
    Both ends of the search.
    """
    rows = [image(), assistant(), image()]

    assert len(fewer_media(WHOLE, rows, fits=lambda _: False).edits) == 2
    assert fewer_media(WHOLE, rows, fits=lambda _: True).edits == ()


def test_long_arguments_and_signed_reasoning_of_kept_rows_are_found():
    """
    Not those of folded rows.
    """
    thinking = {"role": "assistant", "content": "s", "thinking_blocks": [{"thinking": "t"}]}
    rows = [call("f", body="x" * 900), result(), thinking, call("f", body="x" * 900), result(), user("a")]
    layout = Layout(0, 2, "s")

    assert argument_edits(layout, rows, shown=200) == (Edit(3, "arguments", head=200),)
    assert thinking_edits(layout, rows) == (Edit(2, "thinking"),)
