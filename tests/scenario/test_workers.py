"""
Several workers on one port: all serve, one that dies is replaced, and they leave together.
"""

import asyncio
import os
import re
import signal
import socket
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.mmap_dict import MmapedDict

from proxy.simulator.steps import answer, delay
from tests.support.processes import Served

pytestmark = pytest.mark.slow
BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


async def ask(served: Served, times: int) -> None:
    for _ in range(times):
        status, _ = await served.post(BODY)
        assert status == 200


async def requests_counted(served: Served) -> float:
    """Return the sum over all workers, as the admin port tells it."""
    _, text = await served.get(f"{served.admin}/metrics")
    found = re.findall(rb"^concertina_requests_total\{.*\} (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))


def served_by_each(folder: Path) -> list[float]:
    """Return what each worker counted for itself."""
    return [
        sum(
            value
            for key, value, *_ in MmapedDict.read_all_values_from_file(str(file))
            if "concertina_requests_total" in key
        )
        for file in sorted(folder.glob("concertina-*/counter_*.db"))
    ]


async def test_all_workers_serve(two_workers: Served) -> None:
    """Connections are spread over the workers, and the metrics of the admin port are the sum."""
    await ask(two_workers, 40)
    each = served_by_each(two_workers.folder)

    assert len(each) == 2
    assert all(each)
    assert (sum(each), await requests_counted(two_workers)) == (40, 40)


async def test_a_worker_that_dies_is_replaced(two_workers: Served) -> None:
    """Clients are served all along, the replacement serves too, and nothing that was counted is lost."""
    await ask(two_workers, 20)
    first, second = await two_workers.pids(2)
    os.kill(first, signal.SIGKILL)
    died = await two_workers.event("worker.died")
    await ask(two_workers, 20)
    replaced = await two_workers.pids(2)
    before = served_by_each(two_workers.folder)
    await ask(two_workers, 40)
    after = served_by_each(two_workers.folder)

    assert (died["worker"], died["code"]) == ("worker-0", -signal.SIGKILL)
    assert second in replaced
    assert first not in replaced
    assert all(now > then for now, then in zip(after, before, strict=True))
    assert await requests_counted(two_workers) == 80


async def test_sigterm_lets_running_exchanges_end(two_workers: Served, upstream) -> None:
    """New connections are refused at once, the answer under way arrives whole, and the exit code is 0."""
    upstream.will(delay(1.0, answer("late")))
    running = asyncio.ensure_future(two_workers.post(BODY))
    while not upstream.received:
        await asyncio.sleep(0.02)
    two_workers.process.send_signal(signal.SIGTERM)
    refused = False
    while not (refused or running.done()):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", int(two_workers.url.rpartition(":")[2]))
            writer.close()
        except ConnectionRefusedError:
            refused = True
        await asyncio.sleep(0.02)
    status, body = await running

    assert (refused, status, b"late" in body) == (True, 200, True)
    assert await two_workers.ended() == 0


async def test_a_second_signal_ends_it_at_once(two_workers: Served, upstream) -> None:
    """Who asks twice is in a hurry: what runs is cut, and the exit code says so."""
    upstream.will(delay(60.0, answer("never")))
    running = asyncio.ensure_future(two_workers.post(BODY))
    while not upstream.received:
        await asyncio.sleep(0.02)
    two_workers.process.send_signal(signal.SIGTERM)
    await asyncio.sleep(0.2)
    two_workers.process.send_signal(signal.SIGTERM)

    assert await two_workers.ended() == 1
    with pytest.raises(aiohttp.ClientError):
        await running


async def test_sigterm_to_all_processes_is_no_haste(two_workers: Served, upstream) -> None:
    """A service manager sends it to the workers as well as to their parent, so that they get it twice."""
    upstream.will(delay(0.7, answer("late")))
    running = asyncio.ensure_future(two_workers.post(BODY))
    pids = await two_workers.pids(2)
    while not upstream.received:
        await asyncio.sleep(0.02)
    two_workers.process.send_signal(signal.SIGTERM)
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    status, _ = await running

    assert (status, await two_workers.ended()) == (200, 0)


async def test_workers_do_not_outlive_their_parent(two_workers: Served) -> None:
    """Killed without a chance to tell them, it leaves no process and no listening socket behind."""
    pids = await two_workers.pids(2)
    two_workers.process.kill()
    await two_workers.ended()
    async with asyncio.timeout(20):
        while any(alive(pid) for pid in pids):
            await asyncio.sleep(0.05)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(two_workers.url.rpartition(":")[2]))


async def test_sighup_ends_nobody(two_workers: Served) -> None:
    """It asks for other settings, not for an end."""
    before = await two_workers.pids(2)
    two_workers.process.send_signal(signal.SIGHUP)
    await ask(two_workers, 4)

    assert await two_workers.pids(2) == before


async def test_settings_that_cannot_be_met_end_it(serve_factory, upstream) -> None:
    """Each worker would end the same way, so none is started again; the exit code is that of a mistake."""
    served = await serve_factory(upstream.url, workers=2, store={"url": "memory://", "encryption_key": "k"})

    assert await served.ended() == 2
    assert {event["event"] for event in served.events} >= {"workers.memory_store", "proxy.refused"}


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_port_in_use_is_a_failure(serve_factory, upstream, workers) -> None:
    """Even one that would let itself be shared: two proxies that split the clients of one port are a mistake."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        served = await serve_factory(upstream.url, workers=workers, listen=f"127.0.0.1:{other.getsockname()[1]}")

        assert await served.ended() == 1
    await served.event("proxy.cannot_listen")


async def test_one_process_serves_the_same_metrics(serve_factory, upstream) -> None:
    """With one worker there is one process, and the admin port asks itself."""
    served = await serve_factory(upstream.url, workers=1)
    where = await served.event("proxy.listening")
    served.url = f"http://{where['host']}:{where['port']}"
    await served.event("admin.listening")
    await ask(served, 3)

    assert await requests_counted(served) == 3
    assert served_by_each(served.folder) == []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").exists() else True
