"""
Foreign judges on the proxy as a black box: ``make bench-conformance``.

The kit ``compaction-conformance-kit`` plants canaries and compacts five times over, each time what came out last; the
fifteen side constraints of COMPINT, from the package ``conpact``, are planted in a session at top, middle and bottom.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import structlog

from bench.quality.generated import conversation
from bench.quality.views import size, visible
from bench.quality.wire import Job, received
from proxy.chat.messages import Message
from proxy.tokens.vocabulary import Vocabulary

BUDGETS = (0.10, 0.20, 0.30)
ROUNDS = 5
CONSTRAINT_BUDGET = 0.20
_CHARS_PER_TOKEN = 3.5
_SMALLER = 0.93
_PLACES = {"top": 0.0, "middle": 0.5, "bottom": 0.97}


class BlackBox:
    """
    The kit's protocol: turns in, text out, at most so many characters.
    """

    name = "concertina"

    def __init__(self, kit: ModuleType, vocabulary: Vocabulary) -> None:
        self._kit = kit
        self._vocabulary = vocabulary

    def compact(self, turns: Sequence, round_num: int = 1, budget_chars: int | None = None) -> object:
        rows = self._rows(turns)
        whole = len(written(rows))
        tokens = (budget_chars or whole) / _CHARS_PER_TOKEN
        while True:
            text = written(asyncio.run(self._sent(rows, int(tokens))))
            if budget_chars is None or len(text) <= budget_chars or tokens < 60:
                return self._kit.CompactedContext(text=text, compactor_name=self.name, round_num=round_num)
            tokens *= _SMALLER

    async def _sent(self, rows: Sequence[Message], tokens: int) -> list[Message]:
        [sent] = [rows async for rows in received([Job(rows, tokens)], self._vocabulary)]
        return sent

    @staticmethod
    def _rows(turns: Sequence) -> list[Message]:
        """
        Return turns as rows; what came out of the last round goes in as words of a user, which may be folded once more.
        """
        if len(turns) == 1:
            return [{"role": "user", "content": turns[0].text}]
        return [{"role": turn.role, "content": turn.text} for turn in turns]


def written(rows: Sequence[Message]) -> str:
    if len(rows) == 1:
        return str(rows[0].get("content") or "")
    return "\n".join(f"[{row['role']}] {row.get('content') or ''}" for row in rows)


def kit_report(kit: ModuleType, vocabulary: Vocabulary, session: object, canaries: list, title: str) -> bool:
    good = True
    for budget in BUDGETS:
        run = kit.run_conformance(
            session, BlackBox(kit, vocabulary), rounds=ROUNDS, canaries=canaries, budget_fraction=budget
        )
        report = kit.build_report(run)
        shares = [" ".join(f"{kind}={share:.0%}" for kind, share in one.survival_by_type.items()) for one in run.rounds]
        within = all(one.within_budget for one in run.rounds)
        print(f"{title}, {budget:.0%}: flagged {report.flagged_types or 'none'}; within budget: {within}")
        for number, line in enumerate(shares, 1):
            print(f"   round {number}: {line}")
        if budget == BUDGETS[-1]:
            stable = all(one.survival_by_type == run.rounds[0].survival_by_type for one in run.rounds)
            print(f"   stable over {ROUNDS} rounds: {stable}")
            good = good and not report.flagged_types and stable
    return good


async def constraints_kept(constraints: Sequence[str], vocabulary: Vocabulary) -> bool:
    jobs, planted = [], []
    for place, share in _PLACES.items():
        for number, text in enumerate(constraints):
            rows = [dict(row) for row in conversation(number, rounds=20).rows]
            users = [index for index, row in enumerate(rows) if row["role"] == "user"]
            at = users[int(share * (len(users) - 1))]
            rows[at]["content"] = f"{text}\n{rows[at]['content']}"
            budget = CONSTRAINT_BUDGET * sum(size(row, vocabulary.count) for row in rows)
            jobs.append(Job(rows, int(budget)))
            planted.append((place, text))
    kept = dict.fromkeys(_PLACES, 0)
    number = 0
    async for sent in received(jobs, vocabulary):
        place, text = planted[number]
        kept[place] += text in visible(sent)
        number += 1
    for place, found in kept.items():
        print(f"side constraints at the {place}, {CONSTRAINT_BUDGET:.0%}: {found} of {len(constraints)} verbatim")
    return all(found == len(constraints) for found in kept.values())


def module_at(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="folder that holds compaction_kit and conpact")
    site = parser.parse_args().site
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    vocabulary = Vocabulary()
    vocabulary.load()
    sys.path.append(str(site))
    import compaction_kit as kit  # noqa: PLC0415 - installed on demand, no part of the project
    from compaction_kit.canaries import seeded_canaries  # noqa: PLC0415 - the same
    from compaction_kit.session import build_seeded_session  # noqa: PLC0415 - the same

    good = kit_report(kit, vocabulary, build_seeded_session(), seeded_canaries(), "kit, seeded session")
    constraints = [one["sc"] for one in module_at(site / "conpact" / "constraints.py", "conpact_constraints").SCS]
    good = asyncio.run(constraints_kept(constraints, vocabulary)) and good
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
