from proxy.summaries.ledger.fill import Filling, Stage
from proxy.summaries.ledger.roles import Candidate
from proxy.summaries.ledger.units import Source, Unit
from proxy.summaries.sections import Section


def candidate(*features: int, weight: float = 1.0, tokens: int = 8, group: int = -1) -> Candidate:
    return Candidate(Unit(0, Source.TOOL, "x", group), Section.CRITICAL, features, weight, tokens)


def fill(candidates, room, *, share=1.0, whole=False, labels=None, successors=None):
    filling = Filling(candidates, [1.0] * 20, room, labels or {}, successors or {})
    filling.run(Stage(share, lambda _: True, whole=whole), limit=room)
    return filling


def test_prefers_what_says_something_new():
    """Of three units with two alike, the two different ones are chosen."""
    assert fill([candidate(1, 2), candidate(1, 2), candidate(3)], 20).chosen == {0, 2}


def test_prefers_more_for_its_tokens():
    """A long unit that says as much as a short one waits."""
    assert fill([candidate(1, tokens=18), candidate(2, tokens=8)], 20).chosen == {1}


def test_keeps_to_its_share():
    """A stage takes its share of the room and no more."""
    assert fill([candidate(n) for n in range(10)], 100, share=0.3).used <= 30


def test_a_unit_brings_the_one_that_replaced_it():
    """An old value never comes alone, whatever it costs."""
    assert fill([candidate(1), candidate(tokens=50)], 12, successors={0: 1}).chosen == {0, 1}


def test_the_first_line_of_a_group_pays_for_its_label():
    """Later ones do not."""
    assert fill([candidate(1, group=4), candidate(2, group=4)], 100, labels={4: 7}).used == 27


def test_whole_stages_go_by_weight():
    """The heaviest first, whether they say something new or not."""
    assert fill([candidate(1), candidate(1, weight=3.0)], 12, whole=True).chosen == {1}


def test_what_says_nothing_is_not_chosen():
    """Units without features have no gain."""
    assert fill([candidate()], 100).chosen == set()
