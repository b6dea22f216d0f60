"""
Settings of the log.
"""

from typing import Literal

from pydantic import Field

from proxy.telemetry.settings import Settings


class LogSettings(Settings):
    """
    What is logged, and in which shape.
    """

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe event that is logged."
    )
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="`json` for machines, `console` for people, `auto` by whether stdout is a terminal."
    )
