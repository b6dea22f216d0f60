"""
Memory that was needed for a moment goes back to the system.
"""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.pipeline.heap import give_back

STATUS = Path("/proc/self/smaps_rollup")


ON_GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or not STATUS.exists(), reason="needs glibc and /proc")
SECOND_LARGE = """
from tests.unit.pipeline.test_heap import resident
from proxy.pipeline.heap import keep_large_apart

keep_large_apart()
large = b"x" * 20_000_000
del large
before = resident()
large = b"x" * 20_000_000
small = [bytes(2_000) for _ in range(1_000)]
del large
print(resident() - before)
"""
"""What glibc would put between small things, having seen the first one go."""


def resident() -> int:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))


@ON_GLIBC
def test_free_pages_below_one_that_is_in_use_go_back():
    """
    Forty megabytes of freed pieces would stay with the process for good, since the last piece is still in use.
    """
    pieces = [bytes(2_000) for _ in range(20_000)]
    del pieces[:-1]
    before = resident()

    give_back()

    assert resident() < before - 20_000


@ON_GLIBC
def test_what_is_large_goes_back_at_once():
    """
    Also where something small was made after it, and although one of its size was seen before.
    """
    said = subprocess.run([sys.executable, "-c", SECOND_LARGE], capture_output=True, check=True, text=True)

    assert int(said.stdout) < 10_000
