"""
Where a history first differs from an earlier one of the same client.
"""

from proxy.records.divergence import CHAINS, MOST_CLIENTS, Divergences
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
