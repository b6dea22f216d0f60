"""
The admin port of a running proxy, and a plain client for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from proxy.admin.contract import AdminSource
from proxy.admin.listen import AdminListening
from proxy.admin.settings import AdminSettings
from proxy.chat.json import dumps, loads

AdminFactory = Callable[..., Awaitable["Admin"]]


@dataclass(slots=True)
class Told:
    """
    What the port answered.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """
        The body as JSON.
        """
        return loads(self.body)


@dataclass(slots=True)
class Admin:
    """
    An open admin port at *url*.
    """

    url: str
    session: aiohttp.ClientSession

    async def ask(
        self, path: str, *, method: str = "GET", data: Any = None, headers: Mapping[str, str] | None = None
    ) -> Told:
        """
        Return the whole answer.
        """
        body = data if data is None or isinstance(data, bytes) else dumps(data)
        async with self.session.request(method, self.url + path, data=body, headers=headers) as response:
            return Told(response.status, response.headers, await response.read())

    async def get(self, path: str) -> Any:
        """
        Return the JSON of an answer that has to be good.
        """
        told = await self.ask(path)
        assert told.status == 200, told.body
        return told.json


@pytest.fixture
async def admin_factory() -> AsyncIterator[AdminFactory]:
    """
    Hand out a starter of admin ports (``source, token="..."``) on free ports.
    """
    async with AsyncExitStack() as stack:

        async def start(source: AdminSource, **settings: Any) -> Admin:
            listening = AdminListening(source, AdminSettings(**{"listen": "127.0.0.1:0", **settings}))
            bound = await listening.start()
            stack.push_async_callback(listening.stop)
            assert bound is not None
            session = await stack.enter_async_context(aiohttp.ClientSession())
            return Admin(f"http://127.0.0.1:{bound[1]}", session)

        yield start
