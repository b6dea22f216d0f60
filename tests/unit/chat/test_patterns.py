"""
Patterns of an operator's own end when their time does.
"""

import asyncio

from proxy.chat.patterns import OwnPattern, Patience

ENDLESS, TEXT = "(a|aa)+$", "a" * 200 + "!"


def test_a_pattern_that_never_ends_matches_nothing():
    """
    All that is left of its text, and of other texts of the same request, is not searched.
    """
    patience = Patience(0.05)
    pattern = OwnPattern(ENDLESS, patience)

    assert (pattern.search(TEXT), pattern.spans(TEXT), pattern.sub("x", TEXT)) == (None, [], TEXT)
    assert (pattern.search("a"), patience.late) == (None, True)


def test_a_pattern_in_time_does_what_others_do():
    """
    Search, places and replacement, in upper and lower case where that is wished.
    """
    pattern = OwnPattern(r"<t>(\w+)</t>", Patience(), ignore_case=True)

    assert pattern.search("no") is None
    assert pattern.search("<T>x</T>") is not None
    assert pattern.spans("a <t>x</t>") == [(2, 10)]
    assert pattern.sub(r"[\1]", "a <t>x</t>") == "a [x]"


async def test_others_go_on_meanwhile():
    """
    In a thread it does not hold up the event loop.
    """
    searching = asyncio.create_task(asyncio.to_thread(OwnPattern(ENDLESS, Patience(0.5)).search, TEXT))
    turns = 0
    while not searching.done():
        await asyncio.sleep(0.001)
        turns += 1

    assert turns > 20
