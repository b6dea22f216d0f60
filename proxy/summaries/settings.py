"""
How summaries are made: the ``compaction.summarizer`` settings.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Seconds


class SummarizerSettings(Settings):
    """
    Who summarises, how long a request waits for it, and what happens after a failure.
    """

    kind: Literal["llm", "extractive"] = Field(
        default="llm", description="llm asks a model; extractive selects lines itself and needs none."
    )
    model: str | None = Field(default=None, description="The model asked; null: the request's own model.")
    upstream: str | None = Field(
        default=None,
        description="The upstream asked; null: the request's own, with its credential. Another one needs its own api_keys.",
    )
    wait: Seconds = Field(
        default=30.0, ge=0, description="How long a request waits for a summary; then the deterministic plan goes out."
    )
    timeout: Seconds = Field(default=120.0, gt=0, description="How long one summary may take.")
    cooldown: Seconds = Field(
        default=600.0, ge=0, description="How long the model is left alone after it failed; extractive stands in."
    )
    max_calls: int = Field(default=4, ge=1, le=32, description="Model calls one compaction may make.")
    in_place: bool = Field(
        default=False,
        description="Ask within the conversation itself, so that the upstream's prompt cache is read (the request's own model only).",
    )
    max_concurrent: int = Field(default=4, ge=1, description="Summaries made at the same time, per route.")
    instructions: str | None = Field(default=None, description="Text added to the prompt.")
