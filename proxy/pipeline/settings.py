"""
Settings of an exchange: when to compact, how to recover, and which route says so.

Those of ``recovery/`` and ``compaction/`` stand here as well, since pure rooms get plain values.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from proxy.summaries.settings import SummarizerSettings
from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Regex, Seconds
from proxy.tokens.table import ENCODING_NAME
from proxy.windows.tiers import TIERS


def _check_strip(text: str) -> str:
    if not text.startswith("/") or not text.strip("/"):
        raise ValueError("should be the beginning of a path, such as /local")
    return text


def _check_tiers(tiers: tuple[int, ...]) -> tuple[int, ...]:
    if not tiers or min(tiers) < 1:
        raise ValueError("should be a list of token numbers above 0")
    return tuple(sorted(set(tiers), reverse=True))


class CanonicalRule(Settings):
    """
    A rewriting of message text before it is digested.
    """

    pattern: Regex = Field(description="Regex of what a client changes in old turns.")
    replacement: str = Field(default="", description="What stands in its place in the digest.")


class CompactionSettings(Settings):
    """
    When and how hard to compact.
    """

    mode: Literal["off", "observe", "recover", "compact"] = Field(
        default="compact",
        description="`off` forwards, `observe` only counts, `recover` acts after an error only, `compact` before it as well.",
    )
    engine: str = Field(
        default="compressor",
        min_length=1,
        description="`compressor`, `window` (plain truncation) or a plug-in's engine.",
    )
    threshold_percent: float = Field(
        default=0.50, gt=0, le=1, description="Compact at this share of the context window."
    )
    threshold_tokens: int | None = Field(
        default=None, ge=1, description="Absolute threshold; wins over percentage and floor, up to what is usable."
    )
    minimum_threshold_tokens: int = Field(default=64_000, ge=0, description="Floor of the threshold by percentage.")
    target_ratio: float = Field(
        default=0.40, gt=0, lt=1, description="Size aimed at, as a share of the threshold over system and tools."
    )
    protect_first_n: int = Field(
        default=3, ge=0, description="Rows kept at the front by the first compaction, the system row counted."
    )
    protect_last_n: int = Field(default=20, ge=0, description="Newest rows that pruning leaves whole while they fit.")
    summary_target_ratio: float = Field(
        default=0.20, ge=0.10, le=0.80, description="Tail that is kept, as a share of the threshold."
    )
    minimum_gain: float = Field(default=0.05, ge=0, lt=1, description="A compaction that gains less is discarded.")
    prepare_at: float | None = Field(
        default=0.90,
        gt=0,
        le=1,
        description="Share of the threshold at which the next record is made in the background; null: never.",
    )
    keepalive_after: Seconds = Field(
        default=40.0, gt=0, description="After this long a stream that waits for us is kept alive with SSE comments."
    )
    rederive_depth: int = Field(
        default=4, ge=1, description="Folds after which the summary is made from the originals again."
    )
    roles: Literal["auto", "lenient", "strict"] = Field(
        default="auto",
        description="Whether the server insists on pairs, a user row first and alternation; `auto` learns it.",
    )
    pin: tuple[Regex, ...] = Field(default=(), description="Regexes; user text that matches one is kept verbatim.")
    hook_timeout: Seconds = Field(
        default=5.0, gt=0, description="How long a plug-in may think about what is to be kept."
    )
    canonicalize: tuple[CanonicalRule, ...] = Field(
        default=(), description="Rewritings before digests, for clients that change old turns."
    )
    focus_command: str | None = Field(
        default=None,
        min_length=1,
        description="A last user message that begins with it, such as /compact, forces a compaction with a focus.",
    )
    ask_usage: Literal["never", "compacted", "always"] = Field(
        default="compacted",
        description="When to ask for usage in streams where the client did not (that frame is taken out again).",
    )
    redact: bool = Field(
        default=True, description="Mask secrets in what is summarised and stored, never in what passes through."
    )
    summarizer: SummarizerSettings = Field(default=SummarizerSettings(), description="Who writes summaries.")


class PatternRule(Settings):
    """
    A wording of an upstream's refusal that the built-in rules do not know.
    """

    status: int | None = Field(default=None, ge=100, le=599, description="HTTP status; null: any.")
    regex: Regex = Field(description="Regex searched in the body.")
    label: Literal[
        "context_overflow",
        "payload_too_large",
        "long_context_tier",
        "output_cap",
        "image_too_large",
        "content_filter",
        "rate_limit",
        "billing_quota",
        "overloaded_5xx",
        "auth",
        "invalid_request_other",
        "other",
    ] = Field(description="What such a refusal means.")


class RecoverySettings(Settings):
    """
    What is tried after a refusal, and for how long.
    """

    max_attempts: int = Field(default=4, ge=1, le=4, description="Upstream tries of one request, the first included.")
    deadline: Seconds = Field(
        default=300.0, gt=0, description="No new try after this long; a running one is never cut."
    )
    clamp_max_tokens: bool = Field(
        default=True, description="Lower max_tokens where that alone is why the request does not fit."
    )
    shrink_for_rate_limits: bool = Field(
        default=True, description="Compact on a rate limit that waiting can never help: Requested above Limit."
    )
    limit_ttl: Seconds = Field(default=86400.0, gt=0, description="How long limits that errors stated are believed.")
    tiers: Annotated[tuple[int, ...], AfterValidator(_check_tiers)] = Field(
        default=TIERS, description="Context tiers, in tokens, tried downwards where an error states no limit."
    )
    patterns: tuple[PatternRule, ...] = Field(
        default=(), description="Rules of your own, tried before the built-in ones."
    )


class MatchSettings(Settings):
    """
    Which requests a route takes; what is left out matches everything.
    """

    model: str | None = Field(default=None, min_length=1, description="Glob of the model name.")
    path: str | None = Field(default=None, min_length=1, description="Glob of the request path.")
    header: dict[str, str] = Field(default_factory=dict, description="Globs of header values, by header name.")

    @property
    def everything(self) -> bool:
        """
        Whether no request is left out.
        """
        return self.model is None and self.path is None and not self.header


class RouteSettings(Settings):
    """
    Where matching requests go, and what is different for them; the first match wins.
    """

    name: str = Field(min_length=1, description="Name in metrics and logs.")
    match: MatchSettings = Field(default=MatchSettings(), description="Which requests it takes.")
    strip: Annotated[str, AfterValidator(_check_strip)] | None = Field(
        default=None, description="Beginning of the path that is taken off."
    )
    upstream: str = Field(min_length=1, description="Name of the upstream.")
    compaction: CompactionSettings = Field(
        default=CompactionSettings(), description="Any settings of `compaction`, over the defaults of all routes."
    )
    recovery: RecoverySettings = Field(
        default=RecoverySettings(), description="Any settings of `recovery`, over the defaults of all routes."
    )


class PriceSettings(Settings):
    """
    What a model costs, in US dollars for a million tokens.
    """

    input: float = Field(ge=0, description="Prompt tokens.")
    output: float = Field(ge=0, description="Completion tokens.")
    cached: float | None = Field(default=None, ge=0, description="Prompt tokens read from the cache; null: as `input`.")


def _check_encoding(name: str) -> str:
    if name != ENCODING_NAME:
        raise ValueError(
            f"can only be {ENCODING_NAME}, the one vocabulary in the package: "
            "leave it out, other tokenizers are learned from the usage that servers report"
        )
    return name


class ModelSettings(Settings):
    """
    What is known of a model, over the built-in table.
    """

    context_window: int | None = Field(default=None, ge=1, description="Context window in tokens.")
    max_output: int | None = Field(
        default=None,
        ge=1,
        description="Largest answer in tokens: a request that asks for more asks for that many, where `clamp_max_tokens` is on.",
    )
    encoding: Annotated[str, AfterValidator(_check_encoding)] | None = Field(
        default=None,
        description="`o200k_base`, the only vocabulary in the package; other tokenizers are met by calibration.",
    )
    prices: PriceSettings | None = Field(
        default=None, description="What it costs, over the built-in table; all zero for a model of your own."
    )
