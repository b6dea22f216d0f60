import pytest

from proxy.summaries.ledger.lexicon import Lexicon
from proxy.summaries.ledger.roles import find_turns, join_answers, weigh
from proxy.summaries.ledger.units import read
from proxy.summaries.sections import Section
from tests.support.summaries import assistant, call, result, user


def candidate(*rows, text: str):
    reading, turns, lexicon = read(rows), find_turns(rows, live=True), Lexicon()
    for unit in join_answers(reading.units, turns):
        found = weigh(unit, lexicon.features(unit.text), lexicon, turns=turns, calls=reading.calls)
        if text in unit.text:
            return found
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("You must keep x_1.", Section.CONSTRAINTS),
        ("Actually it is x_2.", Section.CONSTRAINTS),
        ("Later look at x_3.", Section.PENDING),
        ("The list is x_4.", Section.DONE),
        ("必须保留 x_5。", Section.CONSTRAINTS),
        ("必ず x_6 を残す。", Section.CONSTRAINTS),
        ("有空再看 x_7。", Section.PENDING),
    ],
)
def test_words_of_people(text, section):
    """Rules, corrections, asks for later, and everything else."""
    assert candidate(user(text), text="x_").section is section


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("We decided on x_1.", Section.DECISIONS),
        ("I cannot reach x_2.", Section.BLOCKED),
        ("Wrote x_3.", Section.DONE),
    ],
)
def test_words_of_the_assistant(text, section):
    """What was decided, what is stuck, what was done."""
    assert candidate(user("Go."), assistant(text), assistant("Fine."), text="x_").section is section


@pytest.mark.parametrize("text", ["continue", "OK, thanks!", "好的，谢谢你！", "不客气。", "はい、お願いします。"])
def test_small_talk_weighs_nothing(text):
    """Whoever says it: no information."""
    assert candidate(user(text), text=text).weight < 0.1
    assert candidate(assistant(text), text=text).weight < 0.1


@pytest.mark.parametrize("text", ["Great, use port 5512.", "好的，改用 sqlite。", "No."])
def test_short_answers_that_say_something_count(text):
    """Politeness around it does not matter."""
    assert candidate(user(text), text=text).weight > 0.5


def test_errors_weigh_more_than_progress():
    """Within one output."""
    rows = [call("a"), result("loaded part q1\nERROR in part q2")]

    assert candidate(*rows, text="ERROR").weight > candidate(*rows, text="loaded").weight
    assert candidate(*rows, text="ERROR").error


def test_a_question_finds_its_answer_after_tool_rounds():
    """The first text after it."""
    turns = find_turns([user("Which port?"), call("a"), result("x"), assistant("It is 5.")])

    assert turns.answers == {3: "Which port?"}
    assert turns.unanswered is None


def test_the_last_ask_without_an_answer():
    """It is open, unless a newer one follows."""
    rows = [user("Do it."), call("a"), result("x")]

    assert find_turns(rows).unanswered == 0
    assert find_turns(rows, live=True).unanswered is None
