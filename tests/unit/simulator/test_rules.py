import pytest

from proxy.chat.json import loads
from proxy.simulator.rules import KINDS, introduced, judge
from tests.support.conversations import (
    agent_session,
    assistant,
    call,
    calls,
    chat_session,
    developer,
    image,
    result,
    system,
    user,
)
from tests.support.shared import shared_file

LEGAL = {
    "chat": [system(), user("a"), assistant("b"), user("c")],
    "one tool round": [system(), user("a"), call("read", id="x"), result("x"), assistant("b")],
    "results in another order": [
        user("a"),
        calls(("read", "x", {}), ("read", "y", {})),
        result("y"),
        result("x"),
    ],
    "an id used again in a later round": [user("a"), call("r", id="x"), result("x"), call("r", id="x"), result("x")],
    "two rounds without a user row between": agent_session(3, bytes_per_round=50),
    "developer row": [developer(), user("a")],
    "system row in the middle": [user("a"), assistant("b"), system(), user("c")],
    "prefill": [user("a"), assistant("The answer is")],
    "image alone": [{"role": "user", "content": image()["content"][1:]}],
    "tool call without arguments": [user("a"), calls(("now", "x", "")), result("x")],
    "legacy function": [
        user("a"),
        {"role": "assistant", "content": None, "function_call": {"name": "now", "arguments": "{}"}},
        {"role": "function", "name": "now", "content": "noon"},
    ],
}

ILLEGAL = {
    "open_call": [user("a"), call("read", id="x"), user("b")],
    "orphan_result": [user("a"), result("x")],
    "duplicate_result": [user("a"), call("read", id="x"), result("x"), result("x")],
    "duplicate_call": [user("a"), calls(("read", "x", {}), ("read", "x", {})), result("x")],
    "first_row": [system(), assistant("hello"), user("a")],
    "empty_content": [user("")],
    "unknown_key": [{"role": "user", "content": "a", "_pruned": True}],
    "bad_arguments": [user("a"), calls(("read", "x", '{"path": "a')), result("x")],
    "cache_marks": [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}] * 5}
    ],
}


def kinds(rows, **options):
    return [violation.kind for violation in judge(rows, **options)]


@pytest.mark.parametrize("name", LEGAL)
def test_accepts_what_strict_providers_accept(name):
    """
    A legal conversation has no violation.
    """
    assert kinds(LEGAL[name]) == []


@pytest.mark.parametrize("kind", ILLEGAL)
def test_catches_each_kind_of_violation(kind):
    """
    Each rule is broken by one conversation, which breaks no other rule.
    """
    assert kinds(ILLEGAL[kind]) == [kind]


def test_every_kind_has_its_case():
    """
    A kind without a case would be a rule that nobody tried; alternation has cases of its own.
    """
    assert {*ILLEGAL, "alternation"} == set(KINDS)


@pytest.mark.parametrize(
    "rows",
    [
        [user("a"), call("read", id="x"), system(), result("x")],
        [user("a"), call("read", id="x"), assistant("b"), result("x")],
    ],
)
def test_a_result_must_follow_its_call_at_once(rows):
    """
    A row between a call and its result breaks the pair on both sides.
    """
    assert kinds(rows) == ["open_call", "orphan_result"]


def test_a_result_of_another_call_leaves_the_call_open():
    """
    A result whose id was not asked for is an orphan even right behind a call row.
    """
    assert kinds([user("a"), call("read", id="x"), result("y")]) == ["open_call", "orphan_result"]


def test_names_the_open_ids_as_openai_does():
    """
    The message names the ids that have no result.
    """
    (violation,) = judge([user("a"), calls(("r", "x", {}), ("r", "y", {})), result("x"), user("b")])

    assert violation.message.endswith("did not have response messages: y")


def test_an_open_call_at_the_end_is_allowed_only_on_demand():
    """
    A client may resend its request while a tool still runs; strict providers refuse it.
    """
    rows = [user("a"), call("read", id="x")]

    assert (kinds(rows), kinds(rows, open_calls_at_end=True)) == (["open_call"], [])


