"""
Memory that was needed for a moment goes back to the system.
"""

import platform
from pathlib import Path

import pytest

from proxy.pipeline.heap import give_back

STATUS = Path("/proc/self/smaps_rollup")


def resident() -> int:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Rss:"))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc" or not STATUS.exists(), reason="needs glibc and /proc")
def test_free_pages_below_one_that_is_in_use_go_back():
    """
    Forty megabytes of freed pieces would stay with the process for good, since the last piece is still in use.
    """
    pieces = [bytes(2_000) for _ in range(20_000)]
    del pieces[:-1]
    before = resident()

    give_back()

    assert resident() < before - 20_000
