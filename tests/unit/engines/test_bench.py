from proxy.compaction.budget import Budget
from proxy.compaction.layout import Layout
from proxy.engines.bench import Bench
from proxy.engines.sizer import Sizer
from proxy.records.record import Edit
from proxy.summaries.base import Summary
from tests.support.conversations import call, result, user
from tests.support.folding import COUNTER, task

ROWS = [user("go"), call("f"), result("a", 4_000), call("g"), result("b", 100)]
STUBBED = Layout(0, 0, None, edits=(Edit(2, "stub"),))
SIZE = COUNTER.messages(ROWS)


def bench(usable, **fields):
    """
    Return a bench for rows that may have *usable* tokens.
    """
    rows = fields.pop("rows", ROWS)
    room = Budget(window=usable, usable=usable, threshold=usable, fixed=0)
    return Bench(task(rows, usable, budget=room, **fields), Sizer(rows, COUNTER, fixed=0), list(rows))


def test_builds_on_the_clients_rows_or_on_the_previous_layout():
    """
    The first compaction has nothing before it.
    """
    assert bench(900).base == Layout(0, 0, None)
    assert bench(900, previous=STUBBED).base is STUBBED


def test_both_limits_must_hold():
    """
    Tokens and bytes.
    """
    assert bench(SIZE).fits(None, SIZE)
    assert not bench(SIZE).fits(None, SIZE - 1)
    assert not bench(SIZE, byte_limit=100).fits(None, SIZE)


def test_reports_what_was_done():
    """
    Sizes, rows, the summary.
    """
    summary = Summary("text")
    made = bench(SIZE).finished(STUBBED, summary=summary)

    assert made.layout is STUBBED
    assert (made.report.before, made.report.edited, made.report.folded) == (SIZE, 1, 0)
    assert made.report.after < SIZE
    assert made.report.fits
    assert made.report.summary is summary


def test_what_gains_nothing_is_discarded():
    """
    Progress or stop.
    """
    made = bench(SIZE).finished(Layout(0, 0, None))

    assert made.layout is None
    assert made.report.why == "the gain would be too small"


def test_a_result_above_the_window_is_kept_and_said_to_be():
    """
    The next pass builds on it.
    """
    made = bench(10).finished(STUBBED)

    assert made.layout is STUBBED
    assert not made.report.fits


def test_an_empty_request_is_never_made():
    """
    Rows that repair would drop altogether: forced recovery once sent an empty list.
    """
    made = bench(10, rows=[result("a", 900)]).finished(Layout(0, 0, None))

    assert made.layout is None
    assert made.report.why == "no row would be left"
