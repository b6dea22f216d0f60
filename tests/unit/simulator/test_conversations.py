import itertools

import pytest

from proxy.simulator.rules import judge
from tests.support.conversations import agent_session, chat_session, filler, long_session


@pytest.mark.parametrize("size", [0, 1, 100, 9_000])
def test_filler_has_exactly_the_size_asked_for(size):
    """
    Sizes in tests mean characters.
    """
    assert len(filler(size, seed="a")) == size


def test_filler_depends_on_its_seed_alone():
    """
    Two results differ, the same result is the same every time.
    """
    assert filler(500, seed="a") == filler(500, seed="a") != filler(500, seed="b")


def test_filler_does_not_repeat_itself():
    """
    Repeated lines would be folded as duplicates and prove nothing.
    """
    lines = filler(20_000, seed="a").split("\n")

    assert len(set(lines)) == len(lines) > 100


@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_long_sessions_are_legal_at_every_turn(kind):
    """
    Each request of a session is one that a strict provider takes.
    """
    assert [judge(rows, alternation=True) for rows in long_session(12, 300, kind=kind)] == [()] * 12


@pytest.mark.parametrize(("kind", "roles"), [("agent", {"user", "tool"}), ("chat", {"user"})])
def test_requests_end_where_real_clients_ask(kind, roles):
    """
    On a user row or on a result, never on an answer.
    """
    assert {rows[-1]["role"] for rows in long_session(6, 300, kind=kind)} == roles


@pytest.mark.parametrize("kind", ["agent", "chat"])
def test_each_request_extends_the_one_before(kind):
    """
    A session grows at its end only.
    """
    requests = long_session(6, 300, kind=kind)

    assert all(after[: len(before)] == before for before, after in itertools.pairwise(requests))


def test_sizes_grow_by_the_bytes_asked_for():
    """
    A round adds its result's bytes, a turn its question's and its answer's.
    """
    assert len(agent_session(3, bytes_per_round=2_000)[-1]["content"]) == 2_000
    assert 1_900 < sum(len(row["content"]) for row in chat_session(2, bytes_per_turn=2_000)[1:3]) < 2_100
