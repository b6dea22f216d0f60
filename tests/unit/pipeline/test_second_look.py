"""
Requests that are counted after their answer.
"""

from types import SimpleNamespace

import pytest

from proxy.chat.answers import Usage
from proxy.pipeline.plan import Plan
from proxy.pipeline.second_look import SecondLook
from proxy.pipeline.tasks import TaskKeeper
from proxy.pipeline.watching import Seen

LARGE = b"x" * 2_000_000


@pytest.mark.parametrize(("glance", "counted"), [(None, 1), (object(), 0)], ids=["text", "images"])
async def test_a_body_that_is_large_for_its_images_is_not_counted_after_all(glance: object, counted: int) -> None:
    """
    A low count says that text was cut; where the bytes are images it says nothing, and a look costs as much as parsing.
    """
    measured: list[Plan] = []
    learning = SimpleNamespace(answered=lambda *_: None)

    async def measure(_: object, plan: Plan) -> None:
        measured.append(plan)

    tasks = TaskKeeper()
    exchange = SimpleNamespace(mode="compact", glance=glance)
    seen = Seen(Usage(1_500, 10, 0), "stop", complete=True)
    SecondLook(learning, measure, tasks).answered(exchange, Plan(LARGE), seen)
    await tasks.settled()

    assert len(measured) == counted
