"""
What ``concertina demo`` says: a line a turn, and a table at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from proxy.cli.replay import Turn

COLUMNS = f"{'turn':>5} {'rows':>5} {'before':>8} {'after':>8}  {'action':<12} {'summaries':>9}  prefix kept"
LEGEND = (
    "before, after: prompt tokens, estimated, as the client sent them and as they were sent on",
    "prefix kept: the API can use its prompt cache of the turn before",
)
NEXT = (
    "Next: put it in front of an API of your own, and change only the base URL of your client:",
    "  concertina serve --upstream https://api.openai.com/v1",
    "  export OPENAI_BASE_URL=http://127.0.0.1:8080/v1",
)
_KEPT = {None: "-", True: "yes", False: "no"}


@dataclass(frozen=True, slots=True)
class Found:
    """
    All that the demo found out.
    """

    asked: int
    whole_tokens: int
    too_large: int
    direct: Sequence[Turn]
    proxied: Sequence[Turn]
    summary_calls: int
    summary_tokens: int

    @property
    def failures(self) -> int:
        """
        The turns that failed through the proxy.
        """
        return sum(not turn.ok for turn in self.proxied)


def line(turn: Turn) -> str:
    """
    Return one turn as a line.
    """
    if not turn.ok:
        return f"{turn.number:>5} {turn.rows:>5}  failed: {turn.error}"
    kept = _KEPT[turn.prefix_kept]
    return (
        f"{turn.number:>5} {turn.rows:>5} {turn.before:>8,} {turn.after:>8,}  {turn.action:<12} "
        f"{turn.summaries:>9}  {kept}"
    )


def direct_lines(found: Sequence[Turn]) -> list[str]:
    """
    Return how the session went without the proxy.
    """
    last = found[-1]
    if last.ok:
        return [f"All {len(found)} turns were answered: this much fits the window."]
    return [
        f"Turn {last.number} ({last.rows} rows) was refused, and so would be all that follow. The API said:",
        last.error,
    ]


def table(found: Found) -> Table:
    """
    Return the closing table.
    """
    shown = Table(title="The same session, twice")
    shown.add_column("")
    shown.add_column("direct", justify="right")
    shown.add_column("through Concertina", justify="right")
    for row in _rows(found):
        shown.add_row(*row)
    return shown


def _rows(found: Found) -> list[tuple[str, str, str]]:
    judged = [turn.prefix_kept for turn in found.proxied if turn.prefix_kept is not None]
    answered = sum(turn.ok for turn in found.direct)
    sent = sum(turn.arrived for turn in found.proxied)
    return [
        ("turns played", f"{len(found.direct)} of {found.asked}", f"{len(found.proxied)} of {found.asked}"),
        ("first refusal", _first_refusal(found.direct), _first_refusal(found.proxied)),
        ("turns answered", str(answered), str(sum(turn.ok for turn in found.proxied))),
        ("turns failed", _failed_directly(found, len(found.direct) - answered), str(found.failures)),
        ("prompt tokens, whole session", f"{found.whole_tokens:,}, had all fitted", f"{sent:,}"),
        ("summariser calls", "-", str(found.summary_calls)),
        ("prompt tokens of those", "-", f"{found.summary_tokens:,}"),
        ("prefixes kept", "-", f"{sum(judged)} of {len(judged)}"),
    ]


def _failed_directly(found: Found, refused: int) -> str:
    untried = max(0, found.too_large - refused)
    return f"{refused}, and {untried} too large to try" if untried else str(refused)


def _first_refusal(turns: Sequence[Turn]) -> str:
    return next((f"turn {turn.number}" for turn in turns if not turn.ok), "none")
