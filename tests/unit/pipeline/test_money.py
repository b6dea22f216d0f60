"""
What compaction saved and cost.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.pipeline.money import FlatPrice, TieredPrice, Tokens, counted, without_proxy

PRICE = FlatPrice(prompt=2.0, completion=10.0, cached=0.5)


def test_cached_tokens_cost_their_own_price() -> None:
    """
    A part of the prompt, not beside it.
    """
    assert PRICE.cost(Tokens(prompt=1_000_000, cached=400_000, completion=100_000)) == pytest.approx(1.2 + 0.2 + 1.0)


def test_cached_tokens_without_a_price_cost_as_others() -> None:
    """
    Rather than nothing.
    """
    assert FlatPrice(prompt=2.0, completion=0.0).cost(Tokens(1_000_000, cached=1_000_000)) == pytest.approx(2.0)


def test_a_tier_holds_for_all_tokens_of_a_longer_prompt() -> None:
    """
    Not only for those beyond its start.
    """
    tiered = TieredPrice(PRICE, ((200_000, FlatPrice(4.0, 20.0, 1.0)),))

    assert tiered.cost(Tokens(200_000)) == pytest.approx(0.4)
    assert tiered.cost(Tokens(200_001)) == pytest.approx(0.800004)


@pytest.mark.parametrize(("prompt", "cached", "whole"), [(100, 40, 100), (100, 100, 100), (10, 900, 910)])
def test_servers_that_count_the_cache_beside_the_prompt_are_understood(prompt: int, cached: int, whole: int) -> None:
    """
    More cached than asked can only mean that.
    """
    assert counted(prompt, cached, 5) == Tokens(whole, cached, 5)


def test_what_was_not_changed_costs_the_same() -> None:
    """
    Nothing is claimed for it.
    """
    sent = Tokens(500, 100, 20)

    assert without_proxy(sent, removed=0, fits=True, fresh=10) == sent


def test_what_would_have_been_refused_is_no_saving() -> None:
    """
    Without the proxy there had been no answer, and so no bill.
    """
    sent = Tokens(500, 100, 20)

    assert without_proxy(sent, removed=9_000, fits=False, fresh=10) == sent


def test_a_working_prompt_cache_can_make_compaction_dearer() -> None:
    """
    Two thirds fewer tokens, and yet a higher bill: the long history would have been read from the cache.
    """
    sent = Tokens(prompt=40_000, cached=0, completion=500)
    before = without_proxy(sent, removed=80_000, fits=True, fresh=6_000)

    assert before == Tokens(120_000, 114_000, 500)
    assert PRICE.cost(before) < PRICE.cost(sent)


def test_an_upstream_without_a_cache_would_have_read_it_all() -> None:
    """
    At the full price.
    """
    assert without_proxy(Tokens(500), removed=1_500, fits=True, fresh=None) == Tokens(2_000)


@given(
    prompt=st.integers(0, 10**7),
    removed=st.integers(0, 10**7),
    fresh=st.none() | st.integers(0, 10**7),
    cached=st.floats(0, 1),
    completion=st.integers(0, 10**6),
)
def test_the_longer_request_never_had_less(
    prompt: int, removed: int, fresh: int | None, cached: float, completion: int
) -> None:
    """
    Neither tokens nor cached tokens, nor more cached than there are, nor another answer.
    """
    sent = Tokens(prompt, int(prompt * cached), completion)
    before = without_proxy(sent, removed=removed, fits=True, fresh=fresh)

    assert before.prompt == prompt + removed
    assert sent.cached <= before.cached <= before.prompt
    assert before.completion == completion
