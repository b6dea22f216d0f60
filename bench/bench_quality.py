"""
Print what survives compaction, by kind, method and budget: ``python -m bench.bench_quality [--quick]``.

No model is asked. A surviving string is a necessary condition for a good summary, not a sufficient one.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from bench.quality.generated import KINDS, Conversation, conversation
from bench.quality.measure import tally
from bench.quality.real import Case, cases
from bench.quality.views import METHODS, Count, holds, size
from proxy.tokens.vocabulary import Vocabulary

BUDGETS = (0.10, 0.20, 0.35)
SHARED = Path(os.environ.get("CONCERTINA_SHARED") or Path(__file__).resolve().parents[2] / "shared")
PROBE_CUTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def main(arguments: Sequence[str]) -> None:
    quick = "--quick" in arguments
    vocabulary = Vocabulary()
    vocabulary.load()
    count: Count = lru_cache(maxsize=None)(vocabulary.count)
    for bank in ("plain", "other"):
        generated([conversation(seed, bank=bank) for seed in range(2 if quick else 12)], bank, count)
    rounds([conversation(seed) for seed in range(2 if quick else 6)], count)
    folder = SHARED / "data" / "conversations"
    if not folder.is_dir():
        print("\nrecorded conversations: skipped, there are none beside the repository")
        return
    recorded("identifiers used again", list(cases(folder, count)), count)
    recorded("probes used later", list(cases(folder, count, source="probes", cuts=PROBE_CUTS)), count)


def generated(conversations: Sequence[Conversation], bank: str, count: Count) -> None:
    sizes = [sum(size(row, count) for row in one.rows) for one in conversations]
    print(
        f"\ngenerated, bank {bank}: {len(conversations)} conversations, {sum(sizes) // len(sizes)} tokens each (% kept)"
    )
    columns = [*KINDS, "stale alone"]
    print(f"{'method':<12} {'budget':>6} " + " ".join(f"{name[:10]:>10}" for name in columns))
    for method, view in METHODS.items():
        for budget in BUDGETS:
            found: dict[str, list[int]] = {}
            for one, tokens in zip(conversations, sizes, strict=True):
                tally(view(one.rows, int(budget * tokens), count), one.facts, found)
            print(f"{method:<12} {budget:>6.0%} " + " ".join(f"{_percent(found[name]):>10}" for name in columns))


def rounds(conversations: Sequence[Conversation], count: Count) -> None:
    """
    Compact four times as the conversation grows, each time from the originals, against once at the end.
    """
    once: dict[str, list[int]] = {}
    often: dict[str, list[int]] = {}
    for one in conversations:
        tokens = sum(size(row, count) for row in one.rows)
        view = METHODS["extractive"]
        for part in (0.4, 0.6, 0.8, 1.0):
            last = view(one.rows[: int(part * len(one.rows))] if part < 1 else one.rows, int(0.2 * tokens), count)
        tally(last, one.facts, often)
        tally(view(one.rows, int(0.2 * tokens), count), one.facts, once)
    print(f"\nfour rounds at 20 %: {_total(often):.1f} % kept; one round: {_total(once):.1f} %")


def recorded(name: str, found: Sequence[Case], count: Count) -> None:
    tokens = sum(case.tokens for case in found)
    needles = [hard for case in found for _, hard in case.needles]
    print(
        f"\nrecorded, {name}: {len(found)} prefixes, {tokens} tokens, {len(needles)} values, {sum(needles)} of them hard"
    )
    print(f"{'method':<12} {'budget':>6} {'all':>6} {'hard':>6} {'CPU s/100K':>10}")
    for method, view in METHODS.items():
        for budget in BUDGETS:
            kept = [0, 0]
            start = time.process_time()
            views = [view(case.rows, int(budget * case.tokens), count) for case in found]
            seconds = time.process_time() - start
            for case, text in zip(found, views, strict=True):
                for needle, hard in case.needles:
                    survives = holds(text, needle)
                    kept = [kept[0] + survives, kept[1] + (survives and hard)]
            shares = kept[0] / len(needles), kept[1] / max(sum(needles), 1)
            print(f"{method:<12} {budget:>6.0%} {shares[0]:>6.1%} {shares[1]:>6.1%} {1e5 * seconds / tokens:>10.2f}")


def _percent(pair: Sequence[int]) -> str:
    return f"{100 * pair[0] / pair[1]:.0f}"


def _total(found: dict[str, list[int]]) -> float:
    kept = sum(pair[0] for kind, pair in found.items() if kind != "stale alone")
    total = sum(pair[1] for kind, pair in found.items() if kind != "stale alone")
    return 100 * kept / total


if __name__ == "__main__":
    main(sys.argv[1:])
