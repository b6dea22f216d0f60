"""
Set up the log: events with fields, JSON where stdout is no terminal.
"""

from __future__ import annotations

import logging
import sys

import structlog

from proxy.telemetry.log_settings import LogSettings


def set_up_log(settings: LogSettings, *, terminal: bool) -> None:
    """
    Configure structlog for this process; levels below the configured one cost nothing.
    """
    as_text = settings.format == "console" or (settings.format == "auto" and terminal)
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if as_text else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
