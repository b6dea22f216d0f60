"""
What a proxy says of its environment when it starts.
"""

from typing import Any

import pytest

from tests.support.processes import ServeFactory

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_misspelt_variable_is_told_once_and_keeps_nothing_from_running(
    serve_factory: ServeFactory, upstream: Any, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """
    Its name, never its value; of a variable that Kubernetes sets nothing is said.
    """
    monkeypatch.delenv("CONCERTINA_SHARED", raising=False)
    monkeypatch.setenv("CONCERTINA_ADMINTOKEN", "sk-secret-of-the-test")
    monkeypatch.setenv("CONCERTINA_PORT_8080_TCP", "tcp://10.0.0.1:8080")
    served = await serve_factory(upstream.url, workers=workers)
    await served.event("admin.listening")

    told = [each for each in served.events if each["event"] == "environment.stray"]
    assert [(each["level"], each["variable"], each["hint"]) for each in told] == [
        ("warning", "CONCERTINA_ADMINTOKEN", "did you mean CONCERTINA_ADMIN_TOKEN?")
    ]
    assert "sk-secret" not in str(served.events)
