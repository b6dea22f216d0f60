"""
The yardstick: the smallest aiohttp-to-aiohttp proxy that forwards headers and streams both ways.

    python -m bench.speed.bare PORT UPSTREAM_PORT
"""

import asyncio
import sys

import aiohttp
import uvloop
from aiohttp import web

HOP = {"host", "connection", "transfer-encoding", "content-length"}


async def main(port: int, upstream: int) -> None:
    session = aiohttp.ClientSession(auto_decompress=False, connector=aiohttp.TCPConnector(limit=0))

    async def handle(request):
        big = (request.content_length or 0) > 1_000_000
        body = (request.content if big else await request.read()) if request.can_read_body else None
        headers = [(k, v) for k, v in request.headers.items() if k.lower() not in HOP]
        url = f"http://127.0.0.1:{upstream}{request.raw_path}"
        if big:
            headers.append(("Content-Length", str(request.content_length)))
        async with session.request(request.method, url, headers=headers, data=body or None) as got:
            answer = web.StreamResponse(
                status=got.status, headers=[(k, v) for k, v in got.headers.items() if k.lower() != "transfer-encoding"]
            )
            await answer.prepare(request)
            async for chunk in got.content.iter_any():
                await answer.write(chunk)
            await answer.write_eof()
            return answer

    runner = web.ServerRunner(web.Server(handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, backlog=2048).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2])))
