"""
What is known of one model at one upstream for one credential, and how it is written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proxy.chat.json import dumps
from proxy.tokens.calibration import Calibration
from proxy.windows.resolve import Window


@dataclass(slots=True)
class Facts:
    """
    What is known of one (upstream, model, credential).
    """

    calibration: Calibration
    of: tuple[str, str, str] = ("", "", "")
    """Upstream, model and digest of the credential."""
    window: Window | None = None
    """The window that was found last."""
    strict: bool = False
    refuses_usage: bool = False
    fills: bool = False
    """Whether it answers a prompt that fills the window with a few tokens instead of an error."""
    refused: int | None = None
    """Our tokens of the smallest request that was refused for its size, whatever the reason given."""
    loading: asyncio.Task[None] | None = None
    """The one reading of what an earlier process learned; who leaves meanwhile does not end it for the others."""
    kept: Calibration | None = None
    """The calibration as it stands in the store."""

    @property
    def loaded(self) -> bool:
        """
        Whether what an earlier process learned is known.
        """
        return self.loading is not None and self.loading.done()

    def written(self) -> bytes:
        """
        Return what the store keeps, and note what that was.
        """
        self.kept = self.calibration
        return dumps(
            {
                "calibration": self.calibration.to_dict(),
                "strict": self.strict,
                "refuses_usage": self.refuses_usage,
                "fills": self.fills,
                "refused": self.refused,
            }
        )

    def read(self, data: Mapping[str, Any]) -> None:
        """
        Take over what was kept.

        Raises ``ValueError``, ``KeyError`` or ``TypeError`` where *data* is nothing of the kind.
        """
        self.calibration = self.kept = Calibration.from_dict(data["calibration"])
        self.strict = data.get("strict") is True
        self.refuses_usage = data.get("refuses_usage") is True
        self.fills = data.get("fills") is True
        self.refused = data["refused"] if isinstance(data.get("refused"), int) else None
