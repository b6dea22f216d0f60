"""
Set up the log: events with fields, JSON where stdout is no terminal.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import structlog

from proxy.telemetry.lines import Lines
from proxy.telemetry.log_settings import LogSettings

FRAMES = 8
"""Lines of a traceback that an event tells, the innermost last."""


def where(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """
    Put the place of a fault in the stead of its traceback: neither its text nor local values, which may be a client's.
    """
    told = event.pop("exc_info", None)
    fault = sys.exc_info()[1] if told is True else told
    if isinstance(fault, tuple):
        fault = fault[1]
    if isinstance(fault, BaseException):
        frames = traceback.extract_tb(fault.__traceback__)[-FRAMES:]
        event["where"] = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return event


class Stamp:
    """
    Tells when an event was, in UTC; all but the fraction of a second is written once a second.
    """

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._second = -1
        self._written = ""

    def __call__(self, _logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        """
        Add ``timestamp`` to *event*.
        """
        second, nanoseconds = divmod(self._clock(), 1_000_000_000)
        if second != self._second:
            self._written, self._second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)), second
        event["timestamp"] = f"{self._written}.{nanoseconds // 1000:06d}Z"
        return event


class JsonLine:
    """
    Writes an event as a line of JSON: all that is to be done to it in one step, since each exchange has an event.
    """

    def __init__(self) -> None:
        self._stamp = Stamp()

    def __call__(self, logger: object, method: str, event: structlog.typing.EventDict) -> bytes:
        """
        Return the line.
        """
        if "exc_info" in event:
            event = where(logger, method, event)
        event["level"] = method
        return as_json(self._stamp(logger, method, event), default=repr)


def as_json(event: structlog.typing.EventDict, **options: Any) -> bytes:
    """
    Return an event as a line of JSON; a lone surrogate in a name that a client made up loses no event.
    """
    try:
        return orjson.dumps(event, **options)
    except TypeError:
        return json.dumps(event, **options).encode()  # noqa: TID251 - it writes what the other refuses


class _Quick:
    """
    Tells information without copying its fields: there is an event for each exchange.
    """

    _processors: Sequence[structlog.typing.Processor]
    _logger: Any

    def info(self, event: str, **fields: Any) -> None:
        """
        Tell *event*.
        """
        told: Any = fields
        told["event"] = event
        try:
            for processor in self._processors:
                told = processor(self._logger, "info", told)
        except structlog.DropEvent:
            return
        self._logger.info(told)


def _wrapper_of(level: int) -> type[Any]:
    """
    Return the library's logger for a least *level*, in which nobody binds a context, with one step made quick.
    """
    wrapper = structlog.make_filtering_bound_logger(level)
    return wrapper if level > logging.INFO else type("QuickLogger", (_Quick, wrapper), {})


def set_up_log(settings: LogSettings, *, terminal: bool) -> Lines:
    """
    Configure structlog for this process, and return where lines of JSON go; levels below the configured one cost nothing.
    """
    lines = Lines(sys.stderr.buffer)
    as_text = settings.format == "console" or (settings.format == "auto" and terminal)
    told: list[structlog.typing.Processor] = [JsonLine()]
    if as_text:
        told = [structlog.processors.add_log_level, where, Stamp(), structlog.dev.ConsoleRenderer()]
    # Whole lines in one write, so that those of several workers do not mix.
    factory = structlog.WriteLoggerFactory(sys.stderr) if as_text else lambda *_: lines
    structlog.configure(
        processors=told,
        wrapper_class=_wrapper_of(getattr(logging, settings.level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    return lines
