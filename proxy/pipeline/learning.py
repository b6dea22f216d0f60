"""
What answers and refusals teach: token ratios, anchors, limits, strict roles, silent truncation.
"""

from __future__ import annotations

import structlog

from proxy.pipeline.body_limits import BodyLimits
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.floor import least_bytes, least_window
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.output_limits import OutputLimits, thinking_budget
from proxy.pipeline.plan import Plan
from proxy.pipeline.scene import Scene
from proxy.pipeline.truncations import Truncations
from proxy.pipeline.watching import Seen
from proxy.recovery.attempt import Situation
from proxy.recovery.fault import Fault, Label
from proxy.recovery.targets import LONG_CONTEXT_WINDOW
from proxy.telemetry.metrics import Metrics
from proxy.tokens.calibration import Anchor
from proxy.tokens.media import carries_media, known_to_carry_media
from proxy.windows.learned import LONG_TIER, Claim
from proxy.windows.truncation import Sighting, filled_by

log = structlog.get_logger()
SIZE_FAULTS = frozenset({Label.CONTEXT_OVERFLOW, Label.PAYLOAD_TOO_LARGE, Label.LONG_CONTEXT_TIER})
MOST_HIDDEN = 65_536
"""Tokens that an upstream may add unseen; beyond them a prompt without media has no more tokens than bytes."""
NEAR_THRESHOLD = 0.7
"""From this share of the threshold on, the real size of a request decides whether the next turn is compacted."""


