from pathlib import Path
from xml.etree import ElementTree as ET

from bench.speed.compare import worse
from bench.speed.page import BEGIN, END, refreshed
from bench.speed.plot import svg
from bench.speed.report import table
from tests.support.speed_results import cell, results, two_workers

CHAT = {"small chat": two_workers(cell(direct=[8], bare=[100], concertina=[150], peer=[400]))}
WHOLE = results(
    CHAT | {"SSE, 1 at once": cell(direct=[5], bare=[20], concertina=[22])},
    growth=[{"bytes": 1, "tokens": 9_000, "cpu_ms": 2.0}, {"bytes": 2, "tokens": 1_000_000, "cpu_ms": 30.0}],
    leak=[{"requests": 0, "memory_mb": 100.0, "failures": 0}, {"requests": 9, "memory_mb": 101.0, "failures": 0}],
    peers_left_out={"lost": "CalledProcessError: no such <package>"},
)


def test_marks_what_is_worse_in_its_row():
    """
    Above the table is what it was, and in it where.
    """
    before = results({"small chat": cell(direct=[8], bare=[100], concertina=[120])})
    told = table(WHOLE | {"compared_with": "old"}, worse(WHOLE, before))

    assert "Beside old these are **worse** beyond the spread" in told
    (row,) = [line for line in told.splitlines() if line.startswith("| small chat | concertina |")]
    assert "**1.50 (1.50 to 1.50) worse**" in row


def test_says_so_where_nothing_is_worse_and_where_there_is_nothing_to_compare():
    """
    Silence could mean either.
    """
    assert "nothing is worse" in table(WHOLE | {"compared_with": "old"}, [])
    assert "No earlier run" in table(WHOLE, [])


def test_tells_of_workers_peers_growth_memory_and_what_was_left_out():
    """
    Everything that a run measured stands in its table.
    """
    told = table(WHOLE, [])

    assert "Two workers answer" in told
    assert "the best peer, peer, takes 2.67" in told
    assert "One more turn at 1000K tokens: 30.0 ms" in told
    assert "0K 100.0, 0K 101.0; 0 failed" in told
    assert "lost was left out: CalledProcessError" in told


def test_every_row_has_every_column():
    """
    A figure that is missing leaves its place empty.
    """
    rows = [line for line in table(WHOLE, []).splitlines() if line.startswith(("| small chat |", "| SSE, 1 at once |"))]

    assert {row.count("|") for row in rows} == {11}
    assert len(rows) == 8


def test_draws_a_picture_that_a_browser_can_read():
    """
    Names come from outside, and each scenario is drawn.
    """
    root = ET.fromstring(svg(WHOLE | {"commit": "a<b&c"}))
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]

    assert "Concertina at a<b&c: what the proxy costs" in words
    assert {"small chat", "SSE, 1 at once", "peer", "bare"} <= set(words)


def test_draws_a_run_of_next_to_nothing():
    """
    A run of one scenario without other measurements has a picture, too.
    """
    assert "not measured in this run" in svg(results({}))


def test_puts_the_newest_figures_between_their_marks_and_leaves_the_rest():
    """
    What people wrote around them stays, and older figures go.
    """
    page = f"# Speed\n\n{BEGIN}\nold\n{END}\n\nMore.\n"
    told = refreshed(page, WHOLE, folder="bench/results/new")

    assert told.startswith(f"# Speed\n\n{BEGIN}\nMeasured at commit new")
    assert told.endswith(f"{END}\n\nMore.\n")
    assert "old" not in told
    assert "](../bench/results/new/plot.svg)" in told
    assert "| small chat, CPU beside the bare hop | 1.50" in told
    assert refreshed(told, WHOLE, folder="bench/results/new") == told


def test_the_page_has_a_place_for_them():
    """
    Without both marks a run would put its figures nowhere, or cut the page.
    """
    page = (Path(__file__).parents[3] / "docs" / "speed.md").read_text()

    assert page.count(BEGIN) == page.count(END) == 1
    assert page.index(BEGIN) < page.index(END)
