"""
The listener: receive, remember, answer.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from proxy.chat.json import loads
from proxy.simulator.answers import Dialect
from proxy.simulator.counting import Counter, PlainCounter
from proxy.simulator.endpoints import other
from proxy.simulator.model import Model, SummaryTest, bytes_refusal
from proxy.simulator.received import Received
from proxy.simulator.reply import Reply, json_reply
from proxy.simulator.settings import SimulatorSettings
from proxy.simulator.steps import Script, Step
from proxy.simulator.wire import send

_GZIP = 16 + zlib.MAX_WBITS
_SHUTDOWN_SECONDS = 0.5


class Simulator:
    """
    A scriptable OpenAI-compatible upstream on a port of this machine.
    """

    def __init__(
        self,
        settings: SimulatorSettings | None = None,
        script: Script | None = None,
        *,
        counter: Counter | None = None,
        is_summary: SummaryTest | None = None,
        on_finished: Callable[[Received], None] | None = None,
    ) -> None:
        self.settings = settings or SimulatorSettings()
        self.script = script or Script()
        self.received: list[Received] = []
        self.url = ""
        self._counter = counter or PlainCounter()
        self._model = Model(self.settings, self.script, self._counter, is_summary)
        self._on_finished = on_finished
        self._number = 0
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """
        Listen and return the base URL, which ends in ``/v1``.
        """
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # Bodies are kept as they came: a request sent with gzip must be seen with gzip.
        self._runner = web.AppRunner(
            app,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            shutdown_timeout=_SHUTDOWN_SECONDS,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        bound_host, bound_port = self._runner.addresses[0][:2]
        self.url = f"http://{bound_host}:{bound_port}/v1"
        return self.url

    async def stop(self) -> None:
        """
        Let go of what hangs, and close.
        """
        self._stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def will(self, *steps: Step | Iterable[Step]) -> None:
        """
        Append steps to the script.
        """
        self.script.will(*steps)

    @property
    def main_calls(self) -> list[Received]:
        """
        The chat calls that are no summariser calls.
        """
        return [call for call in self.received if call.is_chat and not call.is_summary_call]

    @property
    def summary_calls(self) -> list[Received]:
        """
        The summariser calls.
        """
        return [call for call in self.received if call.is_summary_call]

    async def until(self, condition: Callable[[], object], *, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - for tests
        """
        Wait until *condition* holds, looked at whenever a request comes, ends or is left.
        """
        async with asyncio.timeout(timeout):
            while not condition():
                await self._changed.wait()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        early = bytes_refusal(self.settings, request.content_length or 0) if self.settings.early_413 else None
        received = self._remember(request, b"" if early else await request.read())
        try:
            reply, seconds = (early, 0.0) if early else self._reply(received)
            received.status = reply.status
            self._notify()
            await asyncio.sleep(self.settings.delay_seconds + seconds)
            response = await send(
                request, reply, chunk_delay=self.settings.chunk_delay_seconds, stopping=self._stopping
            )
        except (asyncio.CancelledError, ConnectionError):
            received.cancelled = True
            raise
        else:
            received.finished = True
            return response
        finally:
            self._notify()
            if self._on_finished is not None:
                self._on_finished(received)

    def _remember(self, request: web.Request, body: bytes) -> Received:
        path, _, query = request.raw_path.partition("?")
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.raw_headers)
        self._number += 1
        received = Received(self._number, request.method, path, query, headers, body)
        received.data = _parsed(received)
        self.received.append(received)
        del self.received[: -self.settings.remember]
        return received

    def _reply(self, received: Received) -> tuple[Reply, float]:
        keys = {f"Bearer {key}" for key in self.settings.api_keys}
        if keys and received.header("authorization") not in keys:
            error = {"message": "Incorrect API key provided.", "type": "invalid_request_error", "param": None}
            return json_reply({"error": {**error, "code": "invalid_api_key"}}, status=401), 0.0
        dialect = _dialect(received)
        if dialect is not None:
            return self._model.answer(received, dialect)
        step = self.script.take(received, may_speak=False)
        if step is not None:
            return self._model.scripted(received, step)
        return other(received, self.settings, self._counter), 0.0

    def _notify(self) -> None:
        # Whoever waits holds the old event; the next wait gets the new one.
        self._changed.set()
        self._changed = asyncio.Event()


def _dialect(received: Received) -> Dialect | None:
    if received.method != "POST":
        return None
    if received.path.endswith("/chat/completions"):
        return "chat"
    if received.path.endswith("/completions"):
        return "completions"
    return "responses" if received.path.endswith("/responses") else None


def _parsed(received: Received) -> Any:
    body = received.body
    try:
        if (received.header("content-encoding") or "").lower() == "gzip":
            body = zlib.decompress(body, _GZIP)
        return loads(body)
    except (ValueError, zlib.error):
        return None
