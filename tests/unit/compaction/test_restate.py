from proxy.compaction.handover import wrap
from proxy.compaction.layout import Layout
from proxy.compaction.restate import SMALLEST_ASK, restating
from tests.support.conversations import assistant, call, result, user

LOOP = [user("old ask"), assistant("done"), user("the live ask"), call("f"), result(), call("f"), result()]


def restated(rows, cut, *, costs=None, room=1_000):
    """
    Return the layout of a fold up to *cut*.
    """
    return restating(Layout(0, cut, "s"), rows, costs or [10] * len(rows), room=room)


def test_the_latest_ask_is_restated_where_none_follows_the_cut():
    """
    A cron agent whose only ask was folded fell silent.
    """
    assert restated(LOOP, 5).restated == 2


def test_nothing_is_restated_where_an_ask_follows():
    """
    The newest wins.
    """
    assert restated([*LOOP, user("next")], 5).restated is None


def test_a_tail_of_summaries_and_images_asks_nothing():
    """
    Only a user's own text is an ask.
    """
    rows = [*LOOP, user(wrap("## Goal\nx")), {"role": "user", "content": [{"type": "image_url", "image_url": "u"}]}]

    assert restated(rows, 7).restated == 2


def test_a_conversation_without_any_ask_has_none_restated():
    """
    Nothing is invented.
    """
    assert restated([call("f"), result(), call("f"), result()], 2).restated is None


def test_an_ask_above_its_room_is_cut_inside():
    """
    Both ends stay.
    """
    rows = [user("x" * 10_000), call("f"), result()]
    layout = restated(rows, 1, costs=[2_500, 10, 10], room=250)

    assert layout.restated_head + layout.restated_tail == 1_000
    assert layout.restated_tail == 300


def test_an_ask_is_never_cut_to_nothing():
    """
    200 characters at least.
    """
    layout = restated([user("x" * 10_000), call("f"), result()], 1, costs=[2_500, 10, 10], room=1)

    assert layout.restated_head + layout.restated_tail == SMALLEST_ASK
