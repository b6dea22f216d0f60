"""
One exchange: the request as it came, and the facts gathered on its way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import getrandbits
from typing import Literal

from proxy.chat.request import ChatRequest
from proxy.pipeline.directives import Directives
from proxy.pipeline.heads import Heads
from proxy.pipeline.plan import Plan
from proxy.pipeline.settings import CompactionSettings, RecoverySettings, RouteSettings
from proxy.pipeline.tracing import UNTRACED, Trace
from proxy.pipeline.viewing import Viewer
from proxy.summaries.base import Note
from proxy.upstream.wire import Incoming

Action = Literal["passthrough", "observed", "compacted", "reused", "recovered", "failed-open", "gave-up"]


@dataclass(frozen=True, slots=True)
class Party:
    """
    Who asks whom: the *upstream* name, digests of the *tenant* (what the client presented) and of the *credential*
    that reaches the upstream. No secret is in it.
    """

    upstream: str
    tenant: str
    credential: str

    @property
    def sender(self) -> str:
        """
        Who sends: nothing that is held for one sender is looked at for another.
        """
        return self.tenant + self.credential


_ANY_DEPTH = Viewer()


def _new_id() -> str:
    # Not a secret. A child of a fork is seeded anew.
    return f"{getrandbits(64):016x}"


@dataclass(slots=True)
class Exchange:
    """
    The one mutable object of a request; every step reads it, and writes only its own facts.

    *heads* are the request's headers by name. *notes* are what plug-ins want kept, ``None`` as long as they were not asked.

    *request* is the view of the whole body; once it was *viewed_whole*, ``None`` says that it is nothing we understand.

    *glance* is the view of a large body without its images, where that was enough. *waited* are the seconds spent on a record that was being prepared.
    """

    incoming: Incoming
    route: RouteSettings
    directives: Directives
    party: Party
    started: float
    viewer: Viewer = _ANY_DEPTH
    heads: Heads = field(default_factory=dict)
    request: ChatRequest | None = None
    viewed_whole: bool = False
    glance: ChatRequest | None = None
    plan: Plan | None = None
    action: Action = "passthrough"
    attempts: int = 0
    waited: float = 0.0
    faults: list[str] = field(default_factory=list)
    rungs: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    status: int = 0
    notes: tuple[Note, ...] | None = None
    trace: Trace = UNTRACED
    id: str = field(default_factory=_new_id)
    """What the exchange is called in the log and at the admin port."""
    upstream_request_id: str = ""
    ended: str = ""
    """How it ended where that was not with a whole answer: client-left, upstream-failed, proxy-failed."""
    settled: bool = False
    mode: str = field(init=False)
    """The request's own wish, else the route's."""

    def __post_init__(self) -> None:
        self.mode = self.directives.mode or self.route.compaction.mode

    @property
    def compaction(self) -> CompactionSettings:
        """
        The route's compaction settings.
        """
        return self.route.compaction

    @property
    def recovery(self) -> RecoverySettings:
        """
        The route's recovery settings.
        """
        return self.route.recovery

    @property
    def model(self) -> str:
        """
        The model asked for, empty where nobody has looked.
        """
        seen = self.request or self.glance
        return seen.model if seen else ""

    async def viewed(self) -> ChatRequest | None:
        """
        Return the view of the client's request, made at most once, ``None`` where it is nothing we understand.
        """
        if self.request is None and not self.viewed_whole:
            self.request = await self.viewer.view(self.incoming.body, whose=self.party.sender)
            self.viewed_whole = True
        return self.request

    async def continues(self) -> bool:
        """
        Tell whether the body goes on from one seen before, which makes its view at once.
        """
        if self.request is None and not self.viewed_whole:
            self.request = await self.viewer.continued(self.incoming.body, whose=self.party.sender)
        return self.request is not None
