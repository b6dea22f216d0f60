"""
CPU that one request costs: a minimal aiohttp-to-aiohttp proxy against this edge, in one run.

    python -m bench.bench_edge [REQUESTS]

An instant raw upstream and a raw load generator run in processes of their own; figures are the proxies' CPU time only.
"""

import asyncio
import multiprocessing
import os
import statistics
import sys
import time

import aiohttp
import uvloop
from aiohttp import web

from proxy.server.app import Edge
from proxy.server.run import Listening
from proxy.server.settings import LimitsSettings
from proxy.upstream.client import UpstreamClient
from proxy.upstream.passthrough import PassthroughHandler
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget

CONNECTIONS = 16
ROUNDS = 5
HEADERS = (
    b"Host: proxy\r\nAccept: application/json\r\nAccept-Encoding: gzip, deflate\r\nAuthorization: Bearer sk-bench\r\n"
    b"User-Agent: bench/1\r\nX-Stainless-Lang: python\r\nX-Stainless-Read-Timeout: 600\r\n"
)
BODY = b'{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":false}'
ANSWER_BODY = b'{"id":"c","choices":[{"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":9}}'
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: r\r\nopenai-processing-ms: 1\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(ANSWER_BODY), ANSWER_BODY)
)
CASES = {
    "GET /v1/models": b"GET /v1/models HTTP/1.1\r\n" + HEADERS + b"\r\n",
    "POST small chat": b"POST /v1/chat/completions HTTP/1.1\r\n"
    + HEADERS
    + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY),
}


class Instant(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        # One request a packet pair at most: the head comes with its small body.
        if data.endswith((b"\r\n\r\n", b"}")):
            self.transport.write(ANSWER)


def upstream(pipe):
    async def main():
        server = await asyncio.get_running_loop().create_server(Instant, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())


def bare(pipe, port):
    async def main():
        session = aiohttp.ClientSession(auto_decompress=False, connector=aiohttp.TCPConnector(limit=0))
        hop = {"host", "connection", "transfer-encoding", "content-length"}

        async def handle(request):
            body = await request.read()
            headers = [(k, v) for k, v in request.headers.items() if k.lower() not in hop]
            url = f"http://127.0.0.1:{port}{request.raw_path}"
            async with session.request(request.method, url, headers=headers, data=body or None) as got:
                answer = web.StreamResponse(status=got.status, headers=got.headers)
                await answer.prepare(request)
                async for chunk in got.content.iter_any():
                    await answer.write(chunk)
                await answer.write_eof()
                return answer

        runner = web.ServerRunner(web.Server(handle, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pipe.send(runner.addresses[0][1])
        await serve_figures(pipe)

    uvloop.run(main())


def ours(pipe, port):
    async def main():
        settings = UpstreamSettings(base_url=f"http://127.0.0.1:{port}/v1")
        target = UpstreamTarget("up", settings)
        handler = PassthroughHandler(UpstreamClient({"up": settings}), lambda *_: target)
        _, own = await Listening(Edge(handler, limits=LimitsSettings())).start("127.0.0.1", 0)
        pipe.send(own)
        await serve_figures(pipe)

    uvloop.run(main())


async def serve_figures(pipe):
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe.fileno(), lambda: pipe.send((pipe.recv(), time.process_time())))
    await asyncio.Event().wait()


async def load(port, request, count):
    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count // CONNECTIONS):
            writer.write(request)
            await reader.readuntil(b'"prompt_tokens":9}}')
        writer.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))


def cpu(pipe):
    pipe.send(None)
    return pipe.recv()[1]


def measure(pipe, port, request, count):
    before = cpu(pipe)
    uvloop.run(load(port, request, count))
    return (cpu(pipe) - before) / count * 1e6


def start(target, *args):
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(there, *args), daemon=True)
    process.start()
    return here, here.recv()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1600
    _, up = start(upstream)
    proxies = {"bare": start(bare, up), "edge": start(ours, up)}
    print(f"{count} requests, {CONNECTIONS} connections, median of {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}")
    for name, request in CASES.items():
        figures = {key: [] for key in proxies}
        for round_ in range(ROUNDS + 1):
            for key, (pipe, port) in proxies.items():
                took = measure(pipe, port, request, count)
                if round_:
                    figures[key].append(took)
        median = {key: statistics.median(values) for key, values in figures.items()}
        print(
            f"{name}: bare {median['bare']:.0f} us, edge {median['edge']:.0f} us, {median['edge'] / median['bare']:.2f}x"
        )


if __name__ == "__main__":
    main()
