"""
Whether a client makes use of what is bought for it.
"""

import pytest

from proxy.records.spending import JUDGED, REMEMBERED, Ledger

LATER = 100.0


def after(bought: int, *, resumed: int, at: float = 0.0) -> Ledger:
    """
    Return a ledger of so many purchases, the last of them resumed.
    """
    ledger = Ledger()
    for number in range(bought):
        ledger = ledger.with_bought(str(number), at)
    return ledger.with_resumed(str(bought - 1 - number) for number in range(resumed))


@pytest.mark.parametrize(("bought", "resumed", "wasteful"), [(7, 0, False), (8, 0, True), (8, 1, True), (8, 2, False)])
def test_fewer_than_a_quarter_resumed_is_a_waste(bought: int, resumed: int, wasteful: bool) -> None:
    """
    Not before there are eight to judge by.
    """
    assert after(bought, resumed=resumed).wasteful(until=LATER) is wasteful


def test_what_had_no_time_to_be_resumed_is_not_judged() -> None:
    """
    Of two hundred conversations at once the newest eight are all unresumed.
    """
    ledger = after(50, resumed=1, at=LATER + 1)

    assert (len(ledger.judged(until=LATER)), ledger.wasteful(until=LATER)) == (1, False)
    assert ledger.wasteful(until=LATER + 1)


def test_only_the_last_count() -> None:
    """
    A client that stopped rewriting is trusted again, and the other way round.
    """
    ledger = after(JUDGED, resumed=2)
    for number in range(JUDGED - 1):
        ledger = ledger.with_bought(f"new {number}", 1.0)

    assert ledger.wasteful(until=LATER)
    assert not ledger.with_resumed(["new 0"]).wasteful(until=LATER)


def test_remembers_no_more_than_it_needs() -> None:
    """
    One small fact a client.
    """
    assert len(after(REMEMBERED + 5, resumed=0).purchases) == REMEMBERED


def test_the_same_record_counts_once() -> None:
    """
    Two replicas that adopt one summary bought one.
    """
    assert after(3, resumed=0).with_bought("1", 5.0) == after(3, resumed=0)


def test_what_is_not_remembered_cannot_be_resumed() -> None:
    """
    Older records do not excuse newer ones.
    """
    assert after(2, resumed=0).with_resumed(["9"]) == after(2, resumed=0)


def test_comes_back_from_a_store() -> None:
    """
    The next turn may reach another replica.
    """
    ledger = after(8, resumed=1)

    assert Ledger.from_bytes(ledger.to_bytes()) == ledger


@pytest.mark.parametrize("raw", [None, b"", b"{", b"{}", b"7", b"[1]", b'[["k", "x", 1]]', b'[["k", 1]]'])
def test_what_cannot_be_read_is_empty(raw: bytes | None) -> None:
    """
    A damaged ledger begins anew.
    """
    assert Ledger.from_bytes(raw) == Ledger()
