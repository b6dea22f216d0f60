"""
Put together those who plan: the same for serving and for explaining.
"""

from __future__ import annotations

from dataclasses import dataclass

from proxy.pipeline.ahead import Ahead
from proxy.pipeline.compacting import Compacting
from proxy.pipeline.groundwork import Groundwork
from proxy.pipeline.identify import Identifier
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.planner import Planner
from proxy.pipeline.prepare import Preparation
from proxy.records.store import RecordStore


@dataclass(frozen=True, slots=True)
class Planning:
    """
    The *planner* of requests, and the *preparation* of what comes after them.
    """

    planner: Planner
    preparation: Preparation


def make_planning(ground: Groundwork, identifier: Identifier, knowledge: Knowledge, store: RecordStore) -> Planning:
    """
    Return a planner on *ground*; leases of what is prepared are held in *store*.
    """
    ahead = Ahead(ground)
    preparation = Preparation(ground, ahead, store)
    planner = Planner(
        ground.counter,
        conversations=ground.conversations,
        identifier=identifier,
        knowledge=knowledge,
        compacting=Compacting(ground, ahead),
        preparation=preparation,
    )
    return Planning(planner, preparation)
