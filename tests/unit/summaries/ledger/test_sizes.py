from proxy.summaries.ledger.sizes import cut_to, pieces, scales
from proxy.summaries.ledger.units import read
from tests.support.summaries import count, result, user


def test_estimates_follow_the_script():
    """A Chinese character is about a token, a long English word about two."""
    assert pieces("修复导入") == 4
    assert pieces("reimplementation") == 2


def test_scales_come_from_real_counts():
    """One ratio a source."""
    units = read([user("a few plain words " * 5), result("x1=5;y2=6;" * 20)]).units
    found = scales(units, lambda text: 2 * pieces(text))

    assert set(found.values()) == {2.0}


def test_cuts_in_the_middle():
    """Head and tail stay."""
    text = cut_to("head " + "m " * 500 + "tail", 40, count)

    assert count(text) <= 40
    assert text.startswith("head")
    assert text.endswith("tail")


def test_cuts_down_to_nothing():
    """Any limit is kept."""
    assert cut_to("word " * 50, 0, count) == ""


def test_leaves_short_text_alone():
    """What fits is not touched."""
    assert cut_to("word", 5, count) == "word"
