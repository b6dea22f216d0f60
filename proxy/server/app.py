"""
The edge: one request from its head to the last byte of its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from proxy.chat.json import dumps
from proxy.errors import ProxyError
from proxy.server.connections import Connections
from proxy.server.contract import Handler, Readiness
from proxy.server.failures import JSON, answer_for, refusal
from proxy.server.held import Held
from proxy.server.keepalive import KeepAlive
from proxy.server.receive import check_target, incoming, read_body, upload_of
from proxy.server.relay import relay
from proxy.server.reply import Reply
from proxy.server.request import Request
from proxy.server.settings import LimitsSettings
from proxy.server.tunnel import tunnel
from proxy.upstream.credentials import admits
from proxy.upstream.tunnel import Switched
from proxy.upstream.wire import Answer, Headers, Incoming

CHAT_PATH = "/chat/completions"
KEEPALIVE_AFTER = 40.0
ALIVE = frozenset({"/healthz", "/livez", "/health", "/health/liveness", "/health/liveliness"})
READY = frozenset({"/readyz", "/health/readiness"})
KeepAliveAfter = Callable[[Incoming], float | None]
_RETRY_SOON = ("retry-after", "1")


class Edge:
    """
    Receives requests, has the handler answer them, and relays the answers.

    *keepalive_after* says how long a streaming client may be left without a byte; *ready* whether requests are welcome.
    Without a handler they wait until ``serve_with`` names one.
    """

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        limits: LimitsSettings,
        keepalive_after: KeepAliveAfter = lambda _: KEEPALIVE_AFTER,
        ready: Callable[[], Readiness] = Readiness,
        client_keys: Sequence[str] = (),
    ) -> None:
        self._handler = handler or Held()
        self._limits = limits
        self._keepalive_after = keepalive_after
        self._ready = ready
        self._client_keys = tuple(client_keys)
        self.inflight = 0
        self.idle = asyncio.Event()
        self.idle.set()
        self.draining = False

    def serve_with(
        self,
        handler: Handler,
        *,
        keepalive_after: KeepAliveAfter,
        client_keys: Sequence[str],
        ready: Callable[[], Readiness] | None = None,
    ) -> None:
        """
        Have new requests answered by another handler; those that run end under the one they began with.
        """
        before, self._handler = self._handler, handler
        self._keepalive_after, self._client_keys = keepalive_after, tuple(client_keys)
        self._ready = ready or self._ready
        if isinstance(before, Held):
            before.give_to(handler)

    def connections(self) -> Connections:
        """
        Return what makes the protocol of each connection.
        """
        return Connections(self.serve, self._limits)

    async def serve(self, request: Request) -> bool:
        """
        Serve one request, and tell whether its connection takes another; cancelled when its client leaves.
        """
        self.inflight += 1
        self.idle.clear()
        try:
            return await self._serve(request)
        finally:
            self.inflight -= 1
            if not self.inflight:
                self.idle.set()

    async def _serve(self, request: Request) -> bool:
        reply = Reply(request)
        try:
            answer = await self._answer(request, reply)
        except ProxyError as exc:
            # A body that broke off on its way in is not the upstream's fault, whatever it looks like from there.
            answer = answer_for(request.mistake or exc)
        if isinstance(answer, Switched):
            return await tunnel(request, answer, reply)
        if self.draining:
            # Asked now, not at the head: else the client would send its next request on a connection about to close.
            reply.keep_alive = False
        return await relay(answer, reply)

    async def _answer(self, request: Request, reply: Reply) -> Answer:
        check_target(request)
        path = request.target.partition("?")[0]
        if path in ALIVE or path in READY:
            return self._health(path)
        refused = self._refuse(request.headers)
        if refused is not None:
            return refused
        if request.method == "POST" and path.endswith(CHAT_PATH):
            return await self._chat(request, reply)
        return await self._handler.forward(incoming(request), upload_of(request))

    async def _chat(self, request: Request, reply: Reply) -> Answer:
        body = await read_body(request, limit=self._limits.max_body, silence=self._limits.header_timeout)
        asked = incoming(request, body)
        with KeepAlive(reply, body, after=self._keepalive_after(asked)):
            return await self._handler.chat(asked)

    def _refuse(self, headers: Headers) -> Answer | None:
        if self.inflight > self._limits.inflight:
            return refusal(503, "Too many requests are in flight.", "overloaded", headers=(_RETRY_SOON,))
        if not admits(headers, self._client_keys):
            return refusal(401, "A client key of this proxy is needed.", "invalid_api_key", kind="authentication_error")
        return None

    def _health(self, path: str) -> Answer:
        if path in ALIVE:
            return Answer.of_bytes(200, JSON, b'{"status":"ok"}')
        state = self._ready()
        ready = state.ready and not self.draining
        status = "draining" if self.draining else "ok" if ready else "starting"
        return Answer.of_bytes(200 if ready else 503, JSON, dumps({"status": status, "notes": list(state.notes)}))
