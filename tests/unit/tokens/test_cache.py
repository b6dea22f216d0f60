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

    assert 5 <= len(cache) <= 10
    assert cache.size_bytes <= 10 * ENTRY_BYTES


def test_keeps_what_is_asked_for_and_forgets_the_rest():
    """
    The messages of a living conversation are asked for every turn.
    """
    cache = CountCache(max_bytes=10 * ENTRY_BYTES)
    cache.put(b"living", 7)
    cache.put(b"left", 8)
    for number in range(100):
        cache.put(b"%d" % number, number)
        cache.get(b"living")

    assert (cache.get(b"living"), cache.get(b"left"), cache.get(b"99")) == (7, None, 99)


def test_counts_no_entry_twice():
    """
    An entry that grows young again leaves the old generation.
    """
    cache = CountCache(max_bytes=4 * ENTRY_BYTES)
    for key in (b"a", b"b", b"c", b"a"):
        cache.put(key, 1)
    cache.get(b"b")

    assert len(cache) == 3


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

    assert 2 <= len(cache) <= 5
