from concurrent.futures import ThreadPoolExecutor

from proxy.tokens.cache import ENTRY_BYTES, CountCache


def test_gives_back_what_was_put():
    """
    A count of zero is a count, not a miss.
    """
    cache = CountCache()
    cache.put(b"k", 0)

    assert (cache.get(b"k"), cache.get(b"other")) == (0, None)


def test_never_takes_more_memory_than_allowed():
    """
    A million different messages do not fill the memory.
    """
    cache = CountCache(max_bytes=10 * ENTRY_BYTES)
    for number in range(1_000):
        cache.put(b"%d" % number, number)

    assert len(cache) == 10
    assert cache.size_bytes <= 10 * ENTRY_BYTES


def test_forgets_what_was_not_asked_for_longest():
    """
    The messages of a living conversation are asked for every turn.
    """
    cache = CountCache(max_bytes=2 * ENTRY_BYTES)
    cache.put(b"a", 1)
    cache.put(b"b", 2)
    cache.get(b"a")
    cache.put(b"c", 3)

    assert [cache.get(key) for key in (b"a", b"b", b"c")] == [1, None, 3]


def test_serves_several_threads():
    """
    Cold counts run in threads beside each other.
    """
    cache = CountCache(max_bytes=5 * ENTRY_BYTES)

    def work(number):
        for turn in range(2_000):
            cache.put(b"%d" % (turn % 9), number)
            cache.get(b"%d" % (turn % 7))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert len(cache) == 5
