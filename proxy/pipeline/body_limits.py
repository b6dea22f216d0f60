"""
The second budget, in bytes: what a gateway in front of an upstream lets through, configured or learned from a 413.
"""

from __future__ import annotations

from proxy.compaction.layout import Layout, with_edits
from proxy.compaction.media import media_count
from proxy.compaction.prune import media_edits
from proxy.engines.sizer import Sizer
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.scene import Scene
from proxy.tokens.counter import TokenCounter
from proxy.windows.learned import BYTES, Claim

ROOMY_SHARE = 0.75
"""How full a body is made that was compacted for its bytes, so that not every turn has to be."""


class BodyLimits:
    """
    Answers how many bytes a body may have, for one (upstream, credential).
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def limit(self, exchange: Exchange) -> int | None:
        """
        Return the most bytes that a body may have, as far as is known.
        """
        configured, stated = self._knowledge.configured_body(exchange), self._knowledge.stated(exchange, BYTES)
        if configured is None or stated is None:
            return stated if configured is None else configured
        return min(configured, stated)

    def refused(self, exchange: Exchange, *, stated: int, body: bytes) -> None:
        """
        Believe the limit that a 413 states, where it explains the refusal.
        """
        # A number that the request itself holds may be an echo.
        text = str(stated) if str(stated).encode() in body else ""
        claim = Claim(stated, exchange.party.credential, prompt=stated, window=len(body), text=text)
        self._knowledge.learn_limit(exchange, BYTES, claim)

    def accepted(self, exchange: Exchange, size: int) -> None:
        """
        Note that a body of this size passed; it refutes a smaller limit.
        """
        self._knowledge.accept(exchange, BYTES, size)


def is_too_heavy(scene: Scene, layout: Layout | None, limit: int | None, *, counter: TokenCounter) -> bool:
    """
    Tell whether the request in this layout is sure to meet a 413.
    """
    if limit is None or len(scene.request.body) <= limit:
        return False
    return layout is None or _weight(scene, layout, counter) > limit


def roomy_target(scene: Scene, layout: Layout | None, limit: int, *, counter: TokenCounter) -> int:
    """
    Return the bytes to aim at: well below *limit* where old media alone make the difference, else the limit.
    """
    roomy = int(ROOMY_SHARE * limit)
    base = layout or Layout(head_end=0, cut=0, summary=None)
    newest = max((index for index, row in enumerate(scene.rows) if media_count(row)), default=0)
    lightest = with_edits(base, media_edits(scene.rows, range(base.cut, newest), keep=0))
    return roomy if _weight(scene, lightest, counter) <= roomy else limit


def _weight(scene: Scene, layout: Layout, counter: TokenCounter) -> int:
    return Sizer(scene.rows, counter, fixed=scene.fixed).bytes(layout) + scene.bytes_beside
