"""
Draw the figures of ``make bench-quality``; run by the Python of a venv that has matplotlib: ``plot.py RESULTS.json PLOT.png``.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

GROUPS = {
    "generated: words of people": ("plain", "other", ("constraint", "correction", "preference", "pending")),
    "generated: facts in tool output": ("plain", "other", ("error", "id", "number", "needle")),
    "recorded: used again, hard": ("identifiers", "identifiers", ("hard",)),
    "recorded: probes, hard": ("probes", "probes", ("hard",)),
    "recorded, Chinese: labelled answers": ("chinese", "chinese", ("answers",)),
}


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())
    budgets = results["budgets"]
    shown = {title: group for title, group in GROUPS.items() if group[0] in results["sets"]}
    figure, axes = plt.subplots(1, len(shown), figsize=(3.6 * len(shown), 3.6), sharey=True)
    for axis, (title, (first, second, kinds)) in zip(axes, shown.items(), strict=True):
        for method in results["methods"]:
            shares = [share(results, {first, second}, method, str(budget), kinds) for budget in budgets]
            if None not in shares:
                axis.plot([100 * budget for budget in budgets], shares, marker="o", label=method)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("budget, % of the history")
        axis.set_ylim(-3, 103)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("exact strings that survive, %")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110, metadata={"Software": None})


def share(results, sets, method, budget, kinds):
    pairs = [results["sets"][name]["kept"].get(method, {}).get(budget, {}).get(kind) for name in sets for kind in kinds]
    if None in pairs:
        return None
    return 100 * sum(kept for kept, _ in pairs) / max(sum(total for _, total in pairs), 1)


main()
