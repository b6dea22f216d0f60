"""
Read the settings again while the proxy runs: all of them, or none.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from proxy.config.reload import Reload, adopt
from proxy.config.settings import AppSettings
from proxy.errors import SettingsError
from proxy.wiring import Proxy, renew

log = structlog.get_logger()
Read = Callable[[], AppSettings]
"""Reads the settings as they are written now. Raises ``SettingsError``."""


class Written:
    """
    The *settings* in force, and where they were read from.
    """

    def __init__(self, settings: AppSettings, read: Read | None = None) -> None:
        self.settings = settings
        self._read = read or (lambda: settings)

    def again(self) -> Reload | None:
        """
        Read them again; where there is a mistake, say so and keep what is in force.
        """
        try:
            found = adopt(self.settings, self._read())
        except SettingsError as fault:
            log.error("settings.rejected", mistakes=list(fault.mistakes))  # noqa: TRY400 - the mistakes say it all
            return None
        self.settings = found.settings
        return found


class Reloading:
    """
    Serves a proxy under the settings in force, whichever these are.
    """

    def __init__(self, proxy: Proxy, written: Written) -> None:
        self.proxy = proxy
        self._written = written

    def __call__(self) -> None:
        """
        Go by what is written now, from the next request on.
        """
        found = self._written.again()
        if found is None:
            return
        if found.changed:
            self.proxy = renew(self.proxy, found.settings)
        else:
            self.proxy.look_again()
        log.info("settings.reloaded", changed=list(found.changed))
        if found.held_back:
            log.warning("settings.held_back", needs_restart=list(found.held_back))
