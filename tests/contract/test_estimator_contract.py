"""
What every way of counting text promises: the vocabulary when loaded, and the estimate that serves before.
"""

import pytest

from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def loaded():
    vocabulary = Vocabulary()
    vocabulary.load()
    return vocabulary


@pytest.fixture(params=["vocabulary", "estimate"])
def vocabulary(request, loaded):
    return loaded if request.param == "vocabulary" else Vocabulary()


TEXTS = ["", "a", "Some words, and more.", "中文字符", "\ud83d", "<|endoftext|>", "x" * 40_000, " " * 40_000, "🎉" * 99]


@pytest.mark.parametrize("text", TEXTS)
def test_a_count_is_a_whole_number_between_nothing_and_the_bytes(vocabulary, text):
    """
    The proven bound holds for every implementation.
    """
    count = vocabulary.count(text)

    assert isinstance(count, int)
    assert bool(text) <= count <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("text", TEXTS)
def test_a_count_is_the_same_every_time(vocabulary, text):
    """
    Trigger, tail and progress must agree, or compaction loops.
    """
    assert vocabulary.count(text) == vocabulary.count(text)


@pytest.mark.parametrize("text", ["word ", "行", "x = f(1)\n"])
def test_more_text_is_more_tokens(vocabulary, text):
    """
    Cutting a text always helps.
    """
    counts = [vocabulary.count(text * times) for times in (1, 10, 100, 1_000, 10_000)]

    assert counts == sorted(set(counts))


def test_a_counter_over_it_adds_up(vocabulary):
    """
    Rows count the same alone and together, cached or not.
    """
    rows = [{"role": "user", "content": "word " * times} for times in range(1, 6)]
    counter = TokenCounter(vocabulary, CountCache())
    first = counter.messages(rows)

    assert counter.messages(rows) == first == sum(map(counter.message, rows))
