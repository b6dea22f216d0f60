"""
Ask a model for a summary: through the request's own upstream and credential, or through one that the route names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from proxy.chat.answers import answer_message, answer_text, calls_tools, finish_reason_of, usage_of
from proxy.chat.json import dumps, loads
from proxy.errors import SummaryError, UpstreamError, UpstreamTimeoutError
from proxy.pipeline.decoding import decoder_of
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.heads import by_name
from proxy.summaries.guards import SummaryAnswer
from proxy.summaries.prompt import SummaryPrompt
from proxy.upstream.client import UpstreamClient
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.wire import Headers, Incoming

TRANSIENT = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
_NOT_OURS = frozenset({"accept-encoding", "accept", "content-length", "content-encoding", "expect", "host", "te"})
_CHAT_PATH = "/v1/chat/completions"


class ModelAsker:
    """
    Sends summariser calls as all others go: the same connections, authorities and forward proxies.

    They bypass the proxy's own compaction, since they go to the upstream at once.
    """

    def __init__(self, client: UpstreamClient, targets: Callable[[str, str | None], UpstreamTarget]) -> None:
        self._client = client
        self._targets = targets

    async def ask(self, exchange: Exchange, prompt: SummaryPrompt, *, model: str) -> SummaryAnswer:
        """
        Return the model's answer. Raises ``SummaryError`` where there is none.
        """
        settings = exchange.compaction.summarizer
        body = dumps(
            {"model": prompt.model or model, "messages": list(prompt.messages), **prompt.fields, "stream": False}
        )
        target = self._targets(exchange.route.name, settings.upstream)
        outgoing = target.outgoing(_call(exchange, body, elsewhere=settings.upstream is not None))
        outgoing = outgoing._replace(headers=_headers(outgoing.headers))
        try:
            async with asyncio.timeout(settings.timeout):
                answer = await self._client.send(outgoing)
                raw = await answer.read()
        except (TimeoutError, UpstreamTimeoutError) as exc:
            raise SummaryError("timeout", transient=True) from exc
        except UpstreamError as exc:
            raise SummaryError("unreachable", transient=True) from exc
        if answer.status >= 400:
            raise SummaryError(f"status {answer.status}", transient=answer.status in TRANSIENT)
        return _read(decoder_of(by_name(answer.headers)).feed(raw))


def _call(exchange: Exchange, body: bytes, *, elsewhere: bool) -> Incoming:
    """
    Return the call as if the client had made it; to another upstream it carries nothing of the client's.
    """
    if elsewhere:
        return Incoming("POST", _CHAT_PATH, (("content-type", "application/json"),), body)
    return Incoming("POST", exchange.incoming.target, exchange.incoming.headers, body)


def _headers(headers: Headers) -> Headers:
    return tuple((name, value) for name, value in headers if name.lower() not in _NOT_OURS)


def _read(body: bytes) -> SummaryAnswer:
    try:
        data = loads(body)
    except ValueError as exc:
        raise SummaryError("no JSON", transient=True) from exc
    if isinstance(data, Mapping) and data.get("error"):
        raise SummaryError("error text", transient=True)
    usage = usage_of(data)
    refusal = answer_message(data).get("refusal")
    return SummaryAnswer(
        text=answer_text(data),
        finish_reason=finish_reason_of(data),
        tool_calls=calls_tools(data),
        refusal=refusal if isinstance(refusal, str) else None,
        prompt_tokens=usage.prompt if usage else 0,
        completion_tokens=usage.completion if usage else 0,
    )
