from proxy.chat.json import dumps
from proxy.compaction.layout import Layout, emit
from proxy.engines.sizer import Sizer
from proxy.records.record import Edit
from tests.support.conversations import assistant, call, result, user
from tests.support.folding import COUNTER

ROWS = [user("a"), call("f"), result("a", 900), assistant("b"), user("c")]


def test_measures_the_clients_own_rows_where_there_is_no_layout():
    """
    The fixed part and every row.
    """
    sizer = Sizer(ROWS, COUNTER, fixed=50)

    assert sizer.tokens(None) == 50 + COUNTER.messages(ROWS)
    assert sizer.bytes(None) == sum(len(dumps(row)) + 1 for row in ROWS)
    assert sizer.counter is COUNTER


def test_measures_rows_as_they_are_written():
    """
    Stubs and summary included.
    """
    sizer = Sizer(ROWS, COUNTER, fixed=0)
    layout = Layout(0, 0, None, edits=(Edit(2, "stub"),))
    folded = Layout(0, 3, "summary")

    assert sizer.tokens(layout) == COUNTER.messages(emit(layout, ROWS)) < sizer.tokens(None)
    assert sizer.bytes(folded) == sum(len(dumps(row)) + 1 for row in emit(folded, ROWS))


def test_counts_the_results_that_repair_adds():
    """
    What is sent is what must fit.
    """
    rows = [user("a"), call("f"), user("b")]
    sizer = Sizer(rows, COUNTER, fixed=0)

    assert sizer.tokens(Layout(0, 0, None)) > sizer.tokens(None)
