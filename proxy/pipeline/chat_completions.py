"""
The life of one exchange, step by step.

    1 receive         the edge hands over the request (``server/``)
    2 match           the route says where it goes and how it is treated
    3 view, measure   parse once, count what was not counted before            (``planner``)
    4 identify        the conversation by its prefix digests; resume its record (``planner``)
    5 decide          untouched, as on an earlier turn, or compacted anew       (``planner``, ``compacting``)
    6 send            to the upstream, the first event peeked                   (``recovering``, ``examine``)
    7 recover         climb the ladder on a refusal                             (``recovering``)
    8 relay           byte for byte, reading along                              (``relaying``, ``watching``)
    9 settle          usage, calibration, one log line, metrics, preparation    (``settling``)
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from proxy.errors import BadRequestError, UpstreamError
from proxy.pipeline.canonical import REQUEST_ID, request_id_of
from proxy.pipeline.directives import Directives, read_directives
from proxy.pipeline.disclosure import disclosed, warnings_of
from proxy.pipeline.examine import Examined
from proxy.pipeline.exchange import Action, Exchange, Party
from proxy.pipeline.guarded import guarded
from proxy.pipeline.heads import by_name
from proxy.pipeline.identify import Identifier
from proxy.pipeline.plan import Plan
from proxy.pipeline.planner import Planner
from proxy.pipeline.recovering import Recovering
from proxy.pipeline.relaying import Relayed
from proxy.pipeline.routes import Router
from proxy.pipeline.settling import Settling
from proxy.pipeline.tracing import trace_of
from proxy.pipeline.viewing import Viewer
from proxy.pipeline.watching import Seen, StreamWatcher
from proxy.telemetry.metrics import Metrics
from proxy.telemetry.traces import Tracer
from proxy.upstream.wire import Answer, Headers, Incoming, header

log = structlog.get_logger()
NO_HEADERS: Headers = ()


@dataclass(frozen=True, slots=True)
class Steps:
    """
    Who takes the steps of an exchange.
    """

    planner: Planner
    recovering: Recovering
    settling: Settling
    metrics: Metrics
    viewer: Viewer
    tracer: Tracer


class ChatCompletions:
    """
    Answers chat completions.
    """

    def __init__(
        self,
        router: Router,
        identifier: Identifier,
        steps: Steps,
        *,
        clock: Callable[[], float],
        disclose: bool,
    ) -> None:
        self._router = router
        self._identifier = identifier
        self._viewer = steps.viewer
        self._planner = steps.planner
        self._recovering = steps.recovering
        self._settling = steps.settling
        self._metrics = steps.metrics
        self._tracer = steps.tracer
        self._clock = clock
        self._disclose = disclose

    async def chat(self, incoming: Incoming) -> Answer:
        """
        Answer one request; what goes wrong in our own work sends the client's request as it came.
        """
        started = self._clock()
        try:
            exchange = await self._matched(incoming, started)
        except Exception as fault:
            log.exception("step.failed", step="match", fault=type(fault).__name__)
            exchange = self._unmatched(incoming, started)
        try:
            plan = await self._plan(exchange)
            exchange.plan = plan
            exchange.action = action_of(exchange, plan)
            self._metrics.overhead_seconds.observe(self._clock() - exchange.started)
            examined = await self._recovering.answer(exchange, plan)
        except BadRequestError:
            raise  # it may go nowhere, and is told to its client alone
        except BaseException as why:
            # No answer will be relayed, and yet this was an exchange.
            exchange.ended = _ending(why)
            self._settling.settle(exchange, Seen())
            raise
        try:
            return self._relayed(exchange, examined)
        except Exception as fault:
            log.exception("step.failed", step="relay", fault=type(fault).__name__)
            exchange.status = examined.answer.status
            self._settling.settle(exchange, examined.seen or Seen())
            return examined.answer

    async def _matched(self, incoming: Incoming, started: float) -> Exchange:
        heads = by_name(incoming.headers)
        request = None
        if self._router.needs_model:
            request = await self._viewer.view(incoming.body, whose=self._identifier.party("", heads).sender)
        route = self._router.of(incoming, request.model if request else None)
        directives = read_directives(heads)
        return Exchange(
            incoming=incoming,
            route=route,
            directives=directives,
            party=self._identifier.party(route.upstream, heads),
            started=started,
            viewer=self._viewer,
            heads=heads,
            request=request,
            viewed_whole=self._router.needs_model,
            warnings=[*directives.misread],
            trace=trace_of(self._tracer, heads, route.upstream),
        )

    def _unmatched(self, incoming: Incoming, started: float) -> Exchange:
        """
        Return an exchange of which nothing is known but where it goes; it is neither looked into nor learned from.
        """
        route = guarded("match", self._router.of, incoming, otherwise=None) or self._router.only()
        party = Party(route.upstream, "", "")
        off = Directives(mode="off")
        return Exchange(incoming, route, off, party, started, action="failed-open")

    async def _plan(self, exchange: Exchange) -> Plan:
        if exchange.action == "failed-open":
            return Plan(exchange.incoming.body, why="failed open")
        try:
            return await self._planner.plan(exchange)
        except Exception as fault:
            log.exception("plan.failed", route=exchange.route.name, fault=type(fault).__name__)
            exchange.action = "failed-open"
            return Plan(exchange.incoming.body, why="failed open")

    def _relayed(self, exchange: Exchange, examined: Examined) -> Answer:
        answer, headers = examined.answer, examined.answer.headers
        exchange.status = answer.status
        told = header(headers, REQUEST_ID) if examined.heads is None else examined.heads.get(REQUEST_ID)
        exchange.upstream_request_id = request_id_of(told)
        exchange.warnings += warnings_of(exchange.plan)
        if examined.body is not None:
            # A whole body tells what it has to tell before its headers leave.
            self._settling.settle(exchange, examined.seen or Seen())
        exchange.warnings += self._settling.untold(exchange)
        strips = _strips_usage(exchange, answer)
        if strips:
            headers = tuple((name, value) for name, value in headers if name.lower() != "content-length")
        if self._disclose:
            headers += guarded("disclose", disclosed, exchange, otherwise=NO_HEADERS)
        if examined.body is not None:
            answer.headers = headers
            return answer
        watcher = StreamWatcher(strip_usage=strips, clock=self._clock)
        relayed = Relayed(exchange, answer, self._settling.settle, watcher=watcher)
        return Answer(answer.status, answer.reason, headers, relayed, close=relayed.close)


def action_of(exchange: Exchange, plan: Plan) -> Action:
    """
    Return what is told of a first plan, before anything was sent.
    """
    if exchange.action == "failed-open":
        return "failed-open"
    if exchange.mode == "observe":
        return "observed"
    if plan.kind == "untouched":
        return "recovered" if plan.less_output else "passthrough"
    return plan.kind


def _ending(why: BaseException) -> str:
    if isinstance(why, UpstreamError):
        return "upstream-failed"
    return "client-left" if isinstance(why, CancelledError) else "proxy-failed"


def _strips_usage(exchange: Exchange, answer: Answer) -> bool:
    asked = exchange.plan is not None and exchange.plan.asked_usage
    return asked and answer.is_event_stream and not header(answer.headers, "content-encoding")
