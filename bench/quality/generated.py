"""
Generated agent conversations with planted facts: every fact is a handful of exact strings that must stay together.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from bench.quality.banks import AGENT_KINDS, BANKS, TOOL_KINDS, USER_KINDS
from proxy.chat.messages import Message

_SYLLABLES = ["ka", "lo", "mi", "ver", "tan", "dro", "sel", "pu", "rin", "gat", "bo", "fex", "nor", "qui", "zam"]
_WORDS = [
    "cache",
    "worker",
    "parser",
    "buffer",
    "token",
    "stream",
    "client",
    "schema",
    "batch",
    "index",
    "shard",
    "queue",
    "render",
    "layout",
    "bridge",
    "metric",
    "trace",
    "session",
    "filter",
    "router",
    "planner",
    "storage",
    "vector",
    "socket",
    "bundle",
    "driver",
    "signal",
    "thread",
    "module",
    "lookup",
]
_ODD_SHARE = 0.1


@dataclass(frozen=True)
class Fact:
    """
    One planted fact; *stale* is the value it replaced, which must not survive alone.
    """

    kind: str
    needles: tuple[str, ...]
    stale: str = ""


@dataclass
class Conversation:
    """
    The rows, without a system row, and the facts in them.
    """

    rows: list[Message] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)


def conversation(seed: int, *, bank: str = "plain", rounds: int = 40, lines: int = 45) -> Conversation:
    """
    Return one conversation; the same arguments give the same rows.
    """
    return _Maker(Random(f"{bank}-{seed}"), BANKS[bank], lines).make(rounds)


class _Maker:
    def __init__(self, rng: Random, bank: dict, lines: int) -> None:
        self.rng, self.bank, self.lines = rng, bank, lines
        self.out = Conversation()
        self.calls = 0

    def make(self, rounds: int) -> Conversation:
        self.user("Please find out why the nightly import loses rows and fix it, step by step.")
        self.assistant("I will start by looking at the import job.")
        plan = self._plan(rounds)
        todo: list[str] = []
        for number in range(rounds):
            for step in plan.get(number, ()):
                step()
            self.tool_round(planted=[])
            if number == rounds * 2 // 3:
                todo = self.todo()
        del todo
        self.assistant("The import job has been checked so far.")
        self.user("Good, go on with the next file.")
        for _ in range(3):
            self.tool_round(planted=[])
        return self.out

    def _plan(self, rounds: int) -> dict[int, list[Callable[[], None]]]:
        plan: dict[int, list[Callable[[], None]]] = {}
        for kind in USER_KINDS:
            for _ in range(3):
                plan.setdefault(self.rng.randrange(1, rounds - 4), []).append(lambda kind=kind: self.say(kind))
        for _ in range(4):
            plan.setdefault(self.rng.randrange(1, rounds - 4), []).append(self.decide)
            plan.setdefault(self.rng.randrange(1, rounds - 4), []).append(self.edit)
        for _ in range(3):
            plan.setdefault(self.rng.randrange(1, rounds - 4), []).append(self.answer)
        for kind in TOOL_KINDS:
            for _ in range(4):
                plan.setdefault(self.rng.randrange(1, rounds - 4), []).append(lambda kind=kind: self.find(kind))
        for who in ("user", "assistant"):
            early, late = sorted(self.rng.sample(range(1, rounds - 4), 2))
            self._update(plan, early, late, who)
        return plan

    def _update(self, plan: dict, early: int, late: int, who: str) -> None:
        first, second = self.rng.choice(self.bank["update"])
        old, new = self.rng.sample(range(200, 900), 2)
        values = {"name": self.name(), "old": old, "new": new}
        speak = self.user if who == "user" else self.assistant
        plan.setdefault(early, []).append(lambda: speak(first.format(**values)))
        plan.setdefault(late, []).append(lambda: speak(second.format(**values)))
        self.out.facts.append(Fact("update", (values["name"], str(new)), stale=str(old)))

    def say(self, kind: str) -> None:
        self.user(self.plant(kind, self.rng.choice(self.bank[kind])))

    def decide(self) -> None:
        self.assistant(self.plant("decision", self.rng.choice(self.bank["decision"])) + " " + self.chatter())

    def answer(self) -> None:
        question, reply = self.rng.choice(self.bank["question"])
        values = self.values()
        self.user(question.format(**values))
        self.assistant(reply.format(**values) + " " + self.chatter())
        needles = tuple(str(v) for k, v in values.items() if "{" + k + "}" in reply)
        self.out.facts.append(Fact("answered", needles))

    def edit(self) -> None:
        path = self.path()
        body = "\n".join(self.code() for _ in range(30))
        self.call(
            self.rng.choice(["write_file", "edit_file", "apply_patch"]),
            {"path": path, "content": body},
            "ok, 30 lines written",
        )
        self.out.facts.append(Fact("file", (path,)))

    def todo(self) -> list[str]:
        items = [self.plant("todo", text) for text in self.bank["todo"]]
        todos = [
            {"content": "look at the import job", "status": "completed"},
            *({"content": i, "status": "pending"} for i in items),
        ]
        self.call("todo_write", {"todos": todos}, "Todos have been modified successfully.")
        return items

    def find(self, kind: str) -> None:
        self.tool_round(planted=[self.plant(kind, self.rng.choice(self.bank[kind]))])

    def plant(self, kind: str, template: str) -> str:
        values = self.values()
        self.out.facts.append(Fact(kind, tuple(str(v) for k, v in values.items() if "{" + k + "}" in template)))
        return template.format(**values)

    def tool_round(self, planted: list[str]) -> None:
        name, arguments, maker = self.rng.choice(
            [
                ("run_command", {"command": f"make {self.word()} -j{self.rng.randrange(2, 9)}"}, self.log),
                ("read_file", {"path": self.path()}, self.code),
                ("search", {"query": f"{self.word()} {self.word()}"}, self.hit),
                ("run_tests", {"target": f"tests/{self.word()}"}, self.test),
            ]
        )
        count = self.rng.randrange(self.lines // 2, self.lines)
        lines = [self.odd() if self.rng.random() < _ODD_SHARE else maker() for _ in range(count)]
        for line in planted:
            lines.insert(self.rng.randrange(len(lines)), line)
        if self.rng.random() < 0.4:
            self.assistant(self.chatter())
        self.call(name, arguments, "\n".join(lines))

    def call(self, name: str, arguments: dict, result: str) -> None:
        self.calls += 1
        call = {
            "id": f"call_{self.calls}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        self.out.rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.out.rows.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def user(self, text: str) -> None:
        self.out.rows.append({"role": "user", "content": text})

    def assistant(self, text: str) -> None:
        self.out.rows.append({"role": "assistant", "content": text})

    def values(self) -> dict[str, object]:
        return {
            "name": self.name(),
            "path": self.path(),
            "num": self.rng.randrange(1_000, 99_999),
            "const": f"{self.name().upper()}-{self.rng.randrange(100, 999)}",
            "hash": f"{self.rng.getrandbits(40):010x}",
        }

    def name(self) -> str:
        return "".join(self.rng.sample(_SYLLABLES, 3)) + self.rng.choice(["", "_" + self.word()])

    def path(self) -> str:
        return f"src/{self.word()}/{''.join(self.rng.sample(_SYLLABLES, 2))}_{self.word()}.py"

    def word(self) -> str:
        return self.rng.choice(_WORDS)

    def chatter(self) -> str:
        return f"Let me look at the {self.word()} and the {self.word()} next, the {self.word()} seems fine."

    def odd(self) -> str:
        """
        Return a line of unusual shape that is no fact: it competes with those that are.
        """
        name, word, number = self.name(), self.word(), self.rng.randrange(10, 99_999)
        return self.rng.choice(
            [
                f"{word.title()}: {number} {self.word()}s in {self.path()}",
                f"({name}) {word} skipped, nothing to do for {number}",
                f"=== {word} {self.word()} ===",
                f"warning: unused {word} '{name}' [{number}]",
                f"{name}.{word} -> {self.word()}",
                f"* {word} of {self.path()} is up to date",
                f"[{number}] {word} {self.word()} {name}",
                f"using {word} {self.rng.randrange(9)}.{self.rng.randrange(20)}.{self.rng.randrange(9)} for {self.word()}",
            ]
        )

    def log(self) -> str:
        return f"2031-04-0{self.rng.randrange(1, 9)} 12:{self.rng.randrange(10, 59)}:01 INFO {self.word()}.{self.word()} took={self.rng.randrange(9, 900)}ms"

    def code(self) -> str:
        return f"    {self.word()} = self.{self.word()}.{self.word()}({self.word()}, {self.rng.randrange(9)})"

    def hit(self) -> str:
        return f"src/{self.word()}/{self.word()}.py:{self.rng.randrange(1, 900)}: {self.word()} = {self.word()}({self.word()})"

    def test(self) -> str:
        return f"tests/{self.word()}/test_{self.word()}.py::test_{self.word()}_{self.word()} PASSED [{self.rng.randrange(99)}%]"


KINDS = (*USER_KINDS, *AGENT_KINDS, "file", "todo", *TOOL_KINDS, "update")
