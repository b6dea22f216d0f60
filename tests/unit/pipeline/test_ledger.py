"""
Running sums.
"""

from proxy.pipeline.ledger import MINUTES, MOST_MODELS, OTHER, Ledger


def test_sums_are_kept_by_route_and_model_and_by_the_minute() -> None:
    """
    Both from the same entries.
    """
    ledger = Ledger()
    ledger.add("r", "m", {"exchanges": 1, "prompt_tokens": 10}, at=60.0)
    ledger.add("r", "m", {"exchanges": 1}, at=119.0)
    ledger.add("r", "n", {"exchanges": 1}, at=120.0)

    assert ledger.by_model() == {"r": {"m": {"exchanges": 2, "prompt_tokens": 10}, "n": {"exchanges": 1}}}
    assert ledger.by_minute() == {"60": {"exchanges": 2, "prompt_tokens": 10}, "120": {"exchanges": 1}}


def test_invented_model_names_do_not_fill_the_memory() -> None:
    """
    Clients choose them; past some number they share a row, and so a label.
    """
    ledger = Ledger()
    for number in range(MOST_MODELS + 50):
        ledger.add("r", f"m{number}", {"exchanges": 1}, at=0.0)

    assert len(ledger.by_model()["r"]) == MOST_MODELS + 1
    assert (ledger.by_model()["r"][OTHER]["exchanges"], ledger.name_of("r", "m3")) == (50, "m3")


def test_a_day_of_minutes_is_kept() -> None:
    """
    The oldest go.
    """
    ledger = Ledger()
    for minute in range(MINUTES + 3):
        ledger.add("r", "m", {"exchanges": 1}, at=minute * 60.0)

    assert (len(ledger.by_minute()), min(map(int, ledger.by_minute()))) == (MINUTES, 180)
