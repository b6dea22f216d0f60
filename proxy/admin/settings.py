"""
Settings of the admin port.
"""

from pathlib import Path

from pydantic import Field

from proxy.telemetry.address import Address
from proxy.telemetry.settings import Settings


class AdminSettings(Settings):
    """
    Where the metrics, the admin API and the dashboard are served, and to whom.
    """

    listen: Address | None = Field(
        default="127.0.0.1:8081", description="Address of the admin port; null switches it off."
    )
    token: str | None = Field(
        default=None, repr=False, description="Bearer token; required as soon as the port is bound beyond loopback."
    )
    token_file: Path | None = Field(default=None, description="File that holds the token.")
