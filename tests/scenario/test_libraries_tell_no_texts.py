"""
Whatever runs in a process that serves: faults that nobody waits for are events, and their texts stay there.
"""

import pytest

pytestmark = pytest.mark.slow
PLUG_IN = """
import logging
logging.getLogger("their.library").error("lost %s", "sk-secret", exc_info=ValueError("sk-secret"))
def on_pre_compress(messages):
    return None
"""


@pytest.mark.parametrize("workers", [1, 2])
async def test_each_process_tells_of_libraries_by_class(serve_factory, upstream_factory, tmp_path, workers) -> None:
    """
    In one process, and in those that a supervisor forked.
    """
    (tmp_path / "noisy.py").write_text(PLUG_IN)
    simulator = await upstream_factory()
    served = await serve_factory(simulator.url, workers=workers, plugins_dir=str(tmp_path))
    events = await served.events_named("library.told", workers)

    assert {(one["library"], one["error"], one["level"]) for one in events} == {
        ("their.library", "ValueError", "error")
    }
    assert "sk-secret" not in str(served.events)
