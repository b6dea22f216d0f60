import pytest

from proxy.pipeline.scene import make_budget
from proxy.pipeline.settings import CompactionSettings


@pytest.mark.parametrize("window", [32_768, 128_000, 2_000_000])
def test_a_low_threshold_holds_in_a_window_of_any_size(window: int) -> None:
    """
    It was once moved up to half of the window wherever the window was large, so that the setting did nothing.
    """
    settings = CompactionSettings(threshold_tokens=5_000)

    assert make_budget(settings, window=window, asked_output=None, fixed=300, scale=1.0).threshold == 5_000


def test_a_threshold_that_system_and_tools_nearly_fill_moves_up() -> None:
    """
    Compacting at it would be of no use, turn after turn.
    """
    settings = CompactionSettings(threshold_tokens=5_000)
    budget = make_budget(settings, window=128_000, asked_output=None, fixed=4_500, scale=1.0)

    assert 50_000 < budget.threshold <= budget.usable
