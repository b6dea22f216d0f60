"""
One thing that the doctor found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """
    What was looked at (*check*, of *subject*), how it is, and *advice* on what to do where it is not well.

    No text holds a secret.
    """

    check: str
    subject: str
    state: State
    text: str
    advice: str = ""


def ok(check: str, subject: str, text: str) -> Finding:
    """
    Return that something is as it should be.
    """
    return Finding(check, subject, "ok", text)


def note(check: str, subject: str, text: str, advice: str = "") -> Finding:
    """
    Return what is worth knowing and no fault.
    """
    return Finding(check, subject, "note", text, advice)


def fault(check: str, subject: str, text: str, advice: str) -> Finding:
    """
    Return what keeps the proxy from working as configured, and what to do.
    """
    return Finding(check, subject, "fault", text, advice)
