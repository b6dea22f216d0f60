"""
Settings of the summariser.
"""

from typing import Literal

from pydantic import Field

from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Seconds


class SummarizerSettings(Settings):
    """
    Who writes summaries, and how long anybody waits for one.
    """

    kind: Literal["llm", "extractive"] = Field(
        default="llm", description="`llm` asks a model, `extractive` picks from the originals and needs none."
    )
    model: str | None = Field(
        default=None, min_length=1, description="Model that writes summaries; null: the request's own model."
    )
    upstream: str | None = Field(
        default=None,
        min_length=1,
        description="Upstream that is asked; null: the request's own, with its credential. Another one needs api_keys of its own.",
    )
    wait: Seconds = Field(
        default=30.0, ge=0, description="How long a request waits for a summary; then the deterministic plan goes out."
    )
    timeout: Seconds = Field(default=120.0, gt=0, description="How long a summary may take.")
    cooldown: Seconds = Field(
        default=600.0, ge=0, description="How long `extractive` stands in after the model failed."
    )
    max_calls: int = Field(default=4, ge=1, description="Model calls a compaction may cost.")
    in_place: bool = Field(
        default=False,
        description="Ask within the conversation itself, so that the upstream's prompt cache is read (the request's own model only).",
    )
    max_concurrent: int = Field(default=4, ge=1, description="Summaries made at a time.")
    instructions: str | None = Field(default=None, description="Text added to the summariser's prompt.")
