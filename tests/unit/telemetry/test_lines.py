"""
Lines of the log: gathered for a turn of the loop, in order, and never a reason to stop.
"""

import asyncio
import io
import os
import threading

import pytest

from proxy.telemetry.lines import Lines


class Stream(io.BytesIO):
    """
    Keeps each write apart.
    """

    def __init__(self):
        super().__init__()
        self.writes = []

    def write(self, data):
        self.writes.append(bytes(data))
        return len(data)


class Full(Stream):
    """
    A disk with no room left.
    """

    def write(self, data):
        raise OSError(28, "No space left on device")


async def a_turn():
    """
    Let the loop turn until what was called soon has been called.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_without_a_loop_a_line_is_written_at_once():
    """
    What is told before and after serving must not wait for anything.
    """
    stream = Stream()
    Lines(stream).info(b"one")

    assert stream.writes == [b"one\n"]


async def test_the_lines_of_one_turn_leave_in_one_write():
    """
    In the order in which they were told, and by the next turn of the loop.
    """
    stream = Stream()
    lines = Lines(stream)
    with lines.gathered(asyncio.get_running_loop()):
        lines.info(b"one")
        lines.info(b"two")
        before = list(stream.writes)
        await a_turn()
        lines.info(b"three")
        await a_turn()

    assert (before, stream.writes) == ([], [b"one\ntwo\n", b"three\n"])


@pytest.mark.parametrize("level", ["warning", "error", "exception", "critical"])
async def test_a_warning_does_not_wait(level):
    """
    The process may be about to end; what was told before it still stands before it.
    """
    stream = Stream()
    lines = Lines(stream)
    with lines.gathered(asyncio.get_running_loop()):
        lines.info(b"one")
        getattr(lines, level)(b"two")
        written = list(stream.writes)

    assert written == [b"one\ntwo\n"]


async def test_another_thread_does_not_touch_the_loop():
    """
    Its lines are written by itself, behind those that wait.
    """
    stream = Stream()
    lines = Lines(stream)
    with lines.gathered(asyncio.get_running_loop()):
        lines.info(b"one")
        thread = threading.Thread(target=lines.info, args=(b"two",))
        thread.start()
        thread.join()
        written = list(stream.writes)

    assert written == [b"one\ntwo\n"]


async def test_nothing_is_left_behind_when_gathering_ends():
    """
    The loop may not turn again.
    """
    stream = Stream()
    lines = Lines(stream)
    with lines.gathered(asyncio.get_running_loop()):
        lines.info(b"one")
    lines.info(b"two")

    assert stream.writes == [b"one\n", b"two\n"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_the_child_of_a_fork_writes_its_own_lines_alone(tmp_path):
    """
    Those that waited are the parent's to write.
    """
    path = tmp_path / "log"

    async def fork():
        with path.open("ab") as stream:
            lines = Lines(stream)
            with lines.gathered(asyncio.get_running_loop()):
                lines.info(b"parent")
                child = os.fork()
                if child == 0:
                    lines.info(b"child")
                    os._exit(0)
                os.waitpid(child, 0)

    asyncio.run(fork())

    assert path.read_bytes() == b"child\nparent\n"


async def test_a_line_that_cannot_be_written_stops_nobody():
    """
    A full disk costs the log, not the requests.
    """
    lines = Lines(Full())
    with lines.gathered(asyncio.get_running_loop()):
        lines.info(b"one")
        lines.error(b"two")