def test_a_half_answered_round_at_the_end_stays_a_violation():
    """
    The allowance is for a last row without any result.
    """
    rows = [user("a"), calls(("r", "x", {}), ("r", "y", {})), result("x")]

    assert kinds(rows, open_calls_at_end=True) == ["open_call"]


@pytest.mark.parametrize("content", ["  ", None, [], [{"type": "text", "text": " "}]])
def test_empty_user_content_takes_many_forms(content):
    """
    Blank text, nothing, and parts without substance are all empty.
    """
    assert kinds([{"role": "user", "content": content}]) == ["empty_content"]


@pytest.mark.parametrize("key", ["_id", "concertina_stub", "Concertina"])
def test_refuses_keys_of_our_own(key):
    """
    No private key of a proxy may reach a provider.
    """
    assert kinds([{"role": "user", "content": "a", key: 1}]) == ["unknown_key"]


def test_other_unknown_keys_are_taken():
    """
    Providers differ in what they know; only keys of the proxy's own kind are watched.
    """
    assert kinds([{"role": "user", "content": "a", "reasoning_content": "b"}]) == []


def test_bad_arguments_are_answered_500():
    """
    As llama.cpp answers arguments that are no JSON.
    """
    (violation,) = judge(ILLEGAL["bad_arguments"])

    assert violation.status == 500


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([user("a"), user("b")], ["alternation"]),
        ([user("a"), assistant("b"), assistant("c")], ["alternation"]),
        ([user("a"), call("r", id="x"), result("x"), user("b")], ["alternation"]),
        ([user("a"), call("r", id="x"), result("x"), assistant("b"), user("c")], []),
        ([user("a"), assistant("b"), system(), user("c")], []),
        (chat_session(3, bytes_per_turn=40), []),
    ],
)
def test_alternation_skips_what_templates_do_not_see(rows, expected):
    """
    Tool rows, call rows and system rows do not count.
    """
    assert kinds(rows, alternation=True) == expected


def test_alternation_is_judged_only_on_demand():
    """
    Most providers take two user rows in a row.
    """
    assert kinds([user("a"), user("b")]) == []


def test_only_what_the_client_lacks_is_introduced():
    """
    A plan answers for the violations it adds, not for the client's own.
    """
    client = [user("a"), user("b"), call("r", id="x"), result("x"), user("c")]
    sent = [user("s"), user("b"), result("x"), user("c")]

    assert introduced(client, sent) == {"orphan_result": 1}


def test_a_new_violation_is_not_excused_by_one_that_was_folded_away():
    """
    The client's own user-user pair is gone, another one was made.
    """
    client = [user("a"), user("b"), assistant("c"), user("d")]
    sent = [user("a"), user("summary of b and c. d")]

    assert introduced(client, sent) == {"alternation": 1}


def test_the_client_s_own_violation_stays_its_own_when_its_text_is_cut():
    """
    A long row that is cut in the middle still begins as the client's does.
    """
    client = [user("a"), user("x" * 100 + "y" * 5_000)]
    sent = [user("a"), user("x" * 100 + " ... ")]

    assert introduced(client, sent) == {}


def test_rows_that_are_no_objects_do_not_break_the_judge():
    """
    Odd JSON is judged like a row without a role.
    """
    assert kinds(["text", None, user("a")]) == ["first_row"]


@pytest.mark.parametrize(
    "name", ["bfcl_replay", "crosswoz_zh", "openhands", "pi_coding", "sweagent", "tau_airline_single"]
)
def test_real_conversations_are_legal(name):
    """
    The judge finds nothing in conversations that real providers took.
    """
    lines = shared_file(f"data/conversations/{name}.jsonl").read_bytes().splitlines()

    assert [kinds(loads(line)["messages"]) for line in lines] == [[]] * len(lines)
