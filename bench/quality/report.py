"""
Write the figures down: JSON for the plot, a table for people.
"""

from __future__ import annotations

import json
from pathlib import Path

Pairs = dict[str, list[int]]
"""By kind: how many survive, and how many there are."""


def write(results: dict, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    measured = (method for found in results["sets"].values() for method in found["kept"])
    results = {**results, "methods": list(dict.fromkeys([*results["methods"], *measured]))}
    (folder / "quality.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "quality.md").write_text(table(results), "utf-8")


def read(folder: Path) -> dict:
    """
    Return the sets that were measured before.
    """
    path = folder / "quality.json"
    return json.loads(path.read_text("utf-8"))["sets"] if path.exists() else {}


def table(results: dict) -> str:
    lines = [
        "# What survives compaction",
        "",
        "Share of exact strings still there, in %, at one budget for all methods; the strings of a generated fact count",
        "only together on one line. Ours is read off the bytes that the upstream received, the summariser asked no model.",
    ]
    for name, found in results["sets"].items():
        lines += ["", f"## {found['title']}", ""]
        kinds = found["kinds"]
        lines += [f"| method | budget | {' | '.join(kinds)} |", f"|---|---|{'---|' * len(kinds)}"]
        for method, budgets in found["kept"].items():
            for budget, pairs in budgets.items():
                cells = " | ".join(percent(pairs[kind]) for kind in kinds)
                lines.append(f"| {method} | {float(budget):.0%} | {cells} |")
        if name in {"plain", "other"}:
            lines += ["", "*stale alone*: an old value that stands there without the one that replaced it."]
    return "\n".join(lines) + "\n"


def percent(pair: list[int]) -> str:
    return f"{100 * pair[0] / pair[1]:.0f}" if pair[1] else "-"
