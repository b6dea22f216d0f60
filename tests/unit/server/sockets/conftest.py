"""
Connections behave alike on the event loop that serves and on the one that stands in for it.
"""

from tests.support.loops import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
