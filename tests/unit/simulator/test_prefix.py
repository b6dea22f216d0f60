from proxy.simulator.prefix import PrefixCache, digests, prefix_breaks
from tests.support.conversations import agent_session, as_requests

GROWING = list(as_requests(agent_session(4, bytes_per_round=50)))


def test_finds_the_longest_prefix_seen():
    """
    A forked conversation shares what it shares.
    """
    cache = PrefixCache()
    cache.remember(digests("seed", ["a", "b", "c"]))

    assert cache.match(digests("seed", ["a", "b", "x"])) == 2


def test_another_seed_shares_nothing():
    """
    Other tools make another prompt.
    """
    cache = PrefixCache()
    cache.remember(digests("seed", ["a", "b"]))

    assert cache.match(digests("other", ["a", "b"])) == 0


def test_rows_are_kept_apart():
    """
    The same bytes cut elsewhere are other rows.
    """
    assert digests(None, ["ab", "c"])[-1] != digests(None, ["a", "bc"])[-1]


def test_a_growing_conversation_has_no_break():
    """
    Every request extends the one before it.
    """
    assert prefix_breaks(GROWING) == 0


def test_each_request_that_is_no_extension_is_a_break():
    """
    Going back is a break, going on from there is none.
    """
    assert prefix_breaks([*GROWING, GROWING[0], GROWING[-1]]) == 1
