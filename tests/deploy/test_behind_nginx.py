"""
A real nginx with deploy/nginx.conf in front of the real proxy: streams arrive as they are made.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from proxy.chat.json import dumps
from proxy.simulator.steps import answer
from tests.support.conversations import user
from tests.support.processes import free_port

CONF = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
pytestmark = pytest.mark.slow


def moved(text: str, *, port: int, proxy: str, folder: Path) -> str:
    """
    Return the configuration with addresses and files of this test; nothing that decides how requests are handled.
    """
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{port};")
    text = text.replace("server concertina:8080;", f"server {proxy};")
    text = re.sub(r"/tmp/nginx\.pid|/dev/stdout|/dev/stderr", lambda hit: str(folder / Path(hit[0]).name), text)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    extra = "".join(f"    {place}_temp_path {folder}/{place};\n" for place in places)
    return text.replace("http {\n", f"http {{\n{extra}", 1)


@pytest.fixture
async def nginx(tmp_path: Path, proxy_factory: Any, upstream_factory: Any) -> AsyncIterator[Any]:
    """
    Start simulator, proxy and nginx; give the URL and the simulator.
    """
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("nginx is not installed")
    upstream = await upstream_factory(chunk_delay_seconds=0.2)
    proxied = await proxy_factory(upstream.url)
    port = free_port()
    conf = tmp_path / "nginx.conf"
    address = proxied.url.removeprefix("http://").removesuffix("/v1")
    conf.write_text(moved(CONF.read_text("utf-8"), port=port, proxy=address, folder=tmp_path), "utf-8")
    command = [program, "-c", str(conf), "-e", str(tmp_path / "error.log"), "-p", str(tmp_path)]
    test = await asyncio.create_subprocess_exec(*command, "-t", stderr=asyncio.subprocess.PIPE)
    said = (await test.communicate())[1]
    assert test.returncode == 0, said.decode()
    process = await asyncio.create_subprocess_exec(*command, "-g", "daemon off;")
    async with asyncio.timeout(20):
        while not await accepts(port):
            await asyncio.sleep(0.05)
    yield f"http://127.0.0.1:{port}/v1/chat/completions", upstream
    process.terminate()
    await process.wait()


async def accepts(port: int) -> bool:
    """
    Tell whether somebody listens there.
    """
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_a_stream_arrives_piece_by_piece(nginx: Any) -> None:
    """
    With buffering, everything would come at once at the end: so the first piece is here while the upstream still writes.
    """
    url, upstream = nginx
    upstream.will(answer("word " * 10))
    body = dumps({"model": "sim-model", "messages": [user("hello")], "stream": True})
    async with aiohttp.ClientSession() as http, http.post(url, data=body) as response:
        first = await response.content.readuntil(b"\n\n")
        unfinished = not upstream.main_calls[0].finished
        rest = await response.read()

    assert first.startswith(b"data: ")
    assert unfinished
    assert rest.endswith(b"data: [DONE]\n\n")


async def test_a_long_history_is_let_through(nginx: Any) -> None:
    """
    Nginx refuses more than one megabyte unless it is told otherwise.
    """
    url, upstream = nginx
    body = dumps({"model": "sim-model", "messages": [user("x" * 8_000_000)]})
    async with aiohttp.ClientSession() as http, http.post(url, data=BytesIO(body)) as response:
        status, action = response.status, response.headers.get("x-concertina-action")

    assert status == 200
    assert action is not None
    assert upstream.main_calls


async def test_a_client_that_leaves_ends_the_call_upstream(nginx: Any) -> None:
    """
    Through nginx, proxy and all.
    """
    url, upstream = nginx
    upstream.will(answer("word " * 100))
    body = dumps({"model": "sim-model", "messages": [user("hello")], "stream": True})
    async with aiohttp.ClientSession() as http, http.post(url, data=body) as response:
        await response.content.readuntil(b"\n\n")
    await upstream.until(lambda: upstream.main_calls[0].cancelled)

    assert not upstream.main_calls[0].finished
