import subprocess
import sys

import pytest

from bench.speed.processes import Server

BURNT = 0.2
BURN = f"import time\nwhile time.process_time() < {BURNT}: pass"
PARENT = """
import subprocess, sys
for _ in range(2):
    subprocess.run([sys.executable, "-c", sys.argv[1]], check=True)
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_counts_the_work_of_children_that_have_ended():
    """
    Long work is done in processes that end when it is done; it costs all the same.
    """
    command = [sys.executable, "-c", PARENT, BURN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        told = Server(process, 0).cpu()
        process.stdin.close()

    assert told >= 2 * BURNT
