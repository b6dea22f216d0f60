"""
Tell of patterns in the settings that take too long over what clients and servers write.
"""

from __future__ import annotations

import structlog

from proxy.chat.patterns import Patience

log = structlog.get_logger()


def tell_late(patience: Patience, setting: str, *, route: str) -> None:
    """
    Log where the patterns of a *setting* were not searched to their end.
    """
    if patience.late:
        log.warning("pattern.too_slow", setting=setting, route=route)
