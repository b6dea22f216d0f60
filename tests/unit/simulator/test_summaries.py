import pytest

from proxy.simulator.counting import PlainCounter
from proxy.simulator.summaries import summary_text

COUNT = PlainCounter().text


@pytest.mark.parametrize("budget", [20, 100, 400, 2_000])
def test_is_as_long_as_allowed(budget):
    """
    At most the budget, and not much less.
    """
    text = summary_text(1, "", budget_tokens=budget, count=COUNT)

    assert budget * 0.95 - 30 <= COUNT(text) <= budget


def test_is_numbered():
    """
    The number is the first thing it says.
    """
    assert summary_text(7, "", budget_tokens=100, count=COUNT).startswith("SUMMARY-7\n")


def test_names_files_of_its_source():
    """
    A summary that carries something of its source passes for one.
    """
    text = summary_text(1, "I read src/app/main.py and then docs/a.md", budget_tokens=400, count=COUNT)

    assert "- src/app/main.py\n- docs/a.md" in text


def test_no_two_lines_say_the_same():
    """
    Repetition would be taken for a degenerate summary.
    """
    lines = [line for line in summary_text(1, "", budget_tokens=300, count=COUNT).split("\n") if line.startswith("- ")]

    assert len(lines) == len(set(lines)) > 5
