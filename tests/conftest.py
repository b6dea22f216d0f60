"""
What every test gets: no environment of the machine, and the fixtures of the support folder.
"""

import os
from collections.abc import Iterator

import pytest
import structlog

pytest_plugins = [
    "tests.support.certificates",
    "tests.support.fake_upstream",
    "tests.support.processes",
    "tests.support.proxied",
    "tests.support.replicas",
    "tests.support.admin",
    "tests.support.browser",
]


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Take proxies and our own variables out of the environment.
    """
    for name in tuple(os.environ):
        if (name.startswith("CONCERTINA_") and name != "CONCERTINA_SHARED") or name.lower() in {
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "no_proxy",
            "openai_base_url",
        }:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def log_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """
    Forget how a test, or a verb that it ran in this process, set up the log: the next one would read it elsewhere.

    Loggers that are cached would not forget.
    """
    configure = structlog.configure
    monkeypatch.setattr(
        structlog, "configure", lambda **settings: configure(**{**settings, "cache_logger_on_first_use": False})
    )
    yield
    structlog.reset_defaults()
