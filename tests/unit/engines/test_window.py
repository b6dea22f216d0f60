import pytest

from proxy.chat.messages import text_of
from proxy.engines.base import Posture
from proxy.engines.window import NOTICE, Window
from proxy.simulator.rules import introduced
from tests.support.conversations import agent_session, chat_session, user
from tests.support.folding import COUNTER, Scribe, passes, sent, task


async def run(rows, window, **fields):
    """
    Run the window engine once.
    """
    return await Window(COUNTER).compact(task(rows, window, **fields), summarize=Scribe())


async def test_keeps_the_newest_rows_and_says_that_older_ones_are_gone():
    """
    The honest baseline.
    """
    rows = chat_session(30)[1:]
    made = await run(rows, 16_000)
    written = sent(made.layout, rows)

    assert NOTICE in text_of(written[0])
    assert written[-1] is rows[-1]
    assert made.report.fits
    assert introduced(rows, written) == {}


async def test_asks_no_summariser():
    """
    It writes nothing of its own but the notice.
    """
    scribe = Scribe()
    await Window(COUNTER).compact(task(chat_session(30)[1:], 16_000), summarize=scribe)

    assert scribe.jobs == []


async def test_says_so_where_nothing_can_be_left_out():
    """
    Everything fits the target.
    """
    made = await run(chat_session(2)[1:], 64_000)

    assert made.layout is None
    assert made.report.why == "nothing can be left out"


async def test_restates_the_only_ask():
    """
    Plain truncation would lose it.
    """
    rows = agent_session(40)[1:]
    made = await run(rows, 8_000)

    assert text_of(sent(made.layout, rows)[0]).endswith("fix the failing test in src/app.py")


@pytest.mark.parametrize("window", [2_000, 8_000])
async def test_one_huge_row_is_cut_in_the_later_passes(window):
    """
    There is nothing older to leave out.
    """
    rows = [user("x " * 60_000)]
    made = await passes(rows, window, engine=Window(COUNTER))

    assert made.report.fits


async def test_never_returns_what_it_was_given():
    """
    A second pass that gains nothing is no compaction.
    """
    rows = chat_session(30)[1:]
    first = await run(rows, 16_000)

    assert (await run(rows, 16_000, previous=first.layout)).layout is None
    assert (await run(rows, 400_000, posture=Posture.HARD_FIT, previous=first.layout)).layout is None


async def test_no_rows_are_no_fault():
    """
    A request of system rows alone.
    """
    assert (await run([], 4_000)).layout is None
    assert (await run([], 4_000, posture=Posture.HARD_FIT)).layout is None
