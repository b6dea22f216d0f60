"""
Background tasks are kept, waited for, and let go.
"""

import asyncio

from proxy.pipeline.tasks import TaskKeeper


async def forever() -> None:
    await asyncio.Event().wait()


async def test_draining_does_not_wait_for_tasks_that_never_end():
    """
    The sweep runs as long as the process: shutting down cancels it at once.
    """
    keeper = TaskKeeper()
    sweep = keeper.start(forever(), name="sweep")
    await asyncio.wait_for(keeper.drain(60), 1)

    assert sweep.cancelled()


async def test_draining_waits_for_work_in_progress():
    """
    A summary that is nearly there is not thrown away.
    """
    keeper, gate = TaskKeeper(), asyncio.Event()
    keeper.start(forever(), name="vocabulary")
    summary = keeper.start(gate.wait(), name="summary")
    asyncio.get_running_loop().call_soon(gate.set)
    await keeper.drain(5)

    assert summary.result() is True


async def test_draining_cancels_what_takes_too_long():
    """
    Patience has an end.
    """
    keeper = TaskKeeper()
    slow = keeper.start(forever(), name="summary")
    await keeper.drain(0.01)

    assert (slow.cancelled(), len(keeper)) == (True, 0)
