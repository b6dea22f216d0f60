from bench.speed.figures import attainable, spread, summary
from tests.support.speed_results import figures


def test_tells_the_middle_and_the_ends_of_rounds():
    """
    One round that chance spoiled moves the end of the spread and not the median.
    """
    assert spread([3.0, 1.0, 99.0]) == {"median": 3.0, "low": 1.0, "high": 99.0}


def test_tells_nothing_of_no_rounds():
    """
    A target that never ran has no figures, rather than zeros.
    """
    assert spread([]) == {}
    assert summary({"bare": []}, ours="ours") == {}


def test_takes_ratios_round_by_round():
    """
    A machine that is twice as slow in one round is so for both, and the ratio stays.
    """
    told = summary({"bare": [figures(100), figures(200)], "ours": [figures(150), figures(300)]}, ours="ours")

    assert told["ours"]["ratio"] == {"median": 1.5, "low": 1.5, "high": 1.5}


def test_compares_what_is_added_over_no_proxy_at_the_tail():
    """
    The ratio of two tails is that of what the hops add, without what load and upstream take themselves.
    """
    rounds = {"direct": 1.0, "bare": 2.0, "ours": 4.0}
    told = summary({name: [figures(100, p99_ms=p99)] for name, p99 in rounds.items()}, ours="ours")

    assert told["ours"]["p99_ratio"]["median"] == 3.0


def test_divides_by_no_difference_that_the_clock_cannot_tell():
    """
    A bare hop that happened to be faster than none makes neither a negative ratio nor an endless one.
    """
    rounds = {"direct": 1.0, "bare": 0.9, "ours": 1.1}
    told = summary({name: [figures(100, p99_ms=p99)] for name, p99 in rounds.items()}, ours="ours")

    assert 1 <= told["ours"]["p99_ratio"]["median"] <= 3


def test_adds_the_failures_of_all_rounds():
    """
    A round that failed shows, however good the others were.
    """
    told = summary({"ours": [figures(1, failures=2), figures(1), figures(1, failures=1)]}, ours="ours")

    assert told["ours"]["failures"] == 3


def test_knows_how_much_room_load_and_upstream_leave_for_two_workers():
    """
    With 20 us of others on the same two cores, two workers of 80 us each can do 1.6 times what one does.
    """
    told = summary({"ours": [figures(80, load_us=12.0, upstream_us=8.0)]}, ours="ours")["ours"]

    assert attainable(told, workers=2, cores=2) == 1.6
    assert attainable(told, workers=2, cores=64) == 2.0
