"""
Settings of the store.
"""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Bytes, Seconds

_NAMESPACE = re.compile(r"credential|shared|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_STORE_URL = re.compile(r"memory://|sqlite:///.+|(rediss?|unix)://.+")


def _check_namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise ValueError("should be credential, shared or header:NAME")
    return text


def _check_store_url(text: str) -> str:
    if not _STORE_URL.fullmatch(text):
        raise ValueError(
            "should be memory://, sqlite:///PATH (four slashes before an absolute path) or redis://HOST:PORT/N"
        )
    return text


class StoreSettings(Settings):
    """
    Where compaction records are kept, how long, and for whom.
    """

    url: Annotated[str, AfterValidator(_check_store_url)] = Field(
        default="sqlite:///~/.local/state/concertina/state.db",
        repr=False,  # a Redis URL may carry a password
        description="`memory://`, `sqlite:///PATH` or `redis://HOST:PORT/N` (several replicas).",
    )
    secret: str | None = Field(
        default=None,
        repr=False,
        description="Seeds the digests of conversations; null: made once and kept in the store, so that replicas on one Redis share it.",
    )
    secret_file: Path | None = Field(default=None, description="File that holds the secret.")
    ttl: Seconds = Field(default=7 * 86400.0, gt=0, description="How long a record that nobody resumes is kept.")
    max_bytes: Bytes = Field(
        default=1024**3, gt=0, description="Size of the store; the oldest records go first when it is reached."
    )
    encryption_key: str | None = Field(
        default=None,
        repr=False,
        description="Encrypts summaries at rest; null: they are kept as text, in files of mode 0600.",
    )
    encryption_key_file: Path | None = Field(default=None, description="File that holds the encryption key.")
    keep_views: bool = Field(
        default=False, description="Keep views from before and after a compaction for the dashboard."
    )
    archive: bool = Field(default=False, description="Keep what is folded, for `concertina sessions export`.")
    namespace: Annotated[str, AfterValidator(_check_namespace)] = Field(
        default="credential",
        description="Who shares records: one `credential`, everybody (`shared`), or by `header:NAME` (needs client_keys).",
    )
