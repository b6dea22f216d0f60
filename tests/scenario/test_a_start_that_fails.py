"""
A start that fails ends: nothing that was opened on the way keeps the process alive.
"""

import threading
from pathlib import Path
from typing import Any

import pytest

from proxy import wiring
from proxy.config.settings import AppSettings


async def test_a_fault_after_the_store_was_opened_leaves_no_thread_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The thread of a store once kept a process alive that neither served nor ended.
    """

    def broken(*_: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(wiring, "serving_of", broken)
    settings = AppSettings.model_validate(
        {
            "store": {"url": f"sqlite:///{tmp_path}/state.db"},
            "upstreams": {"sim": {"base_url": "http://127.0.0.1:9/v1"}},
        }
    )
    before = set(threading.enumerate())

    with pytest.raises(RuntimeError, match="a fault of ours"):
        await wiring.build(settings)

    stores = [thread for thread in set(threading.enumerate()) - before if "_connection_worker_thread" in thread.name]
    for thread in stores:
        thread.join(5)
    assert [thread for thread in stores if thread.is_alive()] == []
