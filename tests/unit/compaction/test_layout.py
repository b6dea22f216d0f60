import json

from proxy.compaction.handover import END_MARKER, RESTATED_MARK, hand_over
from proxy.compaction.layout import Layout, edited, emit, layout_of, summary_text, with_edits
from proxy.compaction.repair import CONTINUE
from proxy.records.record import Edit, Record
from tests.support.conversations import assistant, call, image, result, system, user

SUMMARY = hand_over("## Goal\nFix it.", window=128_000)
MARK = {"type": "ephemeral"}


def folded(cut, **fields):
    """
    Return a layout that folds everything before *cut*.
    """
    return Layout(head_end=fields.pop("head_end", 0), cut=cut, summary=SUMMARY, **fields)


def test_kept_rows_are_the_clients_own_objects():
    """
    So that they are sent as the client's own bytes.
    """
    rows = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]
    sent = emit(folded(3), rows)

    assert sent[1] is rows[3]
    assert sent[2] is rows[4]


def test_the_summary_is_a_user_row_with_string_content_and_no_other_key():
    """
    An assistant-role summary was echoed by weak models; a marker key reached a strict gateway.
    """
    assert emit(folded(1), [user("a"), assistant("b")])[0] == {"role": "user", "content": SUMMARY}


def test_the_summary_goes_in_front_of_a_user_row_that_begins_the_tail():
    """
    Summary, end marker, then the user's own words: never two user rows.
    """
    rows = [user("a"), assistant("b"), {**user("c"), "name": "ann"}]

    assert emit(folded(2), rows) == [{"role": "user", "content": f"{SUMMARY}\n\nc", "name": "ann"}]


def test_the_parts_of_that_user_row_stay_untouched():
    """
    A summary merged into an unanswered image turn stacked up and spoiled the parts.
    """
    rows = [user("a"), assistant("b"), image()]
    content = emit(folded(2), rows)[0]["content"]

    assert content[0] == {"type": "text", "text": SUMMARY}
    assert content[1] is rows[2]["content"][0]
    assert content[2] is rows[2]["content"][1]


def test_the_end_marker_stands_before_the_users_words():
    """
    What comes after it is to be answered.
    """
    content = emit(folded(2), [user("a"), assistant("b"), user("c")])[0]["content"]

    assert content.rpartition(END_MARKER)[2].strip() == "c"


def test_a_restated_ask_follows_the_summary():
    """
    An agent whose only ask was folded fell silent.
    """
    rows = [user("fix the parser"), call("f"), result()]
    content = emit(folded(1, restated=0), rows)[0]["content"]

    assert RESTATED_MARK in content
    assert content.endswith("fix the parser")


def test_a_long_restated_ask_is_cut_inside():
    """
    It still has to fit.
    """
    rows = [user("A" * 900 + "B" * 900), call("f"), result()]
    text = summary_text(folded(1, restated=0, restated_head=100, restated_tail=50), rows)

    assert "1,650 characters left out" in text


def test_a_layout_without_a_summary_only_edits():
    """
    Pruning alone is a compaction of its own.
    """
    rows = [user("a"), call("f"), result("a", 900), assistant("b")]
    sent = emit(Layout(head_end=0, cut=0, summary=None, edits=(Edit(2, "stub"),)), rows)

    assert [row["role"] for row in sent] == ["user", "assistant", "tool", "assistant"]
    assert sent[2]["content"].startswith("[old result of f")


def test_the_head_stays_before_the_summary():
    """
    System rows, head, summary, tail.
    """
    rows = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]

    assert [row["content"] for row in emit(folded(3, head_end=2), rows)] == ["a", "b", SUMMARY, "d", "e"]


