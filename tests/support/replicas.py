"""
Several replicas on one store, and a crowd of conversations in which every row carries a secret of its own.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from proxy.simulator.reply import Reply
from proxy.simulator.steps import Condition, Step
from proxy.simulator.turn import Speech, Turn
from tests.support.conversations import Row, assistant, filler, system, user
from tests.support.stores import RedisServer

_SECRET = re.compile(r"SECRET-[A-Z]+\d+")


def secrets_in(text: str) -> set[str]:
    """
    Return the secrets that a text holds.
    """
    return set(_SECRET.findall(text))


@dataclass(frozen=True, slots=True)
class Recite:
    """
    A summariser that repeats every secret it read, so that a summary in a wrong place betrays itself.
    """

    speaks: ClassVar[bool] = True

    def reply(self, turn: Turn) -> Reply:
        """
        Return a summary of what was handed over.
        """
        read = sorted(secrets_in(turn.received.body.decode()))
        text = f"## Goal\nThe user talked of {', '.join(read)}.\n\n## Progress\nAll of it was answered."
        return turn.say(Speech(text))


def reciting(times: int) -> list[Step]:
    """
    Return the steps of a summariser that recites.
    """
    return [Step(Recite(), Condition(summary=True)) for _ in range(times)]


@dataclass(frozen=True, slots=True)
class Talk:
    """
    A conversation so far, known by its *name*; *own* are all secrets that it may show.
    """

    name: str
    rows: tuple[Row, ...] = ()
    own: frozenset[str] = frozenset()
    turns: int = 0

    def asked(self, characters: int) -> Talk:
        """
        Return the talk with one more question.
        """
        secret = f"SECRET-{self.name}"
        text = f"{secret} asks {self.turns}: " + filler(characters, seed=f"{self.name}q{self.turns}")
        return replace(self, rows=(*self.rows, user(text)), own=self.own | {secret}, turns=self.turns + 1)

    def answered(self, characters: int) -> Talk:
        """
        Return the talk with an answer to its last question.
        """
        text = f"SECRET-{self.name} is told: " + filler(characters, seed=f"{self.name}a{self.turns}")
        return replace(self, rows=(*self.rows, assistant(text)))

    def forked(self, name: str) -> Talk:
        """
        Return another conversation that begins like this one.
        """
        return replace(self, name=name)

    @property
    def messages(self) -> list[Row]:
        """
        The rows as a client sends them.
        """
        return [system(), *self.rows]


@dataclass(slots=True)
class Crowd:
    """
    Many conversations that take turns at random.
    """

    random: Random
    characters: int = 1_600
    talks: list[Talk] = field(default_factory=list)

    def grow(self, number: int) -> Talk:
        """
        Let one conversation ask its next question.
        """
        talk = self.talks[number]
        if talk.turns:
            talk = talk.answered(self.characters // 2)
        self.talks[number] = talk.asked(self.characters // 2)
        return self.talks[number]


def sent_rows(call: Any) -> Sequence[Any]:
    """
    Return the rows of a call without its system rows.
    """
    return [row for row in call.messages if row["role"] != "system"]


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """
    A redis-server of this test's own.
    """
    pytest.importorskip("redis.asyncio", reason="the redis extra is not installed")
    folder = Path(tempfile.mkdtemp(prefix="ct"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """
    The URL of a store that several replicas share.
    """
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    server = request.getfixturevalue("redis_server")
    return str(server.url)
