"""
A loop of which only the timers run, at the pace of the test.
"""

from __future__ import annotations

import asyncio


class Timers:
    """
    Stands in for a loop; *set* counts the timers that were set.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.set = 0
        self.due: list[tuple[float, asyncio.TimerHandle]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: object, *args: object) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, asyncio.get_event_loop())  # type: ignore[arg-type]
        self.set += 1
        self.due.append((when, handle))
        return handle

    def call_later(self, delay: float, callback: object, *args: object) -> asyncio.TimerHandle:
        return self.call_at(self.now + delay, callback, *args)

    def pass_until(self, then: float) -> None:
        while due := [one for one in self.due if one[0] <= then and not one[1].cancelled()]:
            self.due = [one for one in self.due if one is not due[0]]
            self.now = max(self.now, due[0][0])
            due[0][1]._run()
        self.now = then
