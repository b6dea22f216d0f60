"""
What the simulator is: its window, its manners, its wording.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from proxy.simulator.wordings import WORDINGS
from proxy.telemetry.settings import Settings

Alternation = Literal["off", "on", "as_client"]


class SimulatorSettings(Settings):
    """
    The make-believe server.
    """

    window: int | None = Field(default=None, ge=1, description="Context window in tokens; none: no limit.")
    max_bytes: int | None = Field(
        default=None, ge=1, description="Largest body accepted; larger ones are answered 413."
    )
    max_output: int | None = Field(default=None, ge=1, description="Largest max_tokens accepted.")
    wording: str = Field(default="openai", description="How an overflow is said, a name from the table of wordings.")
    early_413: bool = Field(
        default=False, description="Refuse large bodies by their Content-Length, unread, as web servers do."
    )
    bytes_wording: Literal["nginx", "json"] = Field(default="nginx", description="How a 413 for bytes is said.")
    strict: bool = Field(default=True, description="Refuse what strict providers refuse; else only note it.")
    alternation: Alternation = Field(
        default="off",
        description="Judge user/assistant alternation: on, off, or as_client (noted, never refused: the client decides).",
    )
    open_calls_at_end: bool = Field(default=False, description="Allow a last row whose tool calls have no results.")
    token_ratio: float = Field(default=1.0, gt=0, description="Own tokens per counted token.")
    hidden_tokens: int = Field(default=0, ge=0, description="Tokens added to every prompt, as hidden templates do.")
    delay_seconds: float = Field(default=0.0, ge=0, description="Wait before every answer.")
    chunk_delay_seconds: float = Field(default=0.0, ge=0, description="Wait between the chunks of a stream.")
    stream_comments: bool = Field(default=False, description="Begin streams with comments, as some gateways do.")
    models: tuple[str, ...] = Field(default=("sim-model",), min_length=1, description="Names that /v1/models lists.")
    models_field: str | None = Field(
        default=None, description="Where /v1/models states the window: max_model_len, context_length, meta.n_ctx, ..."
    )
    native_window: bool = Field(default=False, description="State the window at /props and /api/show.")
    api_keys: tuple[str, ...] = Field(default=(), description="Bearer keys accepted; none: all.")
    summary_model: str | None = Field(default=None, description="Calls of this model are summariser calls.")
    summary_markers: tuple[str, ...] = Field(
        default=(), description="Calls without tools whose texts hold all of these are summariser calls."
    )
    summary_header: str | None = Field(default=None, description="Calls with this header are summariser calls.")
    summary_field: str | None = Field(default=None, description="Calls with this top-level field are summariser calls.")
    summary_tokens: int = Field(default=400, ge=20, description="Size of the summaries.")
    remember: int = Field(default=10_000, ge=1, description="How many requests are remembered.")

    @field_validator("wording")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in WORDINGS:
            raise ValueError(f"unknown wording {value!r}; known: {', '.join(WORDINGS)}")
        return value
