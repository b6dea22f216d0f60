from __future__ import annotations

from proxy.recovery.fault import Fault, Label


def test_requested_prefers_the_total() -> None:
    """
    What was refused is the total where the upstream counts one.
    """
    assert Fault(Label.CONTEXT_OVERFLOW, prompt=10, total=14).requested == 14


def test_requested_falls_back_to_the_prompt() -> None:
    """
    Else it is the prompt.
    """
    assert Fault(Label.CONTEXT_OVERFLOW, prompt=10).requested == 10
