import pytest

from proxy.summaries.ledger.lexicon import Lexicon, is_identifier


def shown(text: str) -> list[str]:
    lexicon = Lexicon()
    return [lexicon.shown[f] for f in lexicon.features(text) if lexicon.shown[f]]


@pytest.mark.parametrize("chunk", ["src/a.py", "user_id", "v1.2", "HTTP", "camelCase", "a@b.c", "x9", "2031-01-02"])
def test_knows_identifiers(chunk):
    """Paths, ids, versions, constants, camel case, addresses, numbers."""
    assert is_identifier(chunk)


@pytest.mark.parametrize("chunk", ["loader", "It", "well-known", "/"])
def test_knows_words(chunk):
    """Ordinary words are none."""
    assert not is_identifier(chunk)


def test_shows_identifiers_as_they_were_written():
    """With their dots in front and their capitals."""
    assert shown("See ../lib/Core.js and OPS-7719.") == ["../lib/Core.js", "OPS-7719"]


def test_keeps_addresses_whole():
    """A colon inside a URL does not split it."""
    assert shown("at https://x.test/a?b=1:2 now")[0] == "https://x.test/a?b"


def test_stop_words_say_nothing():
    """They are no features."""
    assert Lexicon().features("the and of with") == ()


def test_text_without_spaces_gives_pairs():
    """Chinese and Japanese are read in overlapping pairs of characters."""
    lexicon = Lexicon()

    assert len(lexicon.features("修复导入")) == 3


def test_rare_features_weigh_more():
    """Inverse document frequency, with a bonus for identifiers."""
    lexicon = Lexicon()
    units = [lexicon.features(text) for text in ("loader alpha", "loader beta", "loader id_55")]
    weights = lexicon.weights(units)
    common, rare, exact = (lexicon.features(text)[0] for text in ("loader", "alpha", "id_55"))

    assert weights[common] < weights[rare] < weights[exact]
