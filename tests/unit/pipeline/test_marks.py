"""
Marks for the next request.
"""

from dataclasses import replace

import pytest

from proxy.pipeline.marks import MOST_MARKS, SECONDS, Marks
from proxy.records.record import Record

RECORD = Record(key="r1", digest="d", scope="s", covered=3, head_end=0, cut=3, summary="s", created=50.0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(("key", "live", "digests"), [("r1", RECORD, ()), ("d7", None, ("d6", "d7", "d8"))])
def test_a_mark_is_used_once(clock: Clock, key: str, live: Record | None, digests: tuple[str, ...]) -> None:
    """
    By the record in force, or by a digest of the conversation's prefix.
    """
    marks = Marks(clock)
    marks.put(key)

    assert [marks.take(live, digests), marks.take(live, digests), bool(marks)] == [True, False, False]


def test_others_are_left_alone(clock: Clock) -> None:
    """
    A mark is for one conversation.
    """
    marks = Marks(clock)
    marks.put("r1")

    assert not marks.take(replace(RECORD, key="r2"), ("d1",))
    assert marks


def test_what_another_process_has_compacted_since_is_done(clock: Clock) -> None:
    """
    Every worker is told of a mark; only one of them sees the next request.
    """
    marks = Marks(clock)
    marks.put("d1")

    assert not marks.take(replace(RECORD, created=101.0), ("d1",))


def test_marks_do_not_wait_for_ever(clock: Clock) -> None:
    """
    A day later nobody remembers why.
    """
    marks = Marks(clock)
    marks.put("r1")
    clock.now += SECONDS

    assert not marks.take(RECORD, ())


def test_marks_are_bounded(clock: Clock) -> None:
    """
    The oldest goes.
    """
    marks = Marks(clock)
    for number in range(MOST_MARKS + 1):
        marks.put(str(number))

    assert (marks.take(None, ("0",)), marks.take(None, ("1",))) == (False, True)


def test_a_mark_that_no_request_uses_up_is_forgotten(clock: Clock) -> None:
    """
    Its conversation went on in another worker: here, where every request is measured as long as there is a mark, it ends.
    """
    marks = Marks(clock)
    marks.put("r1")
    clock.now += SECONDS / 2
    marks.put("r2")
    clock.now += SECONDS / 2

    assert marks
    clock.now += SECONDS / 2

    assert not marks
