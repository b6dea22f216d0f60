"""
Write the bundled session of ``concertina demo``: a coding agent mends and extends a small parcel-tracking service.

The same bytes every time, so that a changed session shows as a change of this script.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proxy.chat.json import dumps

TARGET = Path(__file__).resolve().parents[1] / "proxy/cli/data/demo_session.jsonl"
_SEED = 20_240_611

SYSTEM = """You are a careful coding agent working in a checkout of `parcelwatch`, a small service that follows parcels
across carriers. Read before you write. Change as little as serves the purpose, run the tests after each change, and say
plainly what you did and what you left alone. Never edit files under vendor/. Ask before deleting data."""

ASKS = (
    (
        "Deliveries that cross midnight are reported one day late in the daily digest, but only for depots outside UTC. "
        "Please find out why and fix it. The public signature of digest_for() must stay as it is: two other teams call it."
    ),
    (
        "Good, thank you. Next: carrier polling hammers the API of Northline when it answers 429. Please add a back-off "
        "with jitter, at most 5 attempts, honouring Retry-After. Keep to the standard library."
    ),
    (
        "Last thing for today: add a command `parcelwatch stale --older-than DAYS` that lists parcels with no event for so "
        "many days, oldest first, as a table or with --json. Cover it with tests and mention it in the README."
    ),
)
CLOSINGS = (
    (
        "Fixed. The digest grouped events by the UTC date; it now converts to the depot's zone first. digest_for() keeps its "
        "signature, and three tests pin midnight for depots east and west of UTC and on the day clocks change."
    ),
    (
        "Polling now backs off: full jitter from 0.5 to 30 seconds, at most 5 attempts, and Retry-After wins where it is "
        "given, in seconds or as a date. Nothing outside the standard library was needed."
    ),
    (
        "`parcelwatch stale --older-than DAYS` is in, with --json, tests and a paragraph in the README. All three pieces of "
        "work pass the full suite; vendor/ is untouched and digest_for() has the signature it had this morning."
    ),
)
ROUNDS = (17, 17, 18)
_AREAS = (
    ("digest", "zones", "calendar", "depots", "rollup"),
    ("polling", "backoff", "carriers", "northline", "transport"),
    ("stale", "commands", "tables", "storage", "readme_notes"),
)
_VERBS = ("load", "group", "select", "merge", "render", "check", "collect", "resolve")
_NOUNS = ("events", "parcels", "depots", "windows", "attempts", "carriers", "rows", "marks")
_REMARKS = (
    "Let me look at {area}.py before I change anything.",
    "The caller sits in {area}.py; I want to see what it passes.",
    "That narrows it down. Checking who else depends on {area}.",
    "I will make the smallest change in {area}.py and run its tests.",
    "",
)
_NOTES = (
    "Times are aware everywhere in here; a naive one is a mistake of the caller.",
    "Sorted by the moment of the event, then by its number, so that two runs agree.",
    "An empty answer is an answer: the carrier knows the parcel and has nothing to say.",
    "Kept apart from storage so that it can be tested without a database.",
)


def _tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    schema = {key: {"type": "string", "description": text} for key, text in properties.items()}
    parameters = {"type": "object", "properties": schema, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = (
    _tool("read_file", "Return the text of a file.", path="Path below the checkout."),
    _tool("search", "Search the checkout.", pattern="A regular expression."),
    _tool(
        "edit_file", "Replace one passage of a file.", path="Path.", old="Passage there now.", new="What it becomes."
    ),
    _tool("run_tests", "Run the tests below a path.", path="Path below the checkout."),
)


class Author:
    """
    Makes calls and their results, numbered through the session.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def round(self, areas: tuple[str, ...], index: int) -> Iterator[dict[str, Any]]:
        """
        Yield an assistant row with its calls, then their results.
        """
        area = areas[index % len(areas)]
        makers = (self._read, self._search, self._read, self._edit, self._tests)
        pairs = [makers[index % len(makers)](area)]
        if index % 7 == 3:  # now and then two calls at once, as agents do
            pairs.append(self._search(areas[(index + 1) % len(areas)]))
        calls = [self._call(name, arguments) for (name, arguments), _ in pairs]
        remark = _REMARKS[index % len(_REMARKS)].format(area=area)
        yield {"role": "assistant", "content": remark or None, "tool_calls": calls}
        for call, (_, result) in zip(calls, pairs, strict=True):
            yield {"role": "tool", "tool_call_id": call["id"], "content": result}

    def _call(self, name: str, arguments: dict[str, str]) -> dict[str, Any]:
        self._number += 1
        function = {"name": name, "arguments": dumps(arguments).decode()}
        return {"id": f"call_demo_{self._number:03}", "type": "function", "function": function}

    def _name(self) -> str:
        return f"{self._random.choice(_VERBS)}_{self._random.choice(_NOUNS)}"

    def _function(self, area: str) -> str:
        name, limit = self._name(), self._random.randint(2, 60)
        noun = self._random.choice(_NOUNS)
        return (
            f"def {name}(depot: Depot, {noun}: Sequence[Event], *, limit: int = {limit}) -> list[Event]:\n"
            f"    # {self._random.choice(_NOTES)}\n"
            f"    chosen = [event for event in {noun} if event.depot == depot.code and event.kind in {area.upper()}_KINDS]\n"
            f"    chosen.sort(key=lambda event: (event.moment, event.number))\n"
            f'    log.debug("{area}: {name} chose %d of %d", len(chosen), len({noun}))\n'
            f"    return chosen[-limit:]\n"
        )

    def _read(self, area: str) -> tuple[tuple[str, dict[str, str]], str]:
        body = "\n\n".join(self._function(area) for _ in range(self._random.randint(4, 5)))
        head = (
            f"from __future__ import annotations\n\nfrom parcelwatch.model import Depot, Event\n\n{area.upper()}_KINDS"
        )
        text = f'{head} = frozenset({{"scan", "handover", "delivered"}})\n\n\n{body}'
        return ("read_file", {"path": f"src/parcelwatch/{area}.py"}), text

    def _search(self, area: str) -> tuple[tuple[str, dict[str, str]], str]:
        hits = (
            f"src/parcelwatch/{self._random.choice(_NOUNS)}.py:{self._random.randint(8, 390)}:"
            f"    found = {area}.{self._name()}(depot, {self._random.choice(_NOUNS)}, limit={self._random.randint(2, 60)})"
            for _ in range(self._random.randint(10, 15))
        )
        return ("search", {"pattern": rf"\b{area}\.\w+\("}), "\n".join(hits)

    def _edit(self, area: str) -> tuple[tuple[str, dict[str, str]], str]:
        old, new = self._function(area), self._function(area)
        marked = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        path = f"src/parcelwatch/{area}.py"
        return ("edit_file", {"path": path, "old": old, "new": new}), f"edited {path}\n" + "\n".join(marked)

    def _tests(self, area: str) -> tuple[tuple[str, dict[str, str]], str]:
        count = self._random.randint(14, 20)
        lines = [
            f"tests/test_{area}.py::test_{self._name()}_for_depot_{self._random.randint(10, 99)} PASSED [{100 * n // count}%]"
            for n in range(1, count + 1)
        ]
        seconds = self._random.randint(30, 240) / 100
        return ("run_tests", {"path": f"tests/test_{area}.py"}), "\n".join([*lines, f"{count} passed in {seconds}s"])


def session() -> dict[str, Any]:
    """
    Return the session: messages and tools.
    """
    author = Author(_SEED)
    rows: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    for ask, closing, areas, rounds in zip(ASKS, CLOSINGS, _AREAS, ROUNDS, strict=True):
        rows.append({"role": "user", "content": ask})
        for index in range(rounds):
            rows.extend(author.round(areas, index))
        rows.append({"role": "assistant", "content": closing})
    return {"messages": rows, "tools": list(TOOLS)}


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(dumps(session()) + b"\n")
