"""
Upstreams that cost next to nothing, in processes of their own.

    python -m bench.speed.upstreams canned|stream PORT
"""

import asyncio
import contextlib
import gc
import itertools
import re
import shutil
import sys
import time
from pathlib import Path

import uvloop

from bench.speed.facts import ROOT
from bench.speed.processes import Server, free_port, start

ANSWER = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"A short answer."},"finish_reason":"stop"}]}'
)
CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
)
STAMPED = CHUNK.replace(b" word", b" %d")
"""Says when it left, in nanoseconds of a clock that all processes of a machine share."""
GOLDEN = 0.618034
"""Streams begin at shares of the pause that lie as far apart as can be, however many there are, and not all at once."""
END = b"data: [DONE]\n\n"
PACE = re.compile(rb"stream (\d+) chunks, one in ([\d.]+) ms")
"""What a client writes into its message, since some proxies forward no header that they do not know."""
START = 4_000
"""Bytes of a request that are kept to look into."""
NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
    access_log off; client_max_body_size 0; client_body_buffer_size 2m; keepalive_requests 1000000000;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; default_type application/json;
    server {{ listen 127.0.0.1:{port} backlog=1024; location / {{ return 200 '{answer}'; }} }}
}}
"""


def canned(folder: Path) -> tuple[str, Server]:
    """
    Start nginx with one answer to everything, or asyncio where it is not installed; say which.
    """
    port = free_port()
    if shutil.which("nginx"):
        folder.mkdir(exist_ok=True)
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, answer=ANSWER.decode()))
        command = ["nginx", "-p", folder, "-c", folder / "nginx.conf"]
        return "nginx", start(command, port, log=folder / "log")
    return "asyncio", _own("canned", port)


def stream() -> Server:
    """
    Start the server of paced event streams.
    """
    return _own("stream", free_port())


def simulator() -> Server:
    """
    Start the project's own simulator, strict as providers are.
    """
    port = free_port()
    command = [sys.executable, "-m", "proxy.cli", "simulate", "--listen", f"127.0.0.1:{port}"]
    return start(command, port, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, ready="/v1/models")


def _own(kind: str, port: int) -> Server:
    return start([sys.executable, "-m", "bench.speed.upstreams", kind, port], port, cwd=ROOT)


class Canned(asyncio.Protocol):
    """
    Answers each request, once its body has come.
    """

    def connection_made(self, transport):
        self.transport = transport
        self.data = bytearray()
        self.missing = 0

    def data_received(self, data):
        if self.missing:
            part, data = data[: self.missing], data[self.missing :]
            self.missing -= len(part)
            self.start += part[: max(0, START - len(self.start))]
            if self.missing:
                return
            self.answer(self.start)
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.data[: end + 4]).lower()
            length = end + 4 + int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            self.start = bytes(self.data[: min(length, START)])
            if len(self.data) < length:
                self.missing = length - len(self.data)
                self.data.clear()
                return
            del self.data[:length]
            self.answer(self.start)

    def answer(self, _start):
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
        )


class Stream(Canned):
    """
    Answers with as many chunks as the client asked for, and as fast.
    """

    numbers = itertools.count()

    def answer(self, start):
        asked = PACE.search(start)
        if asked is None:
            super().answer(start)
            return
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        self.left, self.pause = int(asked[1]), float(asked[2]) / 1000
        loop = asyncio.get_running_loop()
        self.next = loop.time() + next(self.numbers) * GOLDEN % 1 * self.pause
        loop.call_at(self.next, self.step)

    def step(self):
        if self.transport.is_closing():
            return
        if not self.left:
            self.transport.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(END), END))
            return
        self.left -= 1
        chunk = STAMPED % time.monotonic_ns()
        self.transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        loop = asyncio.get_running_loop()
        # Paced by the clock, so that a busy machine delays no chunk for good; never two at once.
        self.next = max(self.next + self.pause, loop.time() + 0.0002)
        loop.call_at(self.next, self.step)


async def _serve(kind: str, port: int) -> None:
    protocol = {"canned": Canned, "stream": Stream}[kind]
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", port, backlog=2048)
    with contextlib.suppress(asyncio.CancelledError):
        await server.serve_forever()


if __name__ == "__main__":
    gc.disable()  # so that it never pauses by itself; what it makes needs none
    uvloop.run(_serve(sys.argv[1], int(sys.argv[2])))
