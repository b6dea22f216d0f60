"""
What compaction saved and cost, told honestly: pure arithmetic on tokens and prices.

Without the proxy the whole history would have been sent each turn, and the upstream's prompt cache would have read most
of it at a lower price: what was removed is old text. So the comparison is between what was sent, with the cached tokens
that the upstream reported, and the whole history of which only a turn's new text was not cached. Where the prefix was
just rewritten, so that the cache was of no use, a turn's new text is taken from the turns in which it was. The calls that
wrote summaries are added to what was spent. So the net effect may be negative, and is told as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Tokens:
    """
    Tokens of one call in the model's own; *cached* are part of *prompt*.
    """

    prompt: int
    cached: int = 0
    completion: int = 0


class Price(Protocol):
    """
    What a model costs at an upstream.
    """

    def cost(self, tokens: Tokens) -> float:
        """
        Return US dollars.
        """
        ...


@dataclass(frozen=True, slots=True)
class FlatPrice:
    """
    Dollars for a million tokens.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def cost(self, tokens: Tokens) -> float:
        """
        Return US dollars; cached tokens cost as others where no price of their own is known.
        """
        cached = self.prompt if self.cached is None else self.cached
        fresh = tokens.prompt - tokens.cached
        return (fresh * self.prompt + tokens.cached * cached + tokens.completion * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class TieredPrice:
    """
    Dollars for a million tokens that depend on the size of the prompt: each tier holds for all tokens of a prompt larger
    than its start, the last such tier wins.
    """

    base: FlatPrice
    tiers: tuple[tuple[int, FlatPrice], ...]

    def cost(self, tokens: Tokens) -> float:
        """
        Return US dollars.
        """
        price = self.base
        for start, tier in self.tiers:
            if tokens.prompt > start:
                price = tier
        return price.cost(tokens)


def counted(prompt: int, cached: int, completion: int) -> Tokens:
    """
    Return usage as an upstream told it; some count cached tokens beside the prompt, not in it.
    """
    return Tokens(prompt if cached <= prompt else prompt + cached, cached, completion)


def without_proxy(sent: Tokens, *, removed: int, fits: bool, fresh: int | None) -> Tokens:
    """
    Return what the exchange would have taken with nothing *removed*, all of which is old text.

    *fresh* is what the upstream reads anew in a turn of such a conversation, ``None`` where it caches nothing. Where the
    whole history does not *fit* the window, it would have been refused: there is nothing to compare with, so nothing is
    claimed.
    """
    if removed <= 0 or not fits:
        return sent
    prompt = sent.prompt + removed
    cached = 0 if fresh is None else max(prompt - fresh, 0)
    return Tokens(prompt, max(cached, sent.cached), sent.completion)
