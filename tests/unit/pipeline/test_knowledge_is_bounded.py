"""
What is known of models stays within bounds, whatever names clients make up.
"""

from types import SimpleNamespace

from proxy.pipeline.knowledge import MOST_LIMITS, Knowledge
from proxy.pipeline.tasks import TaskKeeper
from proxy.records.memory import MemoryStore
from proxy.windows.learned import BYTES
from tests.support.stores import FakeClock

EXCHANGE = SimpleNamespace(
    party=SimpleNamespace(upstream="up", credential="c"), recovery=SimpleNamespace(limit_ttl=3_600.0)
)


async def test_the_sizes_that_were_accepted_are_forgotten_with_the_models_longest_unheard_of() -> None:
    """
    An upstream that answers under any name must not fill our memory; what every answer is about stays.
    """
    clock = FakeClock()
    knowledge = Knowledge(
        {}, {}, discover=lambda *_: None, store=MemoryStore(clock=clock), tasks=TaskKeeper(), clock=clock
    )
    for number in range(MOST_LIMITS):
        knowledge.accept(EXCHANGE, f"model-{number}", 5_000)
        knowledge.accept(EXCHANGE, BYTES, 20_000)
    known = [knowledge.largest_accepted(EXCHANGE, name) for name in ("model-0", f"model-{MOST_LIMITS - 1}", BYTES)]

    assert known == [0, 5_000, 20_000]
