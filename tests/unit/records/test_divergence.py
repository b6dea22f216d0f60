"""
Where a history first differs from an earlier one of the same client.
"""

from proxy.records.divergence import CHAINS, LONGEST_TAIL, MOST_CLIENTS, Divergences
from proxy.records.identity import prefix_digests
from tests.support.conversations import assistant, user


def digests(*texts: str) -> tuple[str, ...]:
    """
    Return the digests of a conversation of these rows.
    """
    return prefix_digests([user(text) if n % 2 == 0 else assistant(text) for n, text in enumerate(texts)], seed=b"s")


def rows(*histories: str) -> list[int | None]:
    """
    Return the row told of each history, a letter a row.
    """
    watch = Divergences()
    return [watch.row("client", digests(*history)) for history in histories]


def test_a_conversation_that_grows_never_differs() -> None:
    """
    Also where it is sent twice, or cut short.
    """
    assert rows("ab", "abcd", "abcd", "abcdef", "abc") == [None] * 5


def test_an_edit_is_told_by_its_row() -> None:
    """
    The first row that is another.
    """
    assert rows("abcd", "abXdef") == [None, 2]


def test_a_client_that_rewrites_old_turns_is_told_each_turn() -> None:
    """
    The row is much the same each time, which shows what to canonicalize.
    """
    assert rows("a1cd", "a2cdef", "a3cdefgh") == [None, 1, 1]


def test_forks_are_remembered_beside_each_other() -> None:
    """
    Only their first turns differ from what was known.
    """
    assert rows("abcd", "abXY", "abcdef", "abXYZ", "abcdefg") == [None, 2, None, None, None]


def test_another_conversation_shares_no_row() -> None:
    """
    Nothing can be told but that.
    """
    assert rows("abcd", "xyz") == [None, 0]


def changing(*histories: str) -> int:
    """
    Return how many rows are expected to change after these histories, a letter a row.
    """
    watch = Divergences()
    for history in histories:
        watch.row("client", digests(*history))
    return watch.changing("client")


def test_an_end_that_is_another_each_turn_is_a_habit_from_the_second_time_on() -> None:
    """
    Two rows at the end, which a later turn does not have: seen twice they are expected again.
    """
    turns = ("abcdFu", "abcdefGv", "abcdefghHw")

    assert [changing(*turns[:count]) for count in (0, 1, 2, 3)] == [0, 0, 0, 2]


def test_the_same_turn_sent_again_is_no_turn() -> None:
    """
    Nor is one cut short: neither tells anything of the end.
    """
    assert changing("abcdFu", "abcdefGv", "abcdefGv", "abcdefghHw", "abcdefghHw", "abcd") == 2


def test_the_longest_end_of_the_last_turns_counts() -> None:
    """
    A reminder that comes now and then.
    """
    assert changing("abcdFu", "abcdefGv", "abcdefghHrw", "abcdefghijIx") == 3


def test_one_edit_is_no_habit_and_appending_ends_one() -> None:
    """
    What somebody does by hand, and a client that changes its ways.
    """
    assert changing("abcdef", "abcdXY", "abcdXYgh", "abcdXYghij") == 0
    assert changing("abcdFu", "abcdefGv", "abcdefghHw", "abcdefghHwi", "abcdefghHwij", "abcdefghHwijk") == 0


def test_large_edits_and_forks_are_no_ends() -> None:
    """
    Too many rows, or more than stay the same: sessions that share their first rows.
    """
    long, end = "abcdefghijklmnopq", "QRSTUVWXYZ"[: LONGEST_TAIL + 1]

    assert changing(*(long + end[number:] + end[:number] for number in range(4))) == 0
    assert changing("abXYZ", "abUVW", "abRST") == 0


def test_a_fork_of_a_habitual_conversation_has_its_habit() -> None:
    """
    The branch is the same client's; an unrelated conversation begins without.
    """
    turns = ("abcdFu", "abcdefGv", "abcdefghHw")

    assert changing(*turns, "abcdefghXY") == 2
    assert changing(*turns, "zyxw") == 0


def test_conversations_of_one_client_in_turns_keep_their_habits() -> None:
    """
    The older ends of one do not push the others out.
    """
    turns = ("abcdFu", "abcdefGv", "abcdefghHw", "abcdefghijIx")
    sessions = [[str(number) + turn for turn in turns] for number in range(CHAINS - 2)]

    assert changing(*(history for together in zip(*sessions, strict=True) for history in together)) == 2


def test_what_others_have_seen_counts_until_turns_of_its_own_speak_against_it() -> None:
    """
    A process that meets a conversation in the middle, or after its end has changed once.
    """
    watch = Divergences()
    watch.row("client", digests(*"abcdFu"), told=2)
    assert watch.changing("client") == 2
    for length in range(7, 11):
        watch.row("client", digests(*"abcdFuvwxy"[:length]))
    assert watch.changing("client") == 0

    watch = Divergences()
    watch.row("client", digests(*"abcdFu"))
    watch.row("client", digests(*"abcdefGv"), told=3)
    assert watch.changing("client") == 3


def test_an_end_that_changed_once_may_be_a_habit_or_an_edit() -> None:
    """
    Then it is worth to ask others.
    """
    watch, turns = Divergences(), ("abcdFu", "abcdefGv", "abcdefghHw")
    told = []
    for turn in turns:
        watch.row("client", digests(*turn))
        told.append(watch.wavers("client"))

    assert told == [False, True, False]
    assert not watch.wavers("nobody")


def test_clients_are_kept_apart_and_bounded() -> None:
    """
    Whatever their number, and whatever they hold at a time.
    """
    watch = Divergences()
    for number in range(MOST_CLIENTS + 5):
        assert watch.row(str(number), digests("a", "b")) is None
    for number in range(CHAINS + 5):
        watch.row("one", digests(str(number)))

    assert len(watch._chains) == MOST_CLIENTS
    assert len(watch._chains["one"]) == CHAINS
