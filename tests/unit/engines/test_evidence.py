from proxy.chat.messages import text_of
from proxy.compaction.layout import Layout
from proxy.engines.evidence import evidence, tail_in_sight
from proxy.records.record import Edit
from tests.support.conversations import assistant, user
from tests.support.summaries import call, result

LONG = "port 4711 is taken\n" + "line of output\n" * 60
ROWS = [
    user("Find the port."),
    {**call("run", "a", command="ss"), "content": "I look."},
    result(LONG, "a"),
    assistant("Found."),
    user("And the other?"),
    call("run", "b", command="lsof"),
    result(LONG, "b"),
    assistant("Found too."),
    user("Thanks."),
]


def test_the_folded_rows_alone_where_nothing_is_stubbed():
    """
    What stays whole is in sight.
    """
    assert evidence(ROWS, Layout(head_end=3, cut=7, summary="")) == tuple(ROWS[3:7])


def test_stubbed_rounds_of_head_and_tail_are_evidence():
    """
    Their results stand nowhere else; the words beside a call do, and are left out.
    """
    layout = Layout(head_end=3, cut=5, summary="", edits=(Edit(2, "stub"), Edit(6, "stub")))
    found = evidence(ROWS, layout)

    assert [text_of(row) for row in found] == ["", LONG, "Found.", "And the other?", "", LONG]
    assert ROWS[1]["content"] == "I look."


def test_the_tail_is_shown_as_the_model_will_see_it():
    """
    A stub says less than the result did, so that the summary does not count it as said.
    """
    layout = Layout(head_end=0, cut=5, summary="", edits=(Edit(6, "stub"),))
    tail = tail_in_sight(ROWS, layout)

    assert (tail[0], tail[2:]) == (ROWS[5], tuple(ROWS[7:]))
    assert len(text_of(tail[1])) < 300
