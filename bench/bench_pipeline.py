"""
CPU that the pipeline alone takes for a request: between a fake edge and a fake upstream, without a socket.

    python -m bench.bench_pipeline [SECONDS] [KIND]

Beside each figure stands what a handler takes that forwards and looks at nothing, in the same run.
"""

import asyncio
import os
import statistics
import sys
import time
from dataclasses import replace

import uvloop

from bench.speed.bodies import chat, conversation, small
from bench.speed.targets import WINDOWS
from bench.speed.upstreams import ANSWER, CHUNK, END
from proxy.assembly import serving_of
from proxy.config.settings import AppSettings
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import set_up_log
from proxy.upstream.passthrough import PassthroughHandler
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.wire import Answer, Incoming, Prefixed, ReadyChunks
from proxy.wiring import build

ROUNDS = 5
CHUNKS = 200
HEADERS = (
    ("Host", "127.0.0.1"),
    ("Accept", "application/json"),
    ("Accept-Encoding", "gzip, deflate"),
    ("Authorization", "Bearer sk-bench"),
    ("User-Agent", "bench/1"),
    ("X-Stainless-Lang", "python"),
    ("X-Stainless-Read-Timeout", "600"),
    ("Content-Type", "application/json"),
)
BYTES_A_TOKEN = 4
USAGE = b',"usage":{"prompt_tokens":%d,"completion_tokens":5,"total_tokens":%d}}'
KINDS = {
    "small chat": small(),
    "small chat with usage": small(user="usage"),
    "50 KB chat with usage": chat(conversation(50_000), model="small", user="usage"),
    "1 MB chat, below the threshold": chat(conversation(1_000_000), model="million", user="usage"),
    f"stream of {CHUNKS} chunks": small(stream=True),
}


class Chunks(ReadyChunks):
    """
    A stream's chunks, each there when it is asked for.
    """

    def __init__(self):
        self.left = CHUNKS

    async def __anext__(self):
        self.left -= 1
        if self.left >= 0:
            return CHUNK
        if self.left == -1:
            return END
        raise StopAsyncIteration

    def ready(self):
        return b""

    @property
    def ended(self):
        return self.left < -1


class Upstream:
    """
    Answers at once, as the upstream client would.
    """

    async def send(self, outgoing):
        if b'"stream":true' in outgoing.body[-20:]:
            return Answer(200, "OK", (("Content-Type", "text/event-stream"),), Chunks())
        body = ANSWER
        if b'"user":"usage"' in outgoing.body[-20:]:
            tokens = len(outgoing.body) // BYTES_A_TOKEN
            body = ANSWER[:-1] + USAGE % (tokens, tokens + 5)
        headers = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
        return Answer(200, "OK", headers, Prefixed((body,)))


def settings():
    return AppSettings.model_validate(
        {
            "admin": {"listen": None},
            "store": {"url": "memory://"},
            "upstreams": {"up": {"base_url": "http://127.0.0.1:1/v1", "discover": False}},
            "models": {model: {"context_window": window} for model, window in WINDOWS.items()},
            "compaction": {"summarizer": {"kind": "extractive"}},
        }
    )


async def once(handler, body):
    """
    Ask and read the answer as the edge does.
    """
    answer = await handler.chat(Incoming("POST", "/v1/chat/completions", HEADERS, body))
    chunks = answer.chunks
    if isinstance(chunks, ReadyChunks):
        chunks.ready()
        if chunks.ended:
            answer.close()
            return
    async for _ in chunks:
        pass
    answer.close()


async def measure(handler, body, seconds):
    """
    Return microseconds of CPU for a request.
    """
    started, until, count = time.process_time(), time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        for _ in range(10):
            await once(handler, body)
        count += 10
        await asyncio.sleep(0)
    return (time.process_time() - started) / count * 1e6


async def run(seconds, wanted):
    proxy = await build(settings())
    await asyncio.to_thread(proxy.core.vocabulary.load)
    await asyncio.to_thread(proxy.core.accounts.prices.load)
    target = UpstreamTarget("up", proxy.settings.upstreams["up"])
    bare = PassthroughHandler(Upstream(), lambda _: target)
    ours = serving_of(proxy.settings, replace(proxy.core, client=Upstream()), proxy.knowledge).handler
    print(f"CPU for a request, median of {ROUNDS} rounds of {seconds:g} s, load {os.getloadavg()[0]:.1f}")
    for kind, body in KINDS.items():
        if wanted not in kind:
            continue
        for _ in range(20):
            await once(ours, body)
        figures = {"bare": [], "ours": []}
        for _ in range(ROUNDS):
            for name, handler in (("bare", bare), ("ours", ours)):
                figures[name].append(await measure(handler, body, seconds))
        middle = {name: statistics.median(found) for name, found in figures.items()}
        print(f"{kind:<32} bare {middle['bare']:7.1f} us  ours {middle['ours']:8.1f} us  "
              f"excess {middle['ours'] - middle['bare']:8.1f} us")  # fmt: skip
    await proxy.close()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    # The log is written where nobody reads it: to the file that standard error is.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    set_up_log(LogSettings(), terminal=False)
    uvloop.run(run(seconds, sys.argv[2] if len(sys.argv) > 2 else ""))


if __name__ == "__main__":
    main()
