from proxy.summaries.ledger.index import choose, collect
from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.units import read
from tests.support.summaries import call, result, user


def names(*rows, present: str = "", stale: str = "", room: float = 100):
    lexicon, units = Lexicon(), read(rows).units
    found = collect(units, [lexicon.features(unit.text) for unit in units], lexicon)
    return choose(found, present=lexicon.features(present), stale=lexicon.features(stale), room=room)


def test_lists_exact_strings_in_order():
    """Words are left out."""
    assert names(user("The id ab_1 and the path c/d.py")) == ["ab_1", "c/d.py"]


def test_leaves_out_what_is_said_or_stale():
    """Whatever the case it is written in."""
    assert names(user("ab_1 ab_2 ab_3"), present="AB_1", stale="ab_2") == ["ab_3"]


def test_prefers_what_people_name():
    """Where room is short the user's own strings come first."""
    rows = [call("a"), result("qx_11 qx_12 qx_13"), user("See qx_99.")]

    assert names(*rows, room=4) == ["qx_99"]


def test_small_numbers_and_times_are_noise():
    """They would fill the room."""
    assert names(user("at 10:15:00 took 5ms in 12 of 340")) == []
