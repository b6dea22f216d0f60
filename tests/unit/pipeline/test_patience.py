"""
How long a request may wait for a summary.
"""

from types import SimpleNamespace

import pytest

from proxy.pipeline.patience import patience


def exchange(*, wait: float = 30.0, stated: str | None = None, waited: float = 0.0) -> SimpleNamespace:
    """
    Return an exchange whose client states a read timeout.
    """
    headers = () if stated is None else (("X-Stainless-Read-Timeout", stated),)
    settings = SimpleNamespace(summarizer=SimpleNamespace(wait=wait))
    return SimpleNamespace(compaction=settings, incoming=SimpleNamespace(headers=headers), waited=waited)


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [(None, 30.0), ("600", 30.0), ("20", 10.0), ("5.0", 2.5), ("0", 0.0), ("-3", 0.0), ("None", 30.0), ("inf", 30.0)],
)
def test_the_wait_stays_under_the_clients_own_read_timeout(stated: str | None, seconds: float) -> None:
    """
    Half of it is left for the model's answer; what is no number counts for nothing.
    """
    assert patience(exchange(stated=stated)) == seconds


def test_what_was_waited_already_is_taken_off() -> None:
    """
    For what was being prepared.
    """
    assert (patience(exchange(waited=12.0)), patience(exchange(waited=99.0))) == (18.0, 0.0)
