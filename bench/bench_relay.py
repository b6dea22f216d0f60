"""
Large bodies, small requests beside them, and many streams at once: through the whole proxy and through a bare hop.

    python bench/bench_relay.py [SECONDS]

The upstream, each proxy and the load run in processes of their own. Only ratios and excesses within one run mean much.
"""

import asyncio
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time

import uvloop

from bench.speed import bare as bare_hop
from proxy.config.settings import AppSettings
from proxy.wiring import build

MEGABYTES = 20
ROUNDS = 7
STREAMS = 200
CHUNKS_A_SECOND = 10
SMALL = b'{"model":"m","messages":[{"role":"user","content":"hello"}]}'
IMAGE = (
    b'{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what is it?"},{"type":"image_url",'
    b'"image_url":{"url":"data:image/png;base64,' + b"iVBORw0KGgoAAAANSUhEUg" * (MEGABYTES * 2**20 // 22) + b'"}}]}]}'
)
ASK_STREAM = b'{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true}'
ANSWER = b'{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def read_request(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        tail = b""
        while size := int(await reader.readline(), 16):
            tail = (await reader.readexactly(size + 2))[-200:]
        await reader.readline()
        return tail
    at = lower.find(b"content-length:")
    size = int(lower[at + 15 : lower.index(b"\r", at)]) if at >= 0 else 0
    tail = b""
    while size:
        data = await reader.read(min(size, 2**20))
        size -= len(data)
        tail = data[-200:]
    return tail


def upstream(port, seconds):
    async def serve(reader, writer):
        try:
            while True:
                tail = await read_request(reader)
                if b'"stream":true' not in tail:
                    writer.write(HEAD)
                    continue
                writer.write(STREAM_HEAD)
                for number in range(int(seconds * CHUNKS_A_SECOND)):
                    event = b'data: {"choices":[{"delta":{"content":"%d %d"}}]}\n\n' % (number, time.monotonic_ns())
                    writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                    await writer.drain()
                    await asyncio.sleep(1 / CHUNKS_A_SECOND)
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main():
        await (await asyncio.start_server(serve, "127.0.0.1", port, limit=2**21, backlog=1024)).serve_forever()

    uvloop.run(main())


def bare(port, up):
    uvloop.run(bare_hop.main(port, up))


def whole(port, up):
    async def main():
        folder = tempfile.mkdtemp()
        proxy = await build(
            AppSettings.model_validate(
                {
                    "store": {"url": f"sqlite:///{folder}/state.db"},
                    "admin": {"listen": None},
                    "upstreams": {
                        "up": {"base_url": f"http://127.0.0.1:{up}/v1", "discover": False, "context_window": 128_000}
                    },
                }
            )
        )
        await proxy.start("127.0.0.1", port)
        await asyncio.Event().wait()

    import structlog  # noqa: PLC0415 - the load needs none

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    uvloop.run(main())


def request(body, target=b"/v1/chat/completions"):
    return b"POST %b HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (
        target,
        len(body),
    ), body


async def ask(port, head, body):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**21)
    started = time.perf_counter()
    writer.write(head)
    writer.write(body)
    await writer.drain()
    answer = await reader.readuntil(ANSWER)
    took = time.perf_counter() - started
    assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
    writer.close()
    return took


async def large(port, target):
    """
    Seconds for one large body.
    """
    return await ask(port, *request(IMAGE, target))


async def small_beside(port):
    """
    Seconds of small requests while large ones pass, one after the other.
    """
    running = asyncio.ensure_future(_some_large(port))
    took = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while not running.done():
        started = time.perf_counter()
        writer.writelines(request(SMALL))
        await reader.readuntil(ANSWER)
        took.append(time.perf_counter() - started)
        await asyncio.sleep(0.002)
    writer.close()
    await running
    return took


async def _some_large(port):
    # Written in slices with turns of the loop between them, so that the load itself does not make the small ones wait.
    for _ in range(4):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head, body = request(IMAGE)
        writer.write(head)
        for start in range(0, len(body), 2**18):
            writer.write(body[start : start + 2**18])
            await writer.drain()
            await asyncio.sleep(0)
        await reader.readuntil(ANSWER)
        writer.close()


async def one_stream(port, seconds):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.writelines(request(ASK_STREAM))
    await reader.readuntil(b"\r\n\r\n")
    late, expected = [], 0
    while size := int(await reader.readline(), 16):
        data = (await reader.readexactly(size + 2))[:-2]
        now = time.monotonic_ns()
        for event in data.split(b"\n\n")[:-1]:
            number, sent = event.split(b'"content":"')[1].split(b'"')[0].split()
            assert int(number) == expected, "out of order"
            expected += 1
            late.append((now - int(sent)) / 1e6)
    writer.close()
    assert expected == int(seconds * CHUNKS_A_SECOND), "a stream is not whole"
    return late


async def streams(port, seconds):
    """
    Milliseconds from the upstream's write to the client's read, of every chunk.
    """
    tasks = []
    for _ in range(STREAMS):
        tasks.append(asyncio.ensure_future(one_stream(port, seconds)))
        await asyncio.sleep(0.5 / STREAMS)
    return [late for found in await asyncio.gather(*tasks) for late in found]


def quantile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            uvloop.run(ask(port, *request(SMALL)))
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError


def started(seconds):
    ports = {name: free_port() for name in ("direct", "bare", "whole")}
    targets = {"direct": (upstream, seconds), "bare": (bare, ports["direct"]), "whole": (whole, ports["direct"])}
    for name, (target, argument) in targets.items():
        multiprocessing.Process(target=target, args=(ports[name], argument), daemon=True).start()
    for port in ports.values():
        wait_for(port)
    time.sleep(2)
    return ports


def report_large(ports, name, target):
    took = {key: [] for key in ports}
    for _ in range(ROUNDS):
        for key, port in ports.items():
            took[key].append(uvloop.run(large(port, target)) * 1e3)
    middle = {key: statistics.median(values) for key, values in took.items()}
    print(
        f"{MEGABYTES} MB {name}: "
        + ", ".join(f"{key} {value:.0f} ms" for key, value in middle.items())
        + f"; whole / bare {middle['whole'] / middle['bare']:.2f}"
    )


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    ports = started(seconds)
    print(f"load {os.getloadavg()[0]:.1f}, median of {ROUNDS} rounds")
    report_large(ports, "file", b"/v1/files")
    report_large(ports, "image in a chat", b"/v1/chat/completions")
    waits = {key: uvloop.run(small_beside(port)) for key, port in ports.items() for _ in range(2)}
    worst = {key: max(values) * 1e3 for key, values in waits.items()}
    print(
        "small requests beside them, longest (p50): "
        + ", ".join(f"{key} {worst[key]:.0f} ms ({quantile(waits[key], 0.5) * 1e3:.1f})" for key in waits)
        + f"; whole - bare {worst['whole'] - worst['bare']:.0f} ms"
    )
    late = {key: uvloop.run(streams(port, seconds)) for key, port in ports.items()}
    for share in (0.5, 0.99):
        at = {key: quantile(values, share) for key, values in late.items()}
        added = {key: at[key] - at["direct"] for key in ("bare", "whole")}
        print(
            f"{STREAMS} streams of {CHUNKS_A_SECOND} chunks a second, p{share * 100:.0f}: "
            + ", ".join(f"{key} {value:.1f} ms" for key, value in at.items())
            + f"; added whole / bare {added['whole'] / max(added['bare'], 0.01):.2f}"
        )


if __name__ == "__main__":
    main()
