"""
What libraries tell by the log of the standard library, the event loop among them: told as events of ours.

Their own words hold texts of faults and values, which may be a client's.
"""

from __future__ import annotations

import logging

import structlog
from typing_extensions import override

_LOG = structlog.get_logger()
_MOST_TOLD = 100
"""Characters of what is told without a fault."""


def tell_of_libraries() -> None:
    """
    Have warnings and faults of libraries told as events, in this process and in those forked from it.
    """
    logging.basicConfig(handlers=[_Events()], level=logging.WARNING, force=True)


class _Events(logging.Handler):
    """
    Tells the class and the place of a fault; without one the first line as it stands in the library's code.
    """

    @override
    def emit(self, record: logging.LogRecord) -> None:
        fault = record.exc_info[1] if record.exc_info else None
        told: dict[str, object] = {"library": record.name}
        if fault is None:
            told["what"] = str(record.msg).partition("\n")[0][:_MOST_TOLD]
        else:
            told |= {"error": type(fault).__name__, "exc_info": fault}
        if record.levelno >= logging.ERROR:
            _LOG.error("library.told", **told)
        else:
            _LOG.warning("library.told", **told)
