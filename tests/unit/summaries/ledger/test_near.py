import pytest

from proxy.summaries.ledger.near import without_near_duplicates
from proxy.summaries.ledger.units import Source, Unit

LONG = (
    "The loader reads every file of the folder twice, once for the header and once for the rows, because the header decides "
    "which columns are read and in what order they come out of it"
)


def kept(*texts: str, source: Source = Source.ASSISTANT) -> list[str]:
    """
    Return what is left of sentences in a row each.
    """
    units = [Unit(row, source, text) for row, text in enumerate(texts)]
    return [unit.text for unit in without_near_duplicates(units)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The loader was read and it looks fine.", "The loader was read, and it looks fine now."),
        (LONG + ".", LONG + " after all."),
        ("我已经把导入程序全部检查了一遍。", "我已经把导入程序全部检查过一遍。"),
    ],
)
def test_of_sentences_alike_the_newest_stays(one, other):
    """Short ones by edit distance, long ones by their words, in any script."""
    assert kept(one, other) == [other]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The timeout of the loader is 30 seconds.", "The timeout of the loader is 45 seconds."),
        (
            "I decided to use zamverlo because the tests need it.",
            "I decided to use gatmisel because the tests need it.",
        ),
        ("I changed src/load.py and it works.", "I changed src/save.py and it works."),
        ("The loader was read and it looks fine.", "The tests were run and two of them fail."),
        (
            LONG,
            "The exporter writes one file for each day and "
            + "never touches what an earlier run has written there " * 2,
        ),
    ],
)
def test_other_sentences_stay(one, other):
    """A name or a number makes another sentence of it."""
    assert kept(one, other) == [one, other]


@pytest.mark.parametrize("source", [Source.USER, Source.TOOL])
def test_words_of_people_and_tools_are_left_alone(source):
    """People mean what they say twice; lines of tools fade by their pattern."""
    pair = ("Please look at the loader again.", "Please look at the loader once again.")

    assert kept(*pair, source=source) == list(pair)
