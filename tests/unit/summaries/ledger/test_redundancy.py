from proxy.summaries.ledger.redundancy import keep_distinct
from proxy.summaries.ledger.units import Source, read
from tests.support.summaries import call, result, user


def kept(*rows, source: Source = Source.TOOL) -> list[tuple[int, str]]:
    reading = read(rows)
    return [(unit.row, unit.text) for unit in keep_distinct(reading.units, reading.calls) if unit.source is source]


def test_of_equal_lines_the_newest_stays():
    """In its place."""
    rows = [call("a", "1", q=1), result("same line", "1"), call("a", "2", q=2), result("same line", "2")]

    assert kept(*rows) == [(3, "same line")]


def test_clock_times_make_no_difference():
    """Lines that differ in a time stamp or duration only are one."""
    rows = [call("a"), result("2031-01-01 10:00:00 tick took 5ms\n2031-01-01 10:00:01 tick took 9ms")]

    assert len(kept(*rows)) == 1


def test_durations_in_words_of_people_count():
    """Two limits are two rules."""
    rows = [user("Stay under 500 ms please."), user("Stay under 900 ms please.")]

    assert len(kept(*rows, source=Source.USER)) == 2


def test_of_equal_words_of_people_the_first_stays():
    """That is when it was said."""
    assert kept(user("Go on."), user("Go on."), source=Source.USER) == [(0, "Go on.")]


def test_a_read_again_replaces_the_older_one():
    """Even lines that came only once."""
    rows = [
        call("read_file", "1", path="a"),
        result("old state 1", "1"),
        call("read_file", "2", path="a"),
        result("new", "2"),
    ]

    assert kept(*rows) == [(3, "new")]


def test_another_run_replaces_only_what_came_again():
    """Of a command run twice the older failure stays."""
    rows = [
        call("make", "1"),
        result("built 5 parts\nboom at q7", "1"),
        call("make", "2"),
        result("built 6 parts", "2"),
    ]

    assert kept(*rows) == [(1, "boom at q7"), (3, "built 6 parts")]


def test_an_unanswered_repeat_replaces_nothing():
    """A call whose result is not there yet has no newer state."""
    rows = [call("read_file", "1", path="a"), result("state 1", "1"), call("read_file", "2", path="a")]

    assert kept(*rows) == [(1, "state 1")]
