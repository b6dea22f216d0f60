"""
Learn how many tokens a model really counts for one of ours, and how wrong the prediction may be.

One value serves one (upstream, model, credential). The ratio is a moving average of the counts that answers and
refusals state; the margins follow the quantile of the residuals, so that about 2 % of the requests turn out larger than
predicted and allowed for. What an upstream adds to every prompt unseen (a template, a gateway's own system text) is a
constant beside the ratio; it is learned from first requests, which have no anchor. Where the true size of the same conversation's last request is known (the anchor), only what
came after it is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from proxy.tokens.families import ModelFamily

RATIO_MINIMUM = 0.4
RATIO_MAXIMUM = 3.0
SMALLEST_SAMPLE = 512
LEAST_SHARE = 0.7  # of the prediction; less is truncation, or tokens hidden in a cache

_FIRST_STEP = 0.8
_LEAST_STEP = 0.25
_TRUSTED_SAMPLES = 3
_PRIOR_SHARE = 0.85
_OVERFLOW_MARGIN = 1.02
_OVERHEAD_STEP = 0.25
_OVERHEAD_SCALE = 3_000  # in larger prompts a constant is lost in the error of the ratio
_OVERHEAD_SHARE = 0.25  # of the prompt it was seen in
_OVERHEAD_MAXIMUM = 4_096
_KEPT_EVERY = 10  # lessons
_KEPT_DRIFT = 0.01  # of the ratio
_COVERED = 0.98  # share of requests that should stay within the margin


@dataclass(frozen=True, slots=True)
class Anchor:
    """
    A request of the same conversation whose true size is known.
    """

    estimate: int
    actual: int


@dataclass(frozen=True, slots=True)
class Margin:
    """
    A share of the prediction that covers most of its error; it moves by quantile tracking.
    """

    value: float
    step: float
    floor: float
    ceiling: float = 0.5

    def after(self, residual: float) -> Margin:
        """
        Return the margin after an error of *residual*: up by much when it was too small, else down by little.
        """
        move = _COVERED if residual > self.value else _COVERED - 1
        return replace(self, value=min(max(self.value + self.step * move, self.floor), self.ceiling))


_ANCHORED = Margin(0.03, 0.01, 0.005)
_UNANCHORED = Margin(0.20, 0.05, 0.03)


@dataclass(frozen=True, slots=True)
class Calibration:
    """
    What was learned of one model's tokens; every lesson makes a new value.
    """

    prior: float = 1.0
    ratio: float = 1.0
    overhead: float = 0.0
    samples: int = 0
    anchored: Margin = _ANCHORED
    unanchored: Margin = _UNANCHORED

    @classmethod
    def of(cls, family: ModelFamily) -> Calibration:
        """
        Start from what is known of the family.
        """
        return cls(prior=family.prior, ratio=family.prior)

    def predict(self, estimate: int, anchor: Anchor | None = None) -> int:
        """
        Return the tokens that the model will count for our *estimate*.
        """
        if anchor is None:
            return round(estimate * self.ratio + self.overhead)
        return max(1, round(anchor.actual + (estimate - anchor.estimate) * self.ratio))

    def expect(self, estimate: int, anchor: Anchor | None = None) -> int:
        """
        Return the tokens against which a low count is held: a prior may be far too high, a truncation is further down.
        """
        expected = self.predict(estimate, anchor)
        return expected if self.samples >= _TRUSTED_SAMPLES else min(expected, estimate)

    def margin(self, anchor: Anchor | None = None) -> float:
        """
        Return the share of a prediction to allow for its error.
        """
        return (self.unanchored if anchor is None else self.anchored).value

    def at_most(self, estimate: int, anchor: Anchor | None = None) -> int:
        """
        Return the prediction with its margin: compare this with a threshold.
        """
        return round(self.predict(estimate, anchor) * (1 + self.margin(anchor)))

    def has_drifted(self, kept: Calibration) -> bool:
        """
        Tell whether starting again from *kept* would lose more than a little.
        """
        return (
            kept.samples == 0
            or self.samples - kept.samples >= _KEPT_EVERY
            or abs(self.ratio / kept.ratio - 1) > _KEPT_DRIFT
        )

    def observe(
        self,
        *,
        estimate: int,
        actual: int | None,
        anchor: Anchor | None = None,
        media: bool = False,
    ) -> Calibration:
        """
        Learn from the size an upstream reported; samples that teach nothing leave the value as it is.
        """
        if actual is None or media or not self._teaches(estimate, actual, anchor):
            return self
        residual = actual / max(1, self.predict(estimate, anchor)) - 1
        samples = self.samples + 1
        if anchor is None:
            overhead = self._next_overhead(estimate, actual)
            ratio, unanchored = self._next_ratio(estimate, actual - overhead), self.unanchored.after(residual)
            return replace(self, overhead=overhead, ratio=ratio, samples=samples, unanchored=unanchored)
        ratio, anchored = self._next_ratio(estimate, actual - self.overhead), self.anchored.after(residual)
        return replace(self, ratio=ratio, samples=samples, anchored=anchored)

    def observe_overflow(self, *, estimate: int, prompt: int | None = None, limit: int | None = None) -> Calibration:
        """
        Learn from a refusal: from the count of the *prompt* it states, else from the *limit* that was passed.
        """
        if prompt:
            return self.observe(estimate=estimate, actual=prompt)
        if not limit or estimate < SMALLEST_SAMPLE:
            return self
        least = (limit * _OVERFLOW_MARGIN - self.overhead) / estimate
        if not self.ratio < least <= RATIO_MAXIMUM:
            return self
        return replace(self, ratio=least)

    def to_dict(self) -> dict[str, float]:
        """
        Return what must be kept.
        """
        return {
            "prior": self.prior,
            "ratio": self.ratio,
            "overhead": self.overhead,
            "samples": self.samples,
            "anchored": self.anchored.value,
            "unanchored": self.unanchored.value,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """
        Return the value that was kept.

        Raises ``ValueError`` where *data* is none.
        """
        try:
            return cls(
                prior=_within(data["prior"], RATIO_MINIMUM, RATIO_MAXIMUM),
                ratio=_within(data["ratio"], RATIO_MINIMUM, RATIO_MAXIMUM),
                overhead=_within(data["overhead"], 0, _OVERHEAD_MAXIMUM),
                samples=max(0, int(data["samples"])),
                anchored=_at(_ANCHORED, data["anchored"]),
                unanchored=_at(_UNANCHORED, data["unanchored"]),
            )
        except (KeyError, TypeError, OverflowError) as exc:
            raise ValueError("this is no calibration") from exc

    def _teaches(self, estimate: int, actual: int, anchor: Anchor | None) -> bool:
        if estimate < SMALLEST_SAMPLE or actual <= 0:
            return False
        return actual >= LEAST_SHARE * self.expect(estimate, anchor)

    def _next_overhead(self, estimate: int, actual: int) -> float:
        if self.samples < _TRUSTED_SAMPLES:  # the first ones cannot tell a constant from a ratio
            return self.overhead
        step = _OVERHEAD_STEP * min(1.0, _OVERHEAD_SCALE / estimate)
        moved = self.overhead + step * (actual - self.ratio * estimate - self.overhead)
        return _within(moved, 0, min(_OVERHEAD_SHARE * actual, _OVERHEAD_MAXIMUM))

    def _next_ratio(self, estimate: int, scaled: float) -> float:
        samples = self.samples + 1
        step = _FIRST_STEP if samples == 1 else max(_LEAST_STEP, 1 / (samples + 1))
        seen = _within(scaled / estimate, RATIO_MINIMUM, RATIO_MAXIMUM)
        ratio = self.ratio + step * (seen - self.ratio)
        return ratio if samples >= _TRUSTED_SAMPLES else max(ratio, _PRIOR_SHARE * self.prior)


def _within(value: Any, lowest: float, highest: float) -> float:
    number = float(value)
    if number != number:  # noqa: PLR0124 - NaN is the one number that differs from itself
        raise ValueError("this is no number")
    return min(max(number, lowest), highest)


def _at(margin: Margin, value: Any) -> Margin:
    return replace(margin, value=_within(value, margin.floor, margin.ceiling))
