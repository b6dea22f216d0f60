"""
Write docs/reference/faults.md from the tables that recovery really uses.

Run from the repository: ``python scripts/make_fault_matrix.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from proxy.recovery.actions import ACTIONS, CORROBORATED_AT, Cure
from proxy.recovery.fault import Label
from proxy.recovery.rules import PRECEDENCE
from proxy.recovery.table import Rule

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "faults.md"

HEAD = """\
# Fault matrix

Made from `proxy/recovery/actions.py` and `proxy/recovery/rules.py` by `scripts/make_fault_matrix.py`; edit those.

## What is done about each kind of refusal

At most four upstream tries, none after the deadline, none after the first relayed byte of content. "Passes" means: the
client gets the upstream's own status, headers and body.
"""

UNEXPLAINED = """\

A refusal without a reason (an empty or generic 400, 413 or 502) is taken for an overflow only when the prompt fills at
least {share:.0%} of the believed window, and for one try; an empty 413 is always answered by bytes.

## How a refusal is recognised

The tables are asked from top to bottom and the first row that matches names the label; a user's own
`recovery.patterns` come before all of them. Each row is shown by its example; most are families that match many more
wordings. What no row knows gets its label from the status.
"""

FIRST_CONTACT = """\

## How far this carries

Wordings written before the rules met them, by whoever wrote the rules, about servers that are not in the collection of
real bodies; the figures are those of the first contact, before anything was changed for them.

| set | bodies | overflows found | found ones that are overflows | labels right |
|---|---|---|---|---|
| servers and gateways, 17 tongues, and near misses | 141 | 55 of 60 (0.92) | 55 of 57 (0.96) | 0.91 |
| odd phrasings, chosen to be hard | 42 | 14 of 20 (0.70) | 14 of 18 (0.78) | 0.74 |
| a mixture, after the families had grown by the two above | 38 | 14 of 18 (0.78) | 14 of 15 (0.93) | 0.76 |
| ordinary phrasings, after the families had grown by the three above | 66 | 30 of 30 (1.00) | 30 of 32 (0.94) | 0.95 |
| forty upstreams and gateways, half of it refusals that sound alike | 161 | 70 of 72 (0.97) | 70 of 74 (0.95) | 0.95 |
| near misses, chosen to be taken for overflows | 145 | 14 of 16 (0.88) | 14 of 43 (0.33) | 0.71 |
| other upstreams and phrasings, a dozen tongues, after the families had grown by all above | 112 | 44 of 45 (0.98) | 44 of 46 (0.96) | 0.91 |
| the same again, farther from what is usual, after one more round | 124 | 42 of 48 (0.88) | 42 of 45 (0.93) | 0.85 |
| near misses and odd phrasings of both kinds, after one more round | 128 | 39 of 45 (0.87) | 39 of 47 (0.83) | 0.85 |
| as servers really word it, after one more round | 126 | 44 of 44 (1.00) | 44 of 47 (0.94) | 0.95 |
| a mixture in twelve tongues, after contexts of programs had been told apart | 118 | 32 of 40 (0.80) | 32 of 34 (0.94) | 0.88 |
| short and plain, after all these | 64 | 20 of 23 (0.87) | 20 of 21 (0.95) | 0.91 |

The rules know all of these now. Expect such figures, not better ones, of wordings that nobody has seen; what no rule
knows is logged as `refusal.unknown`, and `recovery.patterns` teaches it without a new version.
"""


def render() -> str:
    """
    Return the page.
    """
    lines = [HEAD, "| label | cure | when | uncured |", "|---|---|---|---|"]
    for label, action in ACTIONS.items():
        cure = "passes" if action.cure is Cure.PASS else action.cure.value
        lines.append(f"| `{label}` | {cure} | {action.when} | {action.uncured.value} |")
    lines += [UNEXPLAINED.format(share=CORROBORATED_AT), "| label | example | note |", "|---|---|---|"]
    lines += [_row(rule) for rule in chain.from_iterable(PRECEDENCE)]
    lines += ["", *_by_status(), FIRST_CONTACT.rstrip("\n")]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    notes = [
        f"only with status {rule.status}" if rule.status else "",
        f"one provider: {rule.seen}" if rule.seen else "",
        "our rewriting may be the cause" if rule.structure else "",
        "" if rule.confident else "needs corroboration",
    ]
    return f"| `{rule.label}` | {_cell(rule.example)} | {', '.join(note for note in notes if note)} |"


def _cell(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _by_status() -> Iterable[str]:
    yield f"By status alone: 401, 403 and 407 are `{Label.AUTH}`; 408 and 5xx `{Label.OVERLOADED_5XX}`; other 4xx, and errors"
    yield f"inside a 200 or a stream, `{Label.INVALID_REQUEST_OTHER}`."


def main() -> None:
    """
    Write the page.
    """
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
