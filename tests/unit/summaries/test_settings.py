import pytest
from pydantic import ValidationError

from proxy.summaries.settings import SummarizerSettings


def test_defaults_are_those_of_the_contract():
    """Nothing has to be configured."""
    settings = SummarizerSettings()

    assert (settings.kind, settings.wait, settings.timeout, settings.cooldown) == ("llm", 30, 120, 600)
    assert (settings.max_calls, settings.max_concurrent, settings.in_place) == (4, 4, False)


def test_durations_are_read():
    """Written as people write them."""
    assert SummarizerSettings(wait="45s", cooldown="5m").cooldown == 300


def test_unknown_names_are_mistakes():
    """A typing error is not ignored."""
    with pytest.raises(ValidationError):
        SummarizerSettings(waits="3s")


def test_every_setting_is_described():
    """Each has its help."""
    assert all(field.description for field in SummarizerSettings.model_fields.values())
