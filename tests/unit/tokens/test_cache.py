import tracemalloc
from concurrent.futures import ThreadPoolExecutor

from proxy.tokens.cache import ENTRY_BYTES, CountCache


def test_gives_back_what_was_put():
    """
    A count of zero is a count, not a miss.
    """
    cache = CountCache()
    cache.put(1, 0)

    assert (cache.get(1), cache.get(2)) == (0, None)


def test_never_takes_more_memory_than_allowed():
    """
    A million different messages do not fill the memory.
    """
    cache = CountCache(max_bytes=10 * ENTRY_BYTES)
    for number in range(1_000):
        cache.put(number, number)

    assert 5 <= len(cache) <= 10


def test_keeps_what_is_asked_for_and_forgets_the_rest():
    """
    The messages of a living conversation are asked for every turn.
    """
    cache = CountCache(max_bytes=10 * ENTRY_BYTES)
    cache.put(1_001, 7)
    cache.put(1_002, 8)
    for number in range(100):
        cache.put(number, number)
        cache.get(1_001)

    assert (cache.get(1_001), cache.get(1_002), cache.get(99)) == (7, None, 99)


def test_counts_no_entry_twice():
    """
    An entry that grows young again leaves the old generation.
    """
    cache = CountCache(max_bytes=4 * ENTRY_BYTES)
    for key in (1, 2, 3, 1):
        cache.put(key, 1)
    cache.get(2)

    assert len(cache) == 3


def test_serves_several_threads():
    """
    Cold counts run in threads beside each other.
    """
    cache = CountCache(max_bytes=5 * ENTRY_BYTES)

    def work(number):
        for turn in range(2_000):
            cache.put(turn % 9, number)
            cache.get(turn % 7)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    assert 2 <= len(cache) <= 5


def test_an_entry_takes_the_memory_that_is_reckoned_for_it():
    """
    The bound is in bytes, so the size of an entry must be true; measured, with what the allocator adds.
    """
    cache = CountCache(max_bytes=20_000 * ENTRY_BYTES)
    tracemalloc.start()
    for number in range(10_000):
        cache.put(hash(("row", number)), 1_000 + number)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken <= 10_000 * ENTRY_BYTES
