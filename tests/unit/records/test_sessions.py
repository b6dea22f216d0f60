"""
What the records tell of a conversation's life.
"""

from proxy.records.sessions import lineage, numbered, sessions
from tests.support.stores import record

TTL = 1_000.0


def told(*records, now=100.0):
    return {session.id: session for session in sessions(records, now=now, ttl_seconds=TTL)}


CHAIN = (
    record("a", title="Fix the parser", created=1.0, model="m", before_tokens=900, after_tokens=300),
    record("b", parent="a", created=2.0, depth=1, before_tokens=800, after_tokens=200),
    record("c", parent="b", created=3.0, depth=2, title="Fix it all", before_tokens=700, after_tokens=100),
)


def test_each_compaction_begins_a_session_and_ends_the_last():
    """A long conversation is a chain of sessions."""
    found = told(*CHAIN)

    assert [(s.parent, s.ended, s.reason) for s in found.values()] == [
        ("b", None, None),
        ("a", 3.0, "compaction"),
        (None, 2.0, "compaction"),
    ]


def test_titles_are_numbered():
    """The second session of a conversation is its title with "(2)"."""
    found = told(*CHAIN)

    assert [found[key].title for key in "abc"] == ["Fix the parser", "Fix the parser (2)", "Fix it all (3)"]


def test_counts_add_up_along_the_chain():
    """What a conversation saved, not only its last compaction."""
    last = told(*CHAIN)["c"]

    assert (last.root, last.number, last.compactions, last.tokens_saved, last.depth) == ("a", 3, 3, 1_800, 2)


def test_an_edited_conversation_goes_on_as_a_sibling():
    """Two sessions continue one: the elder was left when the client edited an old row."""
    found = told(CHAIN[0], CHAIN[1], record("d", parent="a", created=9.0))

    assert (found["b"].ended, found["b"].reason) == (9.0, "edited")
    assert (found["d"].reason, found["d"].number, found["a"].ended) == (None, 2, 2.0)


def test_a_conversation_begun_anew_ends_the_old_one():
    """The same session hint without a common ancestor: the first rows were edited."""
    found = told(record("a", session="s", created=1.0), record("b", session="s", created=5.0))

    assert (found["a"].reason, found["a"].ended, found["b"].reason) == ("edited", 5.0, None)


def test_strangers_do_not_end_each_other():
    """Conversations without a hint and a common ancestor are separate."""
    found = told(record("a", created=1.0), record("b", created=5.0))

    assert {session.reason for session in found.values()} == {None}


def test_a_session_that_nobody_continues_expires():
    """After the time to live its record is gone too."""
    found = told(record("a", created=1.0), now=1.0 + TTL)

    assert (found["a"].ended, found["a"].reason) == (1.0 + TTL, "expired")


def test_pending_records_are_no_sessions_but_keep_the_chain():
    """A prepared record is used by the compaction that takes it up; the chain goes through it."""
    found = told(CHAIN[0], record("p", parent="a", created=2.0, pending=True), record("b", parent="p", created=3.0))

    assert found.keys() == {"a", "b"}
    assert (found["b"].parent, found["a"].ended) == ("a", 3.0)


def test_a_lost_ancestor_begins_the_chain_anew():
    """Expired records leave no hole in what is shown."""
    found = told(CHAIN[1], CHAIN[2])

    assert (found["b"].parent, found["b"].number, found["c"].root) == (None, 1, "b")


def test_a_circle_of_parents_ends():
    """Nonsense in a store does not hang the admin page."""
    assert len(told(record("a", parent="b"), record("b", parent="a"), record("c", parent="c"))) == 3


def test_newest_come_first():
    """The page shows what is going on now."""
    assert list(told(*CHAIN)) == ["c", "b", "a"]


def test_lineage_tells_a_conversation_from_its_beginning():
    """One session with all it continues."""
    all_sessions = sessions(CHAIN, now=9.0, ttl_seconds=TTL)

    assert [session.id for session in lineage(all_sessions, "c")] == ["a", "b", "c"]
    assert lineage(all_sessions, "nobody") == ()


def test_numbers_are_not_numbered_again():
    """A title that was taken over with its number gets the right one."""
    assert [numbered("T (2)", 3), numbered("T (2)", 1), numbered(" ", 2)] == ["T (3)", "T", "Untitled conversation (2)"]
