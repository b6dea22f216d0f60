"""
Fail open, step by step: a fault of ours in one step costs that step alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import structlog

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
log = structlog.get_logger()


def guarded(step: str, work: Callable[[*Ts], T], *given: *Ts, otherwise: T) -> T:
    """
    Return what *work* comes to with what is *given*, or *otherwise* where it fails; the event names the *step*.
    """
    try:
        return work(*given)
    except Exception as fault:
        log.exception("step.failed", step=step, fault=type(fault).__name__)
        return otherwise


async def guarded_async(step: str, work: Awaitable[T], *, otherwise: T) -> T:
    """
    Return what *work* comes to, or *otherwise* where it fails; a cancelled client is no fault.
    """
    try:
        return await work
    except Exception as fault:
        log.exception("step.failed", step=step, fault=type(fault).__name__)
        return otherwise
