"""
What libraries tell, and the event loop: told as events, and never in their own words.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
START = """
import asyncio, logging
from proxy.server.run import new_loop
from proxy.telemetry.libraries import tell_of_libraries
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import set_up_log

set_up_log(LogSettings(format=FORMAT), terminal=False)
tell_of_libraries()
SECRET = "sk-secret"

def burst(text):
    raise ValueError(text)

class Protocol(asyncio.Protocol):
    def data_received(self, data):
        raise ValueError(data)

async def in_a_callback():
    asyncio.get_running_loop().call_soon(burst, SECRET)
    await asyncio.sleep(0.01)

async def in_a_protocol():
    server = await asyncio.get_running_loop().create_server(Protocol, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(SECRET.encode())
    try:
        await reader.read()
    except OSError:
        pass
    writer.close()
    server.close()

async def in_a_library():
    logging.getLogger("some.library").error("cannot use %s", SECRET)

with asyncio.Runner(loop_factory=LOOP) as runner:
    runner.run(CASE())
"""


def told(case: str, *, loop: str = "new_loop", form: str = "json") -> str:
    """
    Return what a process of its own writes to standard error in a *case*.
    """
    program = START.replace("CASE", case).replace("LOOP", loop).replace("FORMAT", repr(form))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environ, timeout=60, check=True
    )
    return done.stderr


@pytest.mark.parametrize("case", ["in_a_callback", "in_a_protocol"])
@pytest.mark.parametrize("loop", ["new_loop", "asyncio.new_event_loop"])
def test_a_fault_that_nobody_waits_for_is_told_by_class_and_place(case: str, loop: str) -> None:
    """
    Its text, and the arguments of what was called, may be a client's.
    """
    text = told(case, loop=loop)
    (event,) = [json.loads(line) for line in text.splitlines()]

    assert (event["event"], event["level"]) == ("library.told", "error")
    assert (event["library"], event["error"]) == ("asyncio", "ValueError")
    assert event["where"]
    assert "sk-secret" not in text


def test_what_a_library_says_without_a_fault_is_told_as_it_stands_in_its_code() -> None:
    """
    What it puts in there may be anybody's.
    """
    text = told("in_a_library")
    event = json.loads(text)

    assert (event["library"], event["what"]) == ("some.library", "cannot use %s")
    assert "sk-secret" not in text


@pytest.mark.parametrize("case", ["in_a_callback", "in_a_library"])
def test_a_log_for_people_tells_no_more(case: str) -> None:
    """
    It is text, and kept in files like any other.
    """
    text = told(case, form="console")

    assert "library.told" in text
    assert "sk-secret" not in text
