"""
How the models do that write summaries.
"""

from proxy.pipeline.summary_health import MOST_WRITERS, SummaryHealth


def test_what_came_last_is_told_with_the_sums() -> None:
    """
    A failure before an answer is history.
    """
    times = iter((10.0, 20.0))
    health = SummaryHealth(lambda: next(times))
    health.failed("r", "u / m", "timeout")
    health.answered("r", "u / m")

    assert health.told() == {
        "r": {"u / m": {"calls": 2, "failures": 1, "last_at": 20.0, "last_fault_at": 10.0, "last_fault": "timeout"}}
    }


def test_invented_names_do_not_fill_the_memory() -> None:
    """
    Clients choose the names of models.
    """
    health = SummaryHealth(lambda: 0.0)
    for number in range(3 * MOST_WRITERS):
        health.answered("r", f"u / m{number}")

    assert len(health.told()["r"]) <= MOST_WRITERS
