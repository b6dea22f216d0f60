"""
Decide what is sent: untouched, in the layout of an earlier turn, or compacted anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import structlog

from proxy.chat.messages import leading_system_rows
from proxy.chat.request import ChatRequest
from proxy.compaction.layout import Layout
from proxy.engines.sizer import Sizer
from proxy.errors import IllegalPlanError
from proxy.pipeline.body_limits import is_too_heavy, roomy_target
from proxy.pipeline.compacting import Compacting
from proxy.pipeline.conversations import Conversations, Identity, Known
from proxy.pipeline.directives import with_command
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.exempt import exemption
from proxy.pipeline.floor import least_tokens
from proxy.pipeline.identify import Identifier
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.output_limits import OutputLimits
from proxy.pipeline.plan import Demand, Plan, PlanKind, write_plan
from proxy.pipeline.prepare import Preparation
from proxy.pipeline.scene import Scene, beside_changing_rows, make_budget
from proxy.pipeline.smallness import LARGE_BYTES, Smallness
from proxy.pipeline.turns import Turns
from proxy.pipeline.usage import usage_wish
from proxy.pipeline.viewing import OFF_LOOP_BYTES
from proxy.tokens.counter import TokenCounter

log = structlog.get_logger()
CUT_OFF_SHARE = 0.95
"""From this share of the window on an upstream that answers a full window is believed to have no room to answer."""


class Planner:
    """
    Makes plans; holds no state of its own.
    """

    def __init__(
        self,
        counter: TokenCounter,
        *,
        conversations: Conversations,
        identifier: Identifier,
        knowledge: Knowledge,
        compacting: Compacting,
        preparation: Preparation,
    ) -> None:
        self._counter = counter
        self._conversations = conversations
        self._identifier = identifier
        self._knowledge = knowledge
        self._compacting = compacting
        self._preparation = preparation
        self._turns = Turns()
        self._outputs = OutputLimits(knowledge)
        self._small = Smallness(knowledge, self._outputs, conversations.marks, counter)

    async def plan(self, exchange: Exchange) -> Plan:
        """
        Return the plan for the first attempt.
        """
        body = exchange.incoming.body
        if exchange.mode == "off":
            return Plan(body, why="off")
        if len(body) > LARGE_BYTES and await self._small.light(exchange):
            return Plan(body, why="below the bound")
        request = await exchange.viewed()
        if request is None:
            return Plan(body, why="not understood")
        why = exemption(request)
        if why is not None:
            return await self._left_alone(exchange, request, why)
        exchange.directives = with_command(exchange.directives, request, exchange.compaction.focus_command)
        if await self._small.certainly(exchange, request):
            return Plan(body, why="below the bound")
        scene = await self.scene(exchange, request, at_first=True)
        if exchange.mode == "compact" and self._conversations.marks.take(scene.known.live, scene.identity.digests):
            exchange.directives = replace(exchange.directives, force=True)
        plan = await self._decide(exchange, scene)
        if plan.record is not None and scene.total < scene.budget.threshold:
            # Folded by wish, here or by another process: from this size on its record has to be looked for.
            self._knowledge.refuse(exchange, request.model, scene.total)
        return self._with_less_output(exchange, plan)

    async def _left_alone(self, exchange: Exchange, request: ChatRequest, why: str) -> Plan:
        """
        Forward an exempt request; observe mode tells its size all the same.
        """
        if exchange.mode != "observe":
            return Plan(request.body, why=why)
        return _untouched(await self.scene(exchange, request), why)._replace(would="untouched")

    async def replan(self, exchange: Exchange, demand: Demand) -> Plan | None:
        """
        Return a plan that meets *demand*, ``None`` where there is none.
        """
        request = await exchange.viewed()
        if request is None:
            return None
        scene = await self.scene(exchange, request, window=demand.window, strict=demand.strict)
        if not demand.shrinks:
            return self._resumed(scene, demand.changes)
        if self._suffices(scene, demand) and (resumed := self._resumed(scene, demand.changes)):
            return resumed
        plan = await self._compacting.compact(exchange, scene, demand)
        return plan if plan is None or demand.changes else self._with_less_output(exchange, plan)

    async def measured(self, exchange: Exchange, plan: Plan) -> Plan | None:
        """
        Return *plan* with its scene, ``None`` where the body is nothing we understand.
        """
        if plan.scene is not None and plan.scene.identity.digests:
            return plan
        request = await exchange.viewed()
        if request is None:
            return None
        scene = await self.scene(exchange, request)
        return plan._replace(scene=scene, messages=request.messages, sent_tokens=scene.total)

    async def scene(
        self,
        exchange: Exchange,
        request: ChatRequest,
        *,
        window: int | None = None,
        strict: bool = False,
        at_first: bool = False,
    ) -> Scene:
        """
        Measure the request and find what is known of its conversation.

        *at_first* a conversation is not recognised where its size alone says that nothing has to be done.
        """
        leading = leading_system_rows(request.messages)
        system, rows = request.messages[:leading], request.messages[leading:]
        if request.new_bytes > OFF_LOOP_BYTES:
            fixed, running = await self._turns.run(request.new_bytes, self._measure, request, leading)
        else:
            fixed, running = self._measure(request, leading)
        total = fixed + running[-1] - (running[leading - 1] if leading else 0)
        found = await self._knowledge.window(exchange, request.model)
        small = at_first and self._small.counted(exchange, request, total, found)
        identity = (
            self._identifier.unidentified(exchange, request)
            if small
            else await self._identifier.identify(exchange, request)
        )
        scale = await self._scale(exchange, request.model, identity, total, running[leading:])
        if window is not None:
            found = replace(found, tokens=round(window * scale))
        budget = make_budget(
            exchange.compaction, window=found.tokens, asked_output=request.asked_output, fixed=fixed, scale=scale
        )
        known = Known()
        worth = total >= self._knowledge.least_folded(exchange, request.model, budget.threshold) // 2
        if worth or window is not None or self._conversations.marks or self._small.over_bytes(exchange, request.body):
            known = await self._conversations.known(identity, rows)
            budget = beside_changing_rows(budget, known, running)
        strict = strict or self._strict(exchange, request.model)
        extra = usage_wish(request, exchange.compaction.ask_usage, refused=self._refuses_usage(exchange, request.model))
        return Scene(request, system, rows, fixed, total, scale, found, budget, identity, known, strict, extra)

    def least(self, scene: Scene) -> int:
        """
        Return our tokens of what of a request cannot be left out.
        """
        return least_tokens(scene.rows, fixed=scene.fixed, counter=self._counter)

    def _strict(self, exchange: Exchange, model: str) -> bool:
        roles = exchange.compaction.roles
        return roles == "strict" or (roles == "auto" and self._knowledge.facts(exchange, model).strict)

    def _refuses_usage(self, exchange: Exchange, model: str) -> bool:
        return self._knowledge.facts(exchange, model).refuses_usage

    async def _scale(
        self, exchange: Exchange, model: str, identity: Identity, total: int, running: Sequence[int]
    ) -> float:
        anchor, covered = await self._knowledge.anchors.found(exchange, model, identity.digests)
        growth = running[-1] - running[covered - 1] if anchor else 0
        return self._knowledge.scale(exchange, model, anchor, growth, total)

    def _measure(self, request: ChatRequest, leading: int) -> tuple[int, list[int]]:
        """
        Return the tokens of the system rows and all that travels beside the rows, and those of all rows up to each.
        """
        running = self._counter.running(request.notes)
        return self._counter.fixed(request.data) + (running[leading - 1] if leading else 0), running

    def _with_less_output(self, exchange: Exchange, plan: Plan) -> Plan:
        """
        Ask for no more output than the upstream is known to allow beside this prompt.
        """
        scene = plan.scene
        if scene is None or plan.sent_tokens is None:
            return plan
        changes = self._outputs.changes(exchange, scene.request, prompt=scene.scaled(plan.sent_tokens))
        if not changes:
            return plan
        with suppress(ValueError):
            extra = scene.extra if plan.asked_usage else {}
            body = scene.request.splice(plan.messages, {**extra, **changes})
            return plan._replace(body=body, less_output=True)
        return plan

    async def _decide(self, exchange: Exchange, scene: Scene) -> Plan:
        size = self._size(scene, scene.resumed)
        most_bytes = self._small.bodies.limit(exchange)
        heavy = is_too_heavy(scene, scene.resumed, most_bytes, counter=self._counter)
        acts = exchange.mode == "compact" or heavy or self._is_sure_to_fail(exchange, scene, size)
        if exchange.mode == "recover" and scene.known.live is None and not acts:
            return _untouched(scene, "recover")
        over = size >= scene.budget.threshold or heavy or exchange.directives.force
        if exchange.mode == "observe":
            would: PlanKind = "compacted" if over else "reused" if scene.known.live else "untouched"
            return _untouched(scene, "observe")._replace(would=would)
        if over and acts:
            if exchange.directives.force and size < scene.budget.threshold:
                # Who wants it now wants it smaller than it is, not than it may be.
                scene = replace(scene, budget=replace(scene.budget, threshold=size))
            scene = await self._preparation.awaited(exchange, scene)
            plan = await self._compacting.compact(
                exchange, scene, self._first_demand(scene, most_bytes if heavy else None)
            )
            if plan is not None:
                return plan
        if scene.known.live is None:
            why = "over the threshold, nothing to gain" if over else "below the threshold"
            plan = _untouched(scene, why)
            return self._asking_usage(exchange, scene, plan)
        return self._resumed(scene, None) or _untouched(scene, "the earlier layout is illegal here")

    def _is_sure_to_fail(self, exchange: Exchange, scene: Scene, size: int) -> bool:
        """
        Tell whether an error of this upstream has taught that it will refuse this request, or cut its answer off.
        """
        calibration = self._knowledge.facts(exchange, scene.request.model).calibration
        if scene.window.source == "learned" and calibration.expect(size) > scene.window.tokens:
            return True
        fills = self._knowledge.facts(exchange, scene.request.model).fills
        return fills and scene.scaled(size) >= CUT_OFF_SHARE * scene.window.tokens

    def _first_demand(self, scene: Scene, most_bytes: int | None) -> Demand:
        if not most_bytes:
            return Demand()
        return Demand(byte_limit=roomy_target(scene, scene.resumed, most_bytes, counter=self._counter))

    def _asking_usage(self, exchange: Exchange, scene: Scene, plan: Plan) -> Plan:
        if exchange.compaction.ask_usage != "always" or not scene.extra:
            return plan
        with suppress(ValueError):
            body = scene.request.splice(scene.request.messages, scene.extra)
            return plan._replace(body=body, asked_usage=True)
        return plan

    def _resumed(self, scene: Scene, changes: Mapping[str, Any] | None) -> Plan | None:
        """
        Write the request in the layout in force, with top-level *changes*.
        """
        try:
            plan = write_plan(scene, scene.resumed, changes, tokens=self._size(scene, scene.resumed))
        except (IllegalPlanError, ValueError) as fault:
            log.warning("plan.illegal", fault=str(fault))
            return None
        return plan._replace(record=scene.known.live)

    def _suffices(self, scene: Scene, demand: Demand) -> bool:
        """
        Tell whether the layout in force is all that *demand* asks for: the conversation was refused whole once more.
        """
        layout = scene.resumed
        if layout is None:
            return False
        sizer = Sizer(scene.rows, self._counter, fixed=scene.fixed)
        if sizer.tokens(layout) >= scene.budget.threshold:
            return False
        return demand.byte_limit is None or sizer.bytes(layout) + scene.bytes_beside <= demand.byte_limit

    def _size(self, scene: Scene, layout: Layout | None) -> int:
        if layout is None:
            return scene.total
        return scene.fixed + self._counter.messages(scene.laid_out(layout))


def _untouched(scene: Scene, why: str) -> Plan:
    return Plan(scene.request.body, scene=scene, messages=scene.request.messages, sent_tokens=scene.total, why=why)
