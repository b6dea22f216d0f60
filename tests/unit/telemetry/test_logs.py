"""
What an event tells of a fault.
"""

from proxy.telemetry.logs import where


def test_a_fault_is_told_by_its_place():
    """
    Neither the text of an exception nor local values are written: both may be a client's words.
    """
    private = "the client's words"
    try:
        {}[private]
    except KeyError:
        event = where(None, "error", {"event": "step.failed", "exc_info": True})

    assert event["where"][-1].startswith("test_logs.py:")
    assert private not in repr(event)
    assert "exc_info" not in event


def test_an_event_without_a_fault_stays_as_it_is():
    """
    Most events tell no fault.
    """
    assert where(None, "info", {"event": "exchange.finished"}) == {"event": "exchange.finished"}
