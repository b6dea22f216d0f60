"""
What a conversation is called.
"""

import pytest

from proxy.compaction.handover import hand_over
from proxy.pipeline.titles import TITLE_CHARACTERS, title_of


def handed(body: str) -> str:
    """
    Return a summary as records hold it.
    """
    return hand_over(body, window=128_000)


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("## Goal\n- Fix the login bug\n\n## Progress\n- nothing", "Fix the login bug"),
        ('## Goal\n\n"Fix  the\tlogin bug"', "Fix the login bug"),
        ("## 目标\n修复登录错误\n\n## 进展\n- 无", "修复登录错误"),
        ("## Progress\n- done\n\n## Goal\n\n## Blocked\n- all", ""),
        ("free text without sections", ""),
    ],
)
def test_is_the_first_line_of_the_goal(body: str, title: str) -> None:
    """
    Whatever the language, bullets and quotation marks left out.
    """
    assert title_of(handed(body)) == title


def test_is_short_and_holds_no_secret() -> None:
    """
    Titles are shown on pages and terminals.
    """
    title = title_of(handed("## Goal\nUse sk-abcdefghijklmnopqrstuvwx to deploy " + "everything " * 20))

    assert "sk-abc" not in title
    assert (len(title) <= TITLE_CHARACTERS, title[-1]) == (True, "…")


@pytest.mark.parametrize("summary", [None, "", "text that no handover wraps"])
def test_is_empty_where_nothing_was_summarised(summary: str | None) -> None:
    """
    Old tool results were stubbed, and nothing more.
    """
    assert title_of(summary) == ""
