from __future__ import annotations

import re

from proxy.recovery.normalise import sentences
from proxy.recovery.wording import CONTEXT, near, then


def test_near_takes_either_order() -> None:
    """
    "Exceeds the window" and "window exceeded" are one.
    """
    pattern = re.compile(near("window", "exceed"))

    assert pattern.search("exceeds the window")
    assert pattern.search("window exceeded")


def test_near_stays_in_one_sentence() -> None:
    """
    Two sentences are two statements.
    """
    assert not re.search(near("window", "exceed"), sentences("the window is fine. rates exceed"))


def test_near_keeps_alternatives_together() -> None:
    """
    An alternative inside an argument does not leak out of it.
    """
    assert not re.search(near("a1|a2", "b1|b2"), "b2 alone")


def test_then_wants_its_order() -> None:
    """
    The order counts.
    """
    assert re.search(then("first", "second"), "first and second")
    assert not re.search(then("first", "second"), "second and first")


def test_a_deadline_is_no_context() -> None:
    """
    "Context deadline exceeded" is a time-out in the language of its server.
    """
    assert not re.search(CONTEXT, "context deadline exceeded")
