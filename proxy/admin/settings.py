"""
Settings of the admin port.
"""

from pathlib import Path

from pydantic import Field

from proxy.telemetry.address import Address
from proxy.telemetry.settings import Settings

DEFAULT_LISTEN = "127.0.0.1:8081"


class AdminSettings(Settings):
    """
    Where the metrics, the admin API and the dashboard are served, and to whom.
    """

    listen: Address | None = Field(
        default=DEFAULT_LISTEN,
        description="Address of the admin port; null switches it off. Where this very default is taken, the proxy serves without one.",
    )
    token: str | None = Field(
        default=None, repr=False, description="Bearer token; required as soon as the port is bound beyond loopback."
    )
    token_file: Path | None = Field(default=None, description="File that holds the token.")
    keep_exchanges: int = Field(
        default=1000, ge=1, le=100_000, description="Finished exchanges that stay in memory for the admin port."
    )
