"""
Listen on the admin port.
"""

from __future__ import annotations

import structlog
from aiohttp import web

from proxy.admin.app import build
from proxy.admin.contract import AdminSource
from proxy.admin.settings import DEFAULT_LISTEN, AdminSettings
from proxy.telemetry.address import split_address

log = structlog.get_logger()
_LAST_SECONDS = 0.2


class AdminListening:
    """
    The admin port, open until it is stopped.
    """

    def __init__(self, source: AdminSource, settings: AdminSettings) -> None:
        self._settings = settings
        self._runner = web.AppRunner(build(source, settings), access_log=None, shutdown_timeout=_LAST_SECONDS)

    async def start(self) -> tuple[str, int] | None:
        """
        Listen and return the address; ``None`` where the port is switched off, or is the default one and taken.

        Nobody chose the default port, so that it is taken is no reason not to serve. Raises ``OSError`` on any other.
        """
        listen = self._settings.listen
        if listen is None:
            return None
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, *split_address(listen)).start()
        except OSError as fault:
            await self._runner.cleanup()
            if listen != DEFAULT_LISTEN:
                raise
            log.warning("admin.cannot_listen", listen=listen, fault=str(fault))
            return None
        host, port = self._runner.addresses[0][:2]
        log.info("admin.listening", host=host, port=port)
        return str(host), int(port)

    async def stop(self) -> None:
        """
        Close the port and every stream on it.
        """
        await self._runner.cleanup()