def test_a_user_row_behind_folded_text_and_kept_calls_is_kept_apart():
    """
    The client alternated; the summary in place of its answer would not.
    """
    rows = [user("a"), assistant("text"), call("f"), result(), user("b")]
    sent = emit(folded(2), rows)

    assert [row["role"] for row in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[3]["content"] == CONTINUE


def test_two_user_turns_of_the_client_itself_stay_as_they_are():
    """
    What the client did is not mended unless strict roles are asked for.
    """
    rows = [user("a"), call("f"), result(), user("b")]

    assert [row["role"] for row in emit(folded(1), rows)] == ["user", "assistant", "tool", "user"]


def test_later_rows_change_nothing_that_was_sent_before():
    """
    A row appended after system rows or tool rounds is no reason to merge into it.
    """
    rows = [user("a"), assistant("b"), system("note")]
    before = emit(folded(2), rows)
    after = emit(folded(2), [*rows, user("c"), assistant("d")])

    assert after[: len(before)] == before


def test_the_cache_mark_of_a_folded_row_moves_to_the_summary():
    """
    The newest of them; the summary is then written as a text part.
    """
    marked = {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}]}
    rows = [marked, assistant("b"), user("c"), assistant("d")]

    assert emit(folded(3), rows)[0]["content"] == [{"type": "text", "text": SUMMARY, "cache_control": MARK}]
    assert emit(folded(2), rows)[0]["content"][0]["cache_control"] == MARK
    assert emit(folded(2), rows)[0]["content"][1] == {"type": "text", "text": "c"}


def test_the_mark_of_a_row_itself_moves_too():
    """
    Some clients put it beside the content.
    """
    rows = [{**user("a"), "cache_control": MARK}, assistant("b")]

    assert emit(folded(1), rows)[0]["content"][0]["cache_control"] == MARK


def test_emission_changes_no_row_of_the_client():
    """
    Values in, values out.
    """
    rows = [user("a"), assistant("b"), image(), call("f", body="x" * 900), result("a", 900)]
    before = json.dumps(rows)
    emit(folded(2, edits=(Edit(2, "media"), Edit(3, "arguments", head=10), Edit(4, "stub"))), rows)

    assert json.dumps(rows) == before


def test_several_edits_of_one_row_all_apply():
    """
    Media out, then the text cut.
    """
    row = {"role": "user", "content": [{"type": "text", "text": "x" * 900}, *image()["content"]]}
    layout = Layout(head_end=0, cut=0, summary=None, edits=(Edit(0, "media"), Edit(0, "cut", 70, 30)))
    written = edited(layout, [row])[0]

    assert "left out" in written["content"][0]["text"]
    assert written["content"][2]["type"] == "text"


def test_a_layout_covers_its_cut_and_every_row_it_depends_on():
    """
    A request must share all of them for the layout to apply.
    """
    assert folded(3).covered == 3
    assert folded(3, edits=(Edit(7, "stub"),)).covered == 8
    assert folded(3, edits=(Edit(5, "duplicate", head=9),)).covered == 10
    assert folded(3, restated=4).covered == 5


def test_edits_are_added_in_order_and_once():
    """
    The first of a kind stands; of media ever less may be kept.
    """
    layout = folded(0, edits=(Edit(4, "stub"), Edit(6, "media", tail=3)))
    more = with_edits(layout, [Edit(4, "stub"), Edit(2, "stub"), Edit(6, "media", tail=1), Edit(6, "cut", 9, 9)])

    assert more.edits == (Edit(2, "stub"), Edit(4, "stub"), Edit(6, "media", tail=1), Edit(6, "cut", 9, 9))
    assert with_edits(more, [Edit(6, "media", tail=2)]) == more


def test_a_record_gives_its_layout_back():
    """
    What was frozen is what is emitted later.
    """
    record = Record(
        key="k",
        digest="d",
        scope="s",
        covered=4,
        head_end=1,
        cut=3,
        summary="t",
        restated=0,
        edits=(Edit(3, "stub"),),
        depth=2,
    )

    assert layout_of(record) == Layout(1, 3, "t", restated=0, edits=(Edit(3, "stub"),), depth=2)
