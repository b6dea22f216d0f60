"""
Ask a small question every 10 ms until a line comes on standard input; print the milliseconds of each answer.

    python -m bench.speed.probe PORT FILE
"""

import asyncio
import sys
import time
from pathlib import Path

import uvloop

from bench.speed.load import Client

PAUSE = 0.01


async def main(port: int, request: bytes) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), told.set)
    _, client = await loop.create_connection(Client, "127.0.0.1", port)
    while not told.is_set():
        begun = time.perf_counter()
        await client.ask(request)
        print((time.perf_counter() - begun) * 1e3)
        await asyncio.sleep(PAUSE)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
