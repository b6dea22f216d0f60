"""
Settings of the edge: what a client may send, and how long the proxy drains.
"""

from pydantic import Field

from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Bytes, Seconds


class LimitsSettings(Settings):
    """
    Limits on what clients send.
    """

    max_body: Bytes = Field(default=64 * 1024 * 1024, gt=0, description="Largest request body; a larger one gets 413.")
    headers: Bytes = Field(
        default=64 * 1024, gt=0, description="Largest request head, all headers together; a larger one gets 431."
    )
    header_timeout: Seconds = Field(
        default=30.0,
        gt=0,
        description="How long a client may take to send its headers, and be silent within the body of a chat.",
    )
    send_timeout: Seconds = Field(
        default=300.0,
        gt=0,
        description="How long a client may take not one byte of what waits for it before its connection is reset and its upstream call ended.",
    )
    json_depth: int = Field(
        default=200,
        ge=1,
        description="Deepest nesting of a body that is looked into; a deeper one is forwarded as it is.",
    )
    recent_bodies: Bytes = Field(
        default=64 * 1024 * 1024,
        ge=0,
        description="Memory for the latest long bodies with their parsed content, so that the next turn of a conversation costs what is new in it; 0: none.",
    )
    inflight: int = Field(default=1000, ge=1, description="Exchanges at a time; one more gets 503.")
    drain: Seconds = Field(default=30.0, ge=0, description="How long running exchanges may end after SIGTERM.")
