import pytest

from proxy.windows.resolve import DEFAULT_WINDOW, find_window


@pytest.mark.parametrize(
    ("given", "tokens", "source"),
    [
        ({"configured": 9_000, "discovered": 8_000, "learned": 7_000}, 9_000, "config"),
        ({"discovered": 8_000, "learned": 7_000}, 8_000, "upstream"),
        ({"learned": 7_000}, 7_000, "learned"),
        ({}, 128_000, "table"),
    ],
)
def test_the_best_source_wins(given, tokens, source):
    """
    The configuration beats the upstream, which beats an error, which beats the table.
    """
    window = find_window("gpt-4o", **given)

    assert (window.tokens, window.source) == (tokens, source)


def test_an_unknown_model_gets_the_default():
    """
    A name that nobody knows is taken for a model of today.
    """
    window = find_window("house-model")

    assert (window.tokens, window.source) == (DEFAULT_WINDOW, "default")
