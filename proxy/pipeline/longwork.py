"""
Long work goes on when the process that does it is lost: in another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import structlog

from proxy.pipeline.workbench import Job
from proxy.pipeline.workshop import Workshop, WorkshopError, WorkshopGoneError

log = structlog.get_logger()
T = TypeVar("T")
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0


def pause_after(in_vain: int) -> float:
    """
    Return the seconds before the next start: none after one loss, more with each process that did no job before its end.
    """
    return min(FIRST_PAUSE * 2 ** (in_vain - 2), LONGEST_PAUSE) if in_vain > 1 else 0.0


class LongWork:
    """
    Does jobs in a *workshop*, and in another where there is none any more; ``do`` blocks, and is for one thread.
    """

    def __init__(
        self,
        workshop: Workshop | None = None,
        *,
        start: Callable[[], Workshop] = Workshop.start,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workshop = workshop
        self._start = start
        self._clock = clock
        self._in_vain = 0
        self._due = 0.0
        self._closed = False

    def do(self, job: Job[T]) -> T:
        """
        Return what *job* returns, or raise what it raises; ``WorkshopError`` where it has to be done elsewhere.
        """
        workshop = self._opened()
        try:
            return workshop.do(job)
        except WorkshopGoneError:
            self._lost(workshop)
            raise
        except WorkshopError:
            log.warning("workshop.job_killed")
            raise

    def close(self) -> None:
        """
        Let the other process go.
        """
        self._closed = True
        if self._workshop is not None:
            self._workshop.close()

    def _opened(self) -> Workshop:
        if self._workshop is None:
            if self._closed or self._clock() < self._due:
                raise WorkshopError("none is started just now")
            try:
                self._workshop = self._start()
            except OSError as fault:
                self._lost(None)
                raise WorkshopGoneError(str(fault)) from fault
            if self._closed:
                # Whoever closed this could not know of it.
                self._workshop.close()
        return self._workshop

    def _lost(self, workshop: Workshop | None) -> None:
        if self._closed:
            return
        if workshop is not None:
            workshop.close()
        self._workshop = None
        self._in_vain = 1 if workshop is not None and workshop.answered else self._in_vain + 1
        pause = pause_after(self._in_vain)
        self._due = self._clock() + pause
        log.error("workshop.lost", restart_in=pause)
