"""
Every metric, by name; labels are few and of low cardinality, and never carry text of a message.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge

from proxy.telemetry.meters import Counter, Histogram

SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120)
TOKENS = tuple(4**power for power in range(14))
DURATIONS = tuple(0.01 * 2**power for power in range(14))
FIRST_TOKENS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Buckets as the GenAI conventions want them, these three."""
ROWS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
RATIOS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.5, 2.0)


class Metrics:
    """
    The metrics of one process, on a registry of their own.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.requests = Counter(
            "concertina_requests_total",
            "Exchanges, by route and by what was done.",
            ("route", "action"),
            registry=self.registry,
        )
        self.compactions = Counter(
            "concertina_compactions_total",
            "Compactions, by route, stage (prune, summary, taken-up, prepared, repaired, late) and outcome.",
            ("route", "stage", "outcome"),
            registry=self.registry,
        )
        self.tokens_removed = Counter(
            "concertina_tokens_removed_total", "Tokens of ours that were not sent.", ("route",), registry=self.registry
        )
        self.tokens = Counter(
            "concertina_tokens_total",
            "Tokens as upstreams count them: before, prompt, cached, completion, summary_prompt, summary_completion.",
            ("route", "model", "kind"),
            registry=self.registry,
        )
        self.cost = Counter(
            "concertina_cost_dollars_total",
            "US dollars: before (had the whole history been sent), after, summary.",
            ("route", "model", "kind"),
            registry=self.registry,
        )
        self.token_usage = Histogram(
            "gen_ai_client_token_usage",
            "Tokens of a call that was answered, by type (input, output); a name of OpenTelemetry.",
            ("gen_ai_request_model", "gen_ai_token_type"),
            buckets=TOKENS,
            registry=self.registry,
        )
        self.operation_seconds = Histogram(
            "gen_ai_client_operation_duration_seconds",
            "Time of an exchange, to the last byte of its answer; a name of OpenTelemetry.",
            ("gen_ai_request_model", "error_type"),
            buckets=DURATIONS,
            registry=self.registry,
        )
        self.first_token_seconds = Histogram(
            "gen_ai_server_time_to_first_token_seconds",
            "Time until a stream carried its first content; a name of OpenTelemetry.",
            ("gen_ai_request_model",),
            buckets=FIRST_TOKENS,
            registry=self.registry,
        )
        self.summary_seconds = Histogram(
            "concertina_summary_seconds", "Time a summary took.", buckets=SECONDS, registry=self.registry
        )
        self.summary_failures = Counter(
            "concertina_summary_failures_total", "Summaries that failed.", ("reason",), registry=self.registry
        )
        self.overflow = Counter(
            "concertina_overflow_total", "Refusals of upstreams, by kind.", ("kind",), registry=self.registry
        )
        self.recovered = Counter(
            "concertina_recovered_total",
            "Requests answered after a refusal, by the rung that did it.",
            ("rung",),
            registry=self.registry,
        )
        self.lookups = Counter(
            "concertina_record_lookups_total",
            "Look-ups of records (hit, pending, miss).",
            ("result",),
            registry=self.registry,
        )
        self.first_divergence = Histogram(
            "concertina_first_divergence_rows",
            "First row in which a history differs from one that the same client sent before.",
            ("route",),
            buckets=ROWS,
            registry=self.registry,
        )
        self.estimate_ratio = Histogram(
            "concertina_estimate_ratio",
            "Real prompt tokens over our estimate of them.",
            buckets=RATIOS,
            registry=self.registry,
        )
        self.overhead_seconds = Histogram(
            "concertina_overhead_seconds",
            "Time spent before the first upstream call.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.upstream_seconds = Histogram(
            "concertina_upstream_seconds", "Time until the upstream's headers.", buckets=SECONDS, registry=self.registry
        )
        self.inflight = Gauge(
            "concertina_inflight", "Exchanges in flight.", registry=self.registry, multiprocess_mode="livesum"
        )
        self._watched: list[tuple[Gauge, Callable[[], float]]] = []

    def watch(self, gauge: Gauge, value: Callable[[], float]) -> None:
        """
        Take *gauge* from *value* whenever it is asked for, rather than at every change.
        """
        gauge.set_function(value)
        self._watched.append((gauge, value))

    def publish(self) -> None:
        """
        Write the watched gauges where other processes read them.
        """
        for gauge, value in self._watched:
            gauge.set(value())
