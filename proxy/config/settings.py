"""
All settings in one frozen tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from proxy.admin.settings import AdminSettings
from proxy.config.merge import complete_routes
from proxy.pipeline.settings import CompactionSettings, ModelSettings, RecoverySettings, RouteSettings
from proxy.records.settings import StoreSettings
from proxy.server.settings import LimitsSettings
from proxy.telemetry.address import Address
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.settings import Settings
from proxy.upstream.settings import ApiKey, UpstreamSettings


def _check_absolute(path: Path) -> Path:
    # Code is loaded from it, so it must not depend on the folder that somebody happens to stand in.
    if not path.is_absolute():
        raise ValueError("should be an absolute path")
    return path


def _check_otlp(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError("should be a URL that begins with http:// or https://")
    return text


class AppSettings(Settings):
    """
    Everything ``concertina serve`` can be told; each route carries complete settings.
    """

    listen: Address = Field(default="127.0.0.1:8080", description="Address that clients connect to.")
    workers: int = Field(default=1, ge=1, description="Processes that share the port.")
    admin: AdminSettings = Field(default=AdminSettings(), description="The admin port.")
    client_keys: tuple[ApiKey, ...] = Field(
        default=(),
        repr=False,
        description="When set, clients must present one, as bearer or in x-concertina-key.",
    )
    client_keys_file: Path | None = Field(default=None, description="File that holds client_keys, one a line.")
    disclose: bool = Field(default=True, description="Add x-concertina-* headers to responses.")
    plugins_dir: Annotated[Path, AfterValidator(_check_absolute)] | None = Field(
        default=None, description="Folder of plug-ins, as an absolute path; null: none."
    )
    log: LogSettings = Field(default=LogSettings(), description="The log.")
    otlp: Annotated[str, AfterValidator(_check_otlp)] | None = Field(
        default=None, description="OpenTelemetry endpoint; null: no traces."
    )
    limits: LimitsSettings = Field(default=LimitsSettings(), description="Limits on what clients send.")
    store: StoreSettings = Field(default=StoreSettings(), description="Where compaction records are kept.")
    upstreams: dict[str, UpstreamSettings] = Field(
        default_factory=dict, description="Servers behind the proxy, by name; the first takes what no route matches."
    )
    models: dict[str, ModelSettings] = Field(
        default_factory=dict, description="Overrides of the built-in table of models, by glob."
    )
    compaction: CompactionSettings = Field(
        default=CompactionSettings(), description="When and how to compact: the defaults of every route."
    )
    recovery: RecoverySettings = Field(
        default=RecoverySettings(), description="What to do after a refusal: the defaults of every route."
    )
    routes: tuple[RouteSettings, ...] = Field(
        default=(), description="First match wins; a request that matches none goes to the first upstream."
    )

    @model_validator(mode="before")
    @classmethod
    def _routes_are_complete(cls, data: Any) -> Any:
        """
        Lay each route's settings over the defaults before anything is checked.
        """
        return {**data, "routes": complete_routes(data)} if isinstance(data, Mapping) else data
