import json

import pytest

from proxy.chat.messages import text_of
from proxy.compaction.budget import Budget
from proxy.compaction.handover import END_MARKER, hand_over
from proxy.compaction.layout import Layout
from proxy.engines.base import Posture
from proxy.engines.bench import Bench
from proxy.engines.fitting import cut_to_fit
from proxy.engines.sizer import Sizer
from tests.support.conversations import assistant, call, calls, image, result, user
from tests.support.folding import COUNTER, sent, task

WHOLE = Layout(head_end=0, cut=0, summary=None)


def bench(rows, usable, **fields):
    """
    Return a bench for rows that may have *usable* tokens.
    """
    room = Budget(window=usable, usable=usable, threshold=usable, fixed=0)
    job = task(rows, usable, budget=room, **{"posture": Posture.HARD_FIT, **fields})
    return Bench(job, Sizer(rows, COUNTER, fixed=0), list(rows))


def fitted(rows, usable, *, layout=WHOLE, **fields):
    """
    Return the rows as they are sent once cut.
    """
    place = bench(rows, usable, **fields)
    cut = cut_to_fit(place, layout)
    assert place.fits(cut, usable)
    return sent(cut, rows)


def test_what_fits_is_left_alone():
    """
    Nothing is cut for nothing.
    """
    rows = [user("a"), assistant("b"), user("c")]

    assert fitted(rows, 500) == rows


def test_images_stay_while_bodies_of_a_readable_length_leave_room():
    """
    Text gives way first, up to a point.
    """
    rows = [user("x y " * 20_000), assistant("ok"), image("what is this?")]
    written = fitted(rows, 8_000, posture=Posture.SQUEEZE)

    assert written[2]["content"][1]["type"] == "image_url"


def test_images_go_before_bodies_become_unreadable():
    """
    120 characters of the ask and an image is worse than the ask.
    """
    rows = [
        user("x y " * 2_000),
        assistant("ok"),
        {"role": "user", "content": [{"type": "text", "text": "z w " * 450}, *[image()["content"][1]] * 8]},
    ]
    written = fitted(rows, 4_000, posture=Posture.SQUEEZE)

    assert written[2]["content"][0]["text"] == "z w " * 450
    assert written[2]["content"][1]["type"] == "text"


def test_where_bytes_are_short_media_go_before_any_text():
    """
    A screenshot weighs as much as a book.
    """
    rows = [
        user("words " * 500),
        assistant("ok"),
        image("first", size=30_000),
        assistant("ok"),
        image("now", size=30_000),
    ]
    written = fitted(rows, 100_000, byte_limit=40_000)

    assert written[0] is rows[0]
    assert written[2]["content"][1]["type"] == "text"
    assert written[4] is rows[4]


def test_a_summary_shrinks_where_nothing_else_can():
    """
    The same cut as before, in a window a tenth as large.
    """
    text = hand_over("## Goal\nfix it\n" + "- one more fact\n" * 3_000, window=128_000)
    rows = [user("old"), assistant("old"), user("the ask")]
    written = fitted(rows, 1_000, layout=Layout(0, 2, text, depth=1))

    assert "## Goal\nfix it" in text_of(written[0])
    assert text_of(written[0]).endswith("the ask")


def test_a_summary_can_shrink_to_its_frame():
    """
    Prefix and end marker stay: what follows is to be answered.
    """
    text = hand_over("## Goal\n" + "- one more fact\n" * 3_000, window=128_000)
    rows = [user("old"), assistant("old"), user("the ask")]
    written = fitted(rows, 110, layout=Layout(0, 2, text, depth=1))

    assert END_MARKER in text_of(written[0])
    assert "fact" not in text_of(written[0])


def test_many_calls_show_less_of_their_arguments():
    """
    A small note times a hundred is large again.
    """
    rows = [
        user("go"),
        calls(*[("f", f"c{n}", {"p": "x y " * 300}) for n in range(60)]),
        *[result(f"c{n}") for n in range(60)],
    ]
    written = fitted(rows, 5_000)

    for one in written[1]["tool_calls"]:
        assert len(json.loads(one["function"]["arguments"])["begins_with"]) == 50


@pytest.mark.parametrize("posture", [Posture.SQUEEZE, Posture.HARD_FIT])
def test_the_smallest_layout_comes_back_where_none_fits(posture):
    """
    The caller says that it cannot be cured; nothing loops.
    """
    rows = [call("f", id=f"c{n}") for n in range(50)]
    place = bench(rows, 10, posture=posture)

    assert not place.fits(cut_to_fit(place, WHOLE), 10)
