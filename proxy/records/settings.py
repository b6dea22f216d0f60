"""
Settings of the store.
"""

from __future__ import annotations

from pydantic import Field, SecretStr

from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Bytes, Seconds

DEFAULT_URL = "sqlite:///~/.local/state/concertina/state.db"


class StoreSettings(Settings):
    """
    Where compaction records are kept, for how long, and who shares them.
    """

    url: str = Field(
        default=DEFAULT_URL,
        repr=False,  # it may carry the password of a Redis
        pattern=r"^(memory|sqlite|rediss?|unix)://",
        description="memory://, sqlite:///~/path, sqlite:////absolute/path, or redis://host:port/db for several replicas.",
    )
    secret: SecretStr | None = Field(
        default=None,
        description="Seeds digests. Without it one is made once and kept in the store, so that replicas share it.",
    )
    ttl: Seconds = Field(default=7 * 86_400.0, gt=0, description="How long a record that nobody uses is kept.")
    max_bytes: Bytes = Field(default=1 << 30, gt=0, description="How many bytes all records may take.")
    encryption_key: SecretStr | None = Field(default=None, description="Encrypts records at rest. Not available yet.")
    keep_views: bool = Field(default=False, description="Keep before and after views for the dashboard.")
    archive: bool = Field(default=False, description="Keep what is folded, for export and recall.")
    namespace: str = Field(
        default="credential",
        pattern=r"^(credential|shared|header:[A-Za-z0-9_-]+)$",
        description="Who shares records: credential, shared, or header:NAME (needs client_keys).",
    )
