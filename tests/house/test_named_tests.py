"""
Tests that the documentation names are tests that there are.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/threat-model.md", "docs/user-cases.md", "docs/other-proxies.md")
_NAMED = re.compile(r"(tests/[\w/]+\.py)::(test_\w+)")


@pytest.mark.parametrize("page", PAGES)
def test_every_named_test_exists(page: str) -> None:
    """
    By its file and its name.
    """
    named = _NAMED.findall((ROOT / page).read_text("utf-8"))
    missing = [f"{path}::{name}" for path, name in named if not _holds(ROOT / path, name)]

    assert named
    assert missing == []


def test_every_threat_has_a_test() -> None:
    """
    A line without one is a wish.
    """
    lines = [line for line in (ROOT / "docs/threat-model.md").read_text("utf-8").splitlines() if line.startswith("|")]
    threats = [line for line in lines if not line.startswith(("| threat |", "|---"))]

    assert len(threats) > 20
    assert [line for line in threats if not _NAMED.search(line)] == []


def test_every_user_case_says_where_it_is_covered() -> None:
    """
    By a test, or by a sentence; each case once.
    """
    text = (ROOT / "docs/user-cases.md").read_text("utf-8")
    cases = re.findall(r"^\| (U\d+) \| [^|]+ \| ([^|]{10,}) \|$", text, re.MULTILINE)

    assert len(cases) == len({case for case, _ in cases}) == text.count("\n| U")


def _holds(path: Path, name: str) -> bool:
    return path.is_file() and f"def {name}(" in path.read_text("utf-8")
