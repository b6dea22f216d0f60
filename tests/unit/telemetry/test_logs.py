"""
What an event tells of a fault.
"""

from json import loads

import pytest
import structlog
from structlog.testing import capture_logs

from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import Stamp, as_json, set_up_log, where


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


def test_an_event_is_told_to_the_microsecond_in_utc():
    """
    Events of one second, of the next, and of a clock that was set back are all told right.
    """
    start = 1_790_000_000_000_000_000
    times = [start + 1_000, start + 999_999_999, start + 1_000_000_000, start - 1]
    stamp = Stamp(iter(times).__next__)

    assert [stamp(None, "info", {})["timestamp"] for _ in times] == [
        "2026-09-21T14:13:20.000001Z",
        "2026-09-21T14:13:20.999999Z",
        "2026-09-21T14:13:21.000000Z",
        "2026-09-21T14:13:19.999999Z",
    ]


def test_a_name_that_is_no_unicode_loses_no_event():
    """
    Clients may call a model what they like, lone surrogates included.
    """
    assert loads(as_json({"model": "m\ud800"})) == {"model": "m\ud800"}
    assert as_json({"model": "é"}) == '{"model":"é"}'.encode()


def test_a_value_of_no_json_type_is_told_by_its_name():
    """
    As the library that logs asks for it.
    """
    assert as_json({"path": object}, default=lambda value: value.__name__) == b'{"path":"object"}'


@pytest.mark.parametrize(
    ("level", "told"), [("debug", ["info", "warning"]), ("info", ["info", "warning"]), ("warning", ["warning"])]
)
def test_what_is_below_the_level_is_not_told(level, told, capfdbinary):
    """
    And what is told has its fields, its level and its time.
    """
    set_up_log(LogSettings(level=level, format="json"), terminal=False)
    log = structlog.get_logger()
    log.info("one", number=1)
    log.warning("two", number=2)
    lines = [loads(line) for line in capfdbinary.readouterr().err.splitlines()]

    assert [line["level"] for line in lines] == told
    assert [line["event"] for line in lines] == ["one", "two"][-len(told) :]
    assert all(set(line) == {"event", "level", "timestamp", "number"} for line in lines)


def test_events_can_be_captured_as_the_library_does_it():
    """
    Tests of plug-ins read them so.
    """
    set_up_log(LogSettings(format="json"), terminal=False)
    with capture_logs() as told:
        structlog.get_logger().info("one", number=1)

    assert told == [{"event": "one", "number": 1, "log_level": "info"}]
