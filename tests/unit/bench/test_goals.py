import pytest

from bench.speed.goals import GOALS, Verdict, best_peer, flatness, verdicts, workers
from tests.support.speed_results import cell, results, two_workers


def verdict_of(ratio, name="small chat, CPU beside the bare hop"):
    told = verdicts(results({"small chat": cell(bare=[100], concertina=[100 * ratio])}))
    return next(one.word for one in told if one.goal.name == name)


@pytest.mark.parametrize(("ratio", "said"), [(1.2, "aim reached"), (1.4, "reached"), (1.6, "not reached")])
def test_says_how_a_goal_stands(ratio, said):
    """
    A goal has a limit that must hold, and may have an aim.
    """
    assert verdict_of(ratio) == said


@pytest.mark.parametrize(("times", "said"), [(1.6, "aim reached"), (1.4, "reached"), (1.0, "not reached")])
def test_is_to_be_cheaper_than_the_best_peer(times, said):
    """
    Of this goal more is better: it is how many times our CPU the best peer takes.
    """
    cells = {"small chat": cell(bare=[100], concertina=[100], peer=[100 * times], slow=[9_000])}
    (told,) = [one for one in verdicts(results(cells)) if "best peer" in one.goal.name]

    assert told.word == said


def test_leaves_out_what_was_not_measured():
    """
    A run of one scenario has no verdict on the others.
    """
    assert verdicts(results({})) == []


def test_does_not_call_a_peer_the_best_that_failed():
    """
    An error costs less than an answer.
    """
    told = cell(bare=[100], concertina=[100], good=[500], broken=[10])
    told["broken"]["failures"] = 3

    assert best_peer(results({"chat": told}), "chat")[0] == "good"


def test_has_no_best_peer_where_there_is_none():
    """
    Neither the bare hop nor more workers of this project are peers.
    """
    told = two_workers(cell(direct=[8], bare=[100], concertina=[150]))

    assert best_peer(results({"chat": told}), "chat") is None


def test_tells_what_two_workers_do_and_what_they_could():
    """
    The load generator and the upstream take 20 of 120 us a request, on two cores.
    """
    told, room = workers(results({"small chat": two_workers(cell(bare=[50], concertina=[100]), per_second=16_000.0)}))

    assert told["median"] == pytest.approx(1.6)
    assert room == pytest.approx(2 * 100 / 120)


def test_memory_is_flat_by_its_last_reading_and_shows_its_highest():
    """
    A peak on the way shows in the spread.
    """
    told = flatness([{"memory_mb": 100.0}, {"memory_mb": 104.0}, {"memory_mb": 102.0}])

    assert (round(told["median"], 6), round(told["high"], 6)) == (2, 4)


def test_every_goal_has_a_name_of_its_own():
    """
    The table would tell two of one name apart by nothing.
    """
    assert len({goal.name for goal in GOALS}) == len(GOALS)


def test_a_goal_without_an_aim_is_only_reached():
    """
    Only where there is more to wish for can it be reached.
    """
    goal = next(goal for goal in GOALS if goal.aim is None)

    assert Verdict(goal, {"median": goal.limit}).word == "reached"