class Learning:
    """
    Turns what upstreams say into what is known.
    """

    def __init__(self, knowledge: Knowledge, *, metrics: Metrics) -> None:
        self._knowledge = knowledge
        self._bodies = BodyLimits(knowledge)
        self._outputs = OutputLimits(knowledge)
        self._metrics = metrics
        self._truncations = Truncations(knowledge, metrics=metrics)

    def situation(self, exchange: Exchange, plan: Plan, *, least: int) -> Situation:
        """
        Return what the ladder has to know before it starts, in our tokens; *least* are those that cannot be left out.
        """
        scene = plan.scene
        if scene is None:
            raise ValueError("a plan that was not measured cannot be recovered")
        data = scene.request.data
        accepted = self._knowledge.largest_accepted(exchange, scene.request.model)
        return Situation(
            window_tokens=scene.budget.window,
            asked_output=scene.request.asked_output,
            thinking_budget=thinking_budget(data),
            max_body=self._bodies.limit(exchange),
            largest_accepted=int(accepted / scene.scale),
            least_window=least_window(least, scene.request.asked_output),
            least_bytes=least_bytes(scene.rows, beside=scene.bytes_beside),
            window_known=scene.window.source != "default",
            minimum_gain=exchange.compaction.minimum_gain,
            tries=exchange.attempts,
        )

    def refused(self, exchange: Exchange, plan: Plan, fault: Fault) -> None:
        """
        Learn from a refusal, and tell the world about wordings that no rule knows.
        """
        scene = plan.scene
        if not fault.known:
            log.info(
                "refusal.unknown",
                status=fault.status,
                label=fault.label,
                upstream=exchange.party.upstream,
                wording=fault.wording,
            )
        if fault.structure and plan.kind != "untouched":
            log.warning("plan.refused", route=exchange.route.name, upstream=exchange.party.upstream, plan=plan.kind)
        if scene is None or plan.sent_tokens is None:
            return
        if fault.label in SIZE_FAULTS or (fault.shrink_helps and not fault.output_rate):
            self._knowledge.refuse(exchange, scene.request.model, plan.sent_tokens)
        if fault.label is Label.LONG_CONTEXT_TIER and fault.status in {429, None}:
            self._claim_long_tier(exchange)
        self._outputs.refused(exchange, scene.request, fault)
        if fault.byte_limit is not None:
            self._bodies.refused(exchange, stated=fault.byte_limit, body=plan.body)
        if fault.label is not Label.CONTEXT_OVERFLOW:
            return
        model = scene.request.model
        facts = self._knowledge.facts(exchange, model)
        self._truncations.nothing_said(exchange, plan, fault, facts.calibration.predict(plan.sent_tokens))
        prompt = None if fault.at_least else fault.prompt
        facts.calibration = facts.calibration.observe_overflow(
            estimate=plan.sent_tokens, prompt=prompt, limit=None if fault.max_tokens_issue else fault.limit
        )
        if fault.limit is not None and fault.unit in {None, "tokens"}:
            self._claim(exchange, scene, fault, sent=prompt or scene.scaled(plan.sent_tokens))
        self._knowledge.save(exchange, model)

    def _claim(self, exchange: Exchange, scene: Scene, fault: Fault, *, sent: int) -> None:
        claim = Claim(
            limit=fault.limit or 0,
            credential=exchange.party.credential,
            prompt=sent,
            window=scene.window.tokens,
            text=scene.request.body.decode("utf-8", "replace"),
        )
        self._knowledge.learn_limit(exchange, scene.request.model, claim)

    def _claim_long_tier(self, exchange: Exchange) -> None:
        """
        Remember that this credential has no long-context tier at this upstream, whatever the model.
        """
        claim = Claim(LONG_CONTEXT_WINDOW, exchange.party.credential, LONG_CONTEXT_WINDOW, 2 * LONG_CONTEXT_WINDOW)
        self._knowledge.learn_limit(exchange, LONG_TIER, claim)

    def strict_roles(self, exchange: Exchange) -> None:
        """
        Remember that this upstream insists on strict roles.
        """
        scene = exchange.plan.scene if exchange.plan else None
        if scene is not None:
            self._knowledge.facts(exchange, scene.request.model).strict = True
            self._knowledge.save(exchange, scene.request.model)
            log.warning("plan.repaired", route=exchange.route.name, upstream=exchange.party.upstream)

    def refuses_usage(self, exchange: Exchange, plan: Plan) -> None:
        """
        Remember that this upstream refuses the wish for usage in a stream.
        """
        if plan.scene is not None:
            self._knowledge.facts(exchange, plan.scene.request.model).refuses_usage = True
            self._knowledge.save(exchange, plan.scene.request.model)

    def untold(self, exchange: Exchange) -> tuple[str, ...]:
        """
        Return the warnings that came too late for the answer they were about.
        """
        return self._truncations.untold(exchange)

    def answered(self, exchange: Exchange, plan: Plan, seen: Seen) -> None:
        """
        Learn from the usage of an answer. Only what was sent upstream calibrates.
        """
        scene, usage = plan.scene, seen.usage
        if scene is None or usage is None or plan.sent_tokens is None:
            return
        self._bodies.accepted(exchange, len(plan.body))
        untouched = plan.messages is scene.request.messages
        media = known_to_carry_media(scene.request.notes) if untouched else carries_media(plan.messages)
        if not media and usage.prompt > len(plan.body) + MOST_HIDDEN:
            return
        model = scene.request.model
        facts = self._knowledge.facts(exchange, model)
        known, _ = self._knowledge.anchors.of(exchange, model, scene.identity.digests[:-1])
        filled = filled_by(
            prompt=usage.prompt,
            completion=usage.completion,
            finish_reason=seen.finish_reason,
            asked=scene.request.asked_output,
        )
        sighting = Sighting(facts.calibration.expect(plan.sent_tokens), usage.prompt, usage.cached, filled)
        # What an image costs is too uncertain to call a low count a cut.
        if not media and self._truncations.look(exchange, scene, sighting):
            return
        lesson = facts.calibration.observe(
            estimate=plan.sent_tokens,
            actual=usage.prompt,
            # An anchor speaks of the layout it was seen in.
            anchor=None if plan.kind == "compacted" else known,
            media=media,
        )
        self._knowledge.learn(exchange, model, lesson)
        if plan.sent_tokens:
            self._metrics.estimate_ratio.observe(usage.prompt / plan.sent_tokens)
        if scene.identity.digests and not media:
            anchor = Anchor(plan.sent_tokens, usage.prompt)
            keep = usage.prompt >= NEAR_THRESHOLD * scene.scaled(scene.budget.threshold)
            self._knowledge.anchors.remember(exchange, model, scene.identity.digests, anchor, keep=keep)
        self._knowledge.accept(exchange, model, usage.prompt)
