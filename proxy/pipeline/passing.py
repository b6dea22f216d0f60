"""
What is no chat completion, on its way to the upstream of its route.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from proxy.pipeline.routes import Router
from proxy.upstream.passthrough import PassthroughHandler
from proxy.upstream.wire import Answer, Incoming, header

LOOK_BYTES = 1024 * 1024
"""A JSON body up to this size is read to know its model, where routes are told apart by model."""


class Passing:
    """
    Forwards uploads as they arrive; only where the route depends on the model are JSON bodies looked into first.
    """

    def __init__(self, passthrough: PassthroughHandler, router: Router) -> None:
        self._passthrough = passthrough
        self._router = router

    async def forward(self, incoming: Incoming, upload: AsyncIterable[bytes] | None) -> Answer:
        """
        Forward a request; a body that is larger, or no JSON, goes where one without a model goes.
        """
        if upload is None or not self._router.needs_model or not _is_json(incoming):
            return await self._passthrough.forward(incoming, upload)
        chunks = aiter(upload)
        head, whole = await _look(chunks)
        known = incoming._replace(body=b"".join(head)) if whole else incoming
        return await self._passthrough.forward(known, _again(head, chunks))


def _is_json(incoming: Incoming) -> bool:
    kind = (header(incoming.headers, "content-type") or "").partition(";")[0].strip().lower()
    return kind == "application/json" and header(incoming.headers, "content-encoding") is None


async def _look(chunks: AsyncIterator[bytes]) -> tuple[list[bytes], bool]:
    """
    Return the first chunks, and whether they are the whole body.
    """
    head: list[bytes] = []
    size = 0
    async for chunk in chunks:
        head.append(chunk)
        size += len(chunk)
        if size > LOOK_BYTES:
            return head, False
    return head, True


async def _again(head: list[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in head:
        yield chunk
    async for chunk in rest:
        yield chunk
