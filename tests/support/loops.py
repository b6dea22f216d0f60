"""
The event loops that connections have to behave alike on.
"""

import asyncio
import importlib.util
from collections.abc import Callable


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """
    Run each asynchronous test on asyncio's own loop and, where there is one, on uvloop's; for a conftest.py to import.
    """
    factories = {"asyncio": asyncio.new_event_loop}
    if importlib.util.find_spec("uvloop") is not None:
        import uvloop  # noqa: PLC0415 - there is none on Windows

        factories["uvloop"] = uvloop.new_event_loop
    return factories
