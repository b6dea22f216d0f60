"""
The real proxy in front of the simulator: what a model would see is read off the bytes that the upstream received.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO

import aiohttp

from bench.quality.views import TAIL_SHARE
from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.config.settings import AppSettings
from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import build

TARGET_RATIO = 0.8
"""So high that a tail of 15 % of the target is a share of the threshold that the settings allow."""
FIRST_MARGIN = 1.2
"""What the proxy allows for the error of its count as long as no upstream told a real one."""
WINDOW_OVER_THRESHOLD = 2.5
"""Where the threshold is a smaller share of the window the proxy raises it."""
HEADERS = {"x-concertina-force": "true", "authorization": "Bearer bench", "content-type": "application/json"}


@dataclass(frozen=True)
class Job:
    """
    Rows to be sent once, and the size in tokens that the compaction aims at.
    """

    rows: Sequence[Message]
    budget: int
    system: str = ""

    @property
    def messages(self) -> list[Message]:
        return [*([{"role": "system", "content": self.system}] if self.system else []), *self.rows]


async def received(jobs: Sequence[Job], vocabulary: Vocabulary, **compaction: object) -> AsyncIterator[list[Message]]:
    """
    Yield, job by job, the rows that reached the upstream; *compaction* are further settings.
    """
    async with _running(jobs, vocabulary, compaction) as (upstream, session, url):
        for number, job in enumerate(jobs):
            await _post(session, url, {"model": _model(number), "messages": job.messages})
            yield upstream.main_calls[-1].messages


async def after_rounds(
    stages: Sequence[Sequence[Message]], budget: int, vocabulary: Vocabulary, **compaction: object
) -> list[Message]:
    """
    Return what reached the upstream of the last stage of one conversation, compacted anew at each.
    """
    async with _running([Job(stages[-1], budget)], vocabulary, compaction) as (upstream, session, url):
        for rows in stages:
            await _post(session, url, {"model": _model(0), "messages": list(rows)})
        return upstream.main_calls[-1].messages


async def _post(session: aiohttp.ClientSession, url: str, data: dict[str, object]) -> None:
    async with session.post(url, data=BytesIO(dumps(data)), headers=HEADERS) as response:
        await response.read()
        if response.status != 200:
            raise RuntimeError(f"the proxy answered {response.status}")


@asynccontextmanager
async def _running(
    jobs: Sequence[Job], vocabulary: Vocabulary, compaction: dict[str, object]
) -> AsyncIterator[tuple[Simulator, aiohttp.ClientSession, str]]:
    counter = TokenCounter(vocabulary, CountCache())
    upstream = Simulator(SimulatorSettings(remember=2, strict=False), counter=counter)
    await upstream.start()
    settings = AppSettings.model_validate(
        {
            "store": {"url": "memory://"},
            "log": {"level": "error"},
            "upstreams": {"sim": {"base_url": upstream.url, "discover": False}},
            "models": {
                _model(n): {"context_window": int(_threshold(j) * WINDOW_OVER_THRESHOLD)} for n, j in enumerate(jobs)
            },
            "routes": [_route(number, job, compaction) for number, job in enumerate(jobs)],
        }
    )
    proxy = await build(settings, vocabulary=vocabulary)
    listening, host, port = await proxy.start("127.0.0.1", 0)
    try:
        async with aiohttp.ClientSession() as session:
            yield upstream, session, f"http://{host}:{port}/v1/chat/completions"
    finally:
        await listening.stop()
        await proxy.close()
        await upstream.stop()


def _model(number: int) -> str:
    return f"gpt-4o-job-{number}"


def _threshold(job: Job) -> int:
    return max(int(job.budget * FIRST_MARGIN / TARGET_RATIO), 1)


def _route(number: int, job: Job, compaction: dict[str, object]) -> dict[str, object]:
    own = {
        "threshold_tokens": _threshold(job),
        "target_ratio": TARGET_RATIO,
        "summary_target_ratio": TAIL_SHARE * TARGET_RATIO,
        "prepare_at": None,
        "summarizer": {"kind": "extractive"},
        **compaction,
    }
    return {"name": f"job-{number}", "match": {"model": _model(number)}, "upstream": "sim", "compaction": own}
