"""
A fault of ours in one step costs that step alone.
"""

import asyncio

import pytest

from proxy.pipeline.guarded import guarded, guarded_async


def test_returns_what_the_step_comes_to():
    """
    Nothing is in the way of a step that works.
    """
    assert guarded("count", lambda: 3, otherwise=0) == 3


def test_returns_the_stand_in_where_the_step_fails():
    """
    Whatever is raised.
    """
    assert guarded("count", lambda: 1 // 0, otherwise=7) == 7


async def test_awaits_the_step_and_stands_in_for_it():
    """
    The same for work that waits.
    """

    async def broken() -> int:
        raise RecursionError

    assert await guarded_async("count", broken(), otherwise=7) == 7


async def test_a_client_that_leaves_is_no_fault():
    """
    Cancellation passes, or nothing would ever stop.
    """

    async def leaving() -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await guarded_async("count", leaving(), otherwise=7)
