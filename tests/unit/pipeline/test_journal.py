"""
The ring of finished exchanges.
"""

import asyncio

from proxy.pipeline.journal import FOLLOWER_KEEPS, Journal


def test_the_newest_come_first_and_the_oldest_go() -> None:
    """
    Memory stays bounded.
    """
    journal = Journal(keep=3)
    for number in range(5):
        journal.add({"id": str(number)})

    assert [event["id"] for event in journal.recent(9)] == ["4", "3", "2"]
    assert journal.find("1") is None


def test_an_id_used_twice_means_the_newest() -> None:
    """
    SDKs send the same request id when they try again.
    """
    journal = Journal()
    journal.add({"id": "a", "client_request_id": "x"}, digest="d1")
    journal.add({"id": "b", "client_request_id": "x"}, digest="d2")
    found = journal.find("x")

    assert found is not None
    assert (found.event["id"], found.digest) == ("b", "d2")


async def test_a_slow_follower_loses_the_oldest_and_holds_nobody() -> None:
    """
    The exchange never waits for who looks on.
    """
    journal = Journal()
    following = journal.follow()
    first = asyncio.ensure_future(anext(following))
    await asyncio.sleep(0)
    for number in range(FOLLOWER_KEEPS + 5):
        journal.add({"id": number})
    oldest = (await first)["id"]

    assert (oldest, (await anext(following))["id"]) == (5, 6)
    await following.aclose()
    assert journal._followers == set()
