from __future__ import annotations

import json
import re
from collections.abc import Iterable

import pytest

from proxy.recovery.classify import classify, classify_with
from proxy.recovery.fault import Label
from proxy.recovery.normalise import normalise
from proxy.recovery.rules import PRECEDENCE
from proxy.recovery.settings import PatternRule
from tests.support.shared import shared_file
from tests.unit.recovery import holdout_fifth, holdout_first, holdout_fourth, holdout_second, holdout_third
from tests.unit.recovery.holdout_first import Case

HOLDOUTS = (
    *holdout_first.OVERFLOWS,
    *holdout_first.OTHERS,
    *holdout_second.OVERFLOWS,
    *holdout_second.OTHERS,
    *holdout_third.CASES,
    *holdout_fourth.CASES,
    *holdout_fourth.NEAR_MISSES,
    *holdout_fifth.CASES,
)


def error(message: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


@pytest.mark.parametrize("case", HOLDOUTS, ids=lambda case: case.body[:60])
def test_knows_the_wording(case: Case) -> None:
    """
    Each wording of the hold-outs gets its label.
    """
    fault = classify(case.status, case.body.encode())

    assert fault.label == case.label


@pytest.mark.parametrize("case", [case for case in HOLDOUTS if case.limit], ids=lambda case: case.body[:60])
def test_reads_the_limit(case: Case) -> None:
    """
    The limit that an overflow states is the one that is read.
    """
    assert classify(case.status, case.body.encode()).limit == case.limit


@pytest.mark.parametrize("case", [case for case in HOLDOUTS if case.requested], ids=lambda case: case.body[:60])
def test_reads_what_was_requested(case: Case) -> None:
    """
    The size that the upstream counted is read as the prompt or as the total.
    """
    fault = classify(case.status, case.body.encode())

    assert case.requested in (fault.prompt, fault.total)


class TestSharedCollection:
    """
    Measured on the collection of real error bodies.
    """

    def test_recall_and_precision_of_overflow(self, collection: list[dict]) -> None:
        """
        At least 97 of 100 overflows are found, and at least 99 of 100 found ones are overflows.
        """
        verdicts = [
            (_classify(row).label == "context_overflow", row["label"] == "context_overflow") for row in collection
        ]
        hits = verdicts.count((True, True))

        assert hits / sum(want for _, want in verdicts) >= 0.97
        assert hits / sum(got for got, _ in verdicts) >= 0.99

    def test_label_accuracy(self, collection: list[dict]) -> None:
        """
        At least 95 of 100 bodies get their label.
        """
        right = sum(_classify(row).label == row["label"] for row in collection)

        assert right / len(collection) >= 0.95

    def test_stated_limits_are_read(self, collection: list[dict]) -> None:
        """
        At least 97 of 100 limits that the body states are read right.
        """
        rows = [row for row in collection if row["label"] == "context_overflow" and _states(row, "limit")]
        right = sum(_classify(row).limit == row["limit"] for row in rows)

        assert right / len(rows) >= 0.97

    def test_stated_requests_are_read(self, collection: list[dict]) -> None:
        """
        At least 97 of 100 sizes that the body states are read right.
        """
        rows = [row for row in collection if row["label"] == "context_overflow" and _states(row, "requested")]
        right = sum(row["requested"] in (_classify(row).prompt, _classify(row).total) for row in rows)

        assert right / len(rows) >= 0.97

    def test_no_window_is_read_where_none_is_stated(self, collection: list[dict]) -> None:
        """
        No rate, balance, output cap or number of characters is ever taken for a window.
        """
        invented = [row["id"] for row in collection if row["limit"] is None and _classify(row).limit is not None]

        assert invented == []

    def test_max_tokens_at_fault_is_told_apart(self, collection: list[dict]) -> None:
        """
        Whether the asked output alone is at fault is right for at least 97 of 100 overflows.
        """
        rows = [row for row in collection if _classify(row).label == row["label"] == "context_overflow"]
        right = sum(_classify(row).max_tokens_issue == row["max_tokens_issue"] for row in rows)

        assert right / len(rows) >= 0.97

    def test_families_carry_to_a_provider_that_was_left_out(self, collection: list[dict]) -> None:
        """
        Without the rules that were written for one provider alone, its overflows are still found (90 of 100).
        """
        overflows = [row for row in collection if row["label"] == "context_overflow"]
        found = sum(_without_own_rules(row) == "context_overflow" for row in overflows)

        assert found / len(overflows) >= 0.90


@pytest.fixture
def collection() -> list[dict]:
    lines = shared_file("data/errors.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["label"] != "silent_truncation_note"]


def _status(row: dict) -> int | None:
    return row["status"] if isinstance(row["status"], int) and row["status"] != 200 else None


def _classify(row: dict):
    return classify(_status(row), row["body"].encode())


def _states(row: dict, key: str) -> bool:
    return row[key] is not None and str(row[key]) in row["body"].replace(",", "")


def _without_own_rules(row: dict) -> Label:
    tables: Iterable = [[rule for rule in table if rule.seen != row["provider"]] for table in PRECEDENCE]
    return classify_with(list(tables), _status(row), normalise(row["body"].encode())).label


OVERFLOW_TEXT = "This model's maximum context length is 9000 tokens. However, your messages resulted in 9900 tokens."


@pytest.mark.parametrize(
    "body",
    [
        error(OVERFLOW_TEXT),
        json.dumps([json.loads(error(OVERFLOW_TEXT))]).encode(),
        json.dumps({"error": error(OVERFLOW_TEXT).decode()}).encode(),
        json.dumps({"error": OVERFLOW_TEXT}).encode(),
        json.dumps(
            {"error": {"message": "Provider returned error", "metadata": {"raw": error(OVERFLOW_TEXT).decode()}}}
        ).encode(),
        f"litellm.BadRequestError: XException - {error(OVERFLOW_TEXT)!r}".encode(),
        b"400 " + error(OVERFLOW_TEXT),
        b"event: error\ndata: " + error(OVERFLOW_TEXT),
        b"<html><body><p>" + OVERFLOW_TEXT.encode() + b"</p></body></html>",
        OVERFLOW_TEXT.upper().encode(),
        f"Error code: 400 - {json.loads(error(OVERFLOW_TEXT))}".encode(),
    ],
    ids=["object", "array", "string", "bare", "raw", "bytes-repr", "prefixed", "sse", "html", "shouted", "python-repr"],
)
def test_sees_through_wrapping(body: bytes) -> None:
    """
    However relays wrap it, an overflow is one, with its numbers.
    """
    fault = classify(400, body)

    assert (fault.label, fault.limit, fault.prompt) == (Label.CONTEXT_OVERFLOW, 9000, 9900)


def test_takes_an_overflow_at_any_status() -> None:
    """
    Servers answer an overflow with 400, 413, 422, 500 or 503, or inside a stream.
    """
    labels = {classify(status, error(OVERFLOW_TEXT)).label for status in (400, 413, 422, 500, 503, None)}

    assert labels == {Label.CONTEXT_OVERFLOW}


def test_never_takes_a_429_for_an_overflow() -> None:
    """
    A 429 is a rate, whatever it says about the context.
    """
    assert classify(429, error(OVERFLOW_TEXT)).label is Label.RATE_LIMIT


def test_a_code_inside_a_stream_stands_for_the_status() -> None:
    """
    A 429 that arrives in an event is still a 429; the fault says that no status came with it.
    """
    fault = classify(None, error("Provider returned error", code=429))

    assert (fault.label, fault.status) == (Label.RATE_LIMIT, None)


def test_never_takes_a_402_for_an_overflow() -> None:
    """
    "Prompt tokens limit exceeded" with a 402 speaks of the balance, so no window is learned from it.
    """
    fault = classify(402, error("Prompt tokens limit exceeded: 329001 > 168001"))

    assert (fault.label, fault.limit) == (Label.BILLING_QUOTA, None)


def test_shrinking_helps_where_more_is_requested_than_the_limit() -> None:
    """
    Waiting never cures a request that is larger than a whole minute's tokens.
    """
    fault = classify(413, error("Request too large on tokens per minute (TPM): Limit 7000, Requested 9000"))

    assert (fault.label, fault.shrink_helps, fault.rate_limit, fault.total) == (Label.RATE_LIMIT, True, 7000, 9000)


def test_shrinking_does_not_help_where_waiting_does() -> None:
    """
    A minute that is used up is none of our business.
    """
    fault = classify(429, error("on tokens per minute (TPM): Limit 7000, Used 6900, Requested 900"))

    assert fault.shrink_helps is False


def test_reads_an_output_cap_apart_from_the_window() -> None:
    """
    A cap on the output is no window.
    """
    fault = classify(400, error("max_tokens is too large: 90000. This model supports at most 32000 completion tokens"))

    assert (fault.label, fault.output_cap, fault.limit) == (Label.OUTPUT_CAP, 32000, None)


def test_reads_a_byte_limit_apart_from_the_window() -> None:
    """
    A limit in bytes is a limit in bytes.
    """
    fault = classify(413, error("Request body exceeds 10 MiB"))

    assert (fault.label, fault.byte_limit, fault.unit, fault.limit) == (
        Label.PAYLOAD_TOO_LARGE,
        10 * 1024 * 1024,
        "bytes",
        None,
    )


def test_reads_a_character_limit_apart_from_the_window() -> None:
    """
    A limit in characters never becomes a window.
    """
    fault = classify(400, error("the max input characters is 21000"))

    assert (fault.label, fault.character_limit, fault.unit, fault.limit) == (
        Label.CONTEXT_OVERFLOW,
        21000,
        "characters",
        None,
    )


def test_a_generic_code_in_parentheses_is_no_limit() -> None:
    """
    "(2013)" is one provider's code for invalid parameters, not a number of tokens.
    """
    fault = classify(400, error("invalid params, context window exceeds limit (2013)"))

    assert (fault.label, fault.limit) == (Label.CONTEXT_OVERFLOW, None)


def test_an_impossible_limit_is_dropped() -> None:
    """
    One server's version states window minus max_tokens as the window: "3 tokens".
    """
    fault = classify(
        400, error("This model's maximum context length is 3 tokens. However, your request has 9 input tokens.")
    )

    assert (fault.label, fault.limit) == (Label.CONTEXT_OVERFLOW, None)


def test_a_lower_bound_is_marked() -> None:
    """
    "At least N input tokens" is derived from the window and says nothing about the prompt.
    """
    text = (
        "This model's maximum context length is 9000 tokens. However, you requested 8000 output tokens and your prompt"
        " contains at least 1001 input tokens, for a total of at least 9001 tokens."
    )

    assert classify(400, error(text)).at_least is True


def test_output_is_at_fault_where_the_prompt_alone_fits() -> None:
    """
    5,000 + 5,000 in a window of 9,000: the prompt is fine.
    """
    assert classify(400, error("context limit: 5000 + 5000 > 9000")).max_tokens_issue is True


def test_output_is_not_at_fault_where_the_prompt_alone_is_too_long() -> None:
    """
    9,500 + 500 in a window of 9,000: no smaller output helps.
    """
    assert classify(400, error("context limit: 9500 + 500 > 9000")).max_tokens_issue is False


@pytest.mark.parametrize("status", [400, 502])
def test_an_empty_answer_is_not_confident(status: int) -> None:
    """
    A refusal without a word needs corroboration.
    """
    assert classify(status, b"").confident is False


@pytest.mark.parametrize(
    "text",
    [
        "Bad Request",
        "Request failed with status code 400",
        "400 Bad Request",
        "Error",
        "Invalid request parameters. Please check your input.",
    ],
)
def test_a_generic_400_is_not_confident(text: str) -> None:
    """
    Relays replace the reason by a phrase; such a 400 may be anything.
    """
    fault = classify(400, error(text))

    assert (fault.label, fault.confident) == (Label.INVALID_REQUEST_OTHER, False)


def test_an_explained_400_is_confident() -> None:
    """
    A reason that no rule knows is still a reason.
    """
    assert classify(400, error("the flux capacitor is misaligned")).confident is True


def test_an_empty_413_is_a_payload_that_needs_corroboration() -> None:
    """
    A bare 413 says that it was too large, not of what.
    """
    fault = classify(413, b"")

    assert (fault.label, fault.confident) == (Label.PAYLOAD_TOO_LARGE, False)


def test_an_unknown_wording_is_marked_for_the_log() -> None:
    """
    What no rule knows is worth an event, so that the tables can grow.
    """
    assert classify(400, error("the flux capacitor is misaligned")).known is False


def test_complaints_about_pairs_are_marked_as_structure() -> None:
    """
    They are the ones that our own rewriting may have caused.
    """
    fault = classify(
        400, error("messages with role 'tool' must be a response to a preceding message with 'tool_calls'")
    )

    assert fault.structure is True


def test_a_server_that_quotes_the_request_back_does_not_mislead() -> None:
    """
    A validation dump that echoes the user's talk about "context_length_exceeded" is no overflow.
    """
    dump = "2 validation errors for ChatRequest\nmessages.0.content\n input_value='why context_length_exceeded?'"

    assert classify(500, error(dump)).label is Label.INVALID_REQUEST_OTHER


def test_own_patterns_come_first() -> None:
    """
    A user's pattern beats the built-in rules.
    """
    pattern = PatternRule(status=400, regex=re.compile("flux capacitor"), label=Label.CONTEXT_OVERFLOW)
    fault = classify(400, error("the Flux Capacitor is full: limit 9000 tokens"), patterns=[pattern])

    assert (fault.label, fault.limit) == (Label.CONTEXT_OVERFLOW, 9000)


def test_own_patterns_mind_their_status() -> None:
    """
    A pattern for 400 says nothing about a 500.
    """
    pattern = PatternRule(status=400, regex=re.compile("flux"), label=Label.CONTEXT_OVERFLOW)

    assert classify(500, error("flux"), patterns=[pattern]).label is Label.OVERLOADED_5XX


def test_the_message_is_the_upstreams_own_and_bounded() -> None:
    """
    The message is what a give-up carries to the client: the inner one, at most 2,000 characters.
    """
    body = json.dumps({"error": error("prompt is too long " * 900).decode()}).encode()
    message = classify(400, body).message

    assert message.startswith("prompt is too long")
    assert len(message) <= 2_000
