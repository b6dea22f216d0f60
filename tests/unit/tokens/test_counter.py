from base64 import b64encode
from random import Random

import pytest

from proxy.tokens.cache import CountCache
from proxy.tokens.counter import CALL_FRAME, MESSAGE_FRAME, REPLY_PRIMING, TokenCounter
from proxy.tokens.families import family_of
from proxy.tokens.opaque import BLOB_TOKENS
from proxy.tokens.vocabulary import Vocabulary

BLOB = "QUJDREVG" * 500
WORDS = "five words stand here now"


@pytest.fixture
def counter(vocabulary):
    return TokenCounter(vocabulary, CountCache())


def test_a_message_is_its_text_its_role_and_a_frame(counter):
    """
    Three tokens a message, as the published rule has it.
    """
    assert counter.message({"role": "user", "content": WORDS}) == MESSAGE_FRAME + 1 + 5


def test_a_name_costs_one_more(counter):
    """
    The published rule again.
    """
    plain = counter.message({"role": "user", "content": WORDS})

    assert counter.message({"role": "user", "content": WORDS, "name": "bob"}) == plain + 1 + 1


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": WORDS}],
        [{"type": "input_text", "text": WORDS}],
        [{"type": "refusal", "refusal": WORDS}],
        [{"type": "thinking", "thinking": WORDS, "signature": BLOB}],
        [{"type": "tool_result", "content": [{"type": "text", "text": WORDS}]}],
        [{"type": "text", "text": WORDS, "cache_control": {"type": "ephemeral"}}],
        {"type": "text", "text": WORDS},
        [WORDS],
    ],
)
def test_text_counts_the_same_in_every_form(counter, content):
    """
    Parts, plain strings and relatives of them all reach the model as the same text.
    """
    assert counter.message({"role": "user", "content": content}) == MESSAGE_FRAME + 1 + 5


def test_text_is_counted_as_the_model_sees_it(counter):
    """
    Quotes and newlines are longer in JSON than they are.
    """
    text = 'say "hi"\n' * 200

    assert counter.message({"role": "user", "content": text}) == MESSAGE_FRAME + 1 + counter.text(text)


@pytest.mark.parametrize("content", [None, "", []])
def test_no_content_is_no_text(counter, content):
    """
    Assistant rows that only call tools carry null.
    """
    assert counter.message({"role": "assistant", "content": content}) == MESSAGE_FRAME + 1


def test_a_tool_call_is_its_name_its_arguments_and_a_frame(counter):
    """
    The id is seldom shown to the model.
    """
    function = {"name": "read", "arguments": '{"path": "a.txt"}'}
    call = {"id": "call_0123456789", "type": "function", "function": function}
    expected = CALL_FRAME + counter.text("read") + counter.text('{"path": "a.txt"}')

    assert counter.message({"role": "assistant", "tool_calls": [call]}) == MESSAGE_FRAME + 1 + expected
    assert counter.message({"role": "assistant", "function_call": function}) == MESSAGE_FRAME + 1 + expected


@pytest.mark.parametrize("calls", [[None], [3], [{}], [{"function": None}], [{"function": {}}], "x", {}])
def test_odd_calls_cost_nothing(counter, calls):
    """
    What is no call is no reason to fail.
    """
    assert counter.message({"role": "assistant", "tool_calls": calls}) == MESSAGE_FRAME + 1


def test_arguments_that_are_no_string_count_as_their_json(counter):
    """
    Some clients send an object where the wire wants a string.
    """
    call = {"function": {"name": "read", "arguments": {"path": "a.txt"}}}
    expected = CALL_FRAME + counter.text("read") + counter.text('{"path":"a.txt"}')

    assert counter.message({"role": "assistant", "tool_calls": [call]}) == MESSAGE_FRAME + 1 + expected


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": WORDS},
        {"reasoning": WORDS},
        {"reasoning": WORDS, "reasoning_content": WORDS},
        {"reasoning": WORDS, "reasoning_details": [{"type": "reasoning.text", "text": WORDS}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": WORDS, "signature": BLOB}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": WORDS, "signature": BLOB}]},
        {"refusal": WORDS},
    ],
)
def test_reasoning_is_counted_once(counter, fields):
    """
    Routers send the same thoughts under two or three names.
    """
    assert counter.message({"role": "assistant", "content": None, **fields}) == MESSAGE_FRAME + 1 + 5


@pytest.mark.parametrize(
    "fields",
    [
        {"extra_content": {"google": {"thought_signature": BLOB}}},
        {"tool_call_id": "call_0123456789", "id": "msg_1", "cache_control": {"type": "ephemeral"}},
        {"audio": {"id": "audio_1"}},
        {"annotations": []},
    ],
)
def test_what_servers_do_not_show_the_model_costs_nothing(counter, fields):
    """
    Ids, marks and signatures are not text.
    """
    assert counter.message({"role": "assistant", "content": WORDS, **fields}) == MESSAGE_FRAME + 1 + 5


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning.encrypted", "data": BLOB},
        {"type": "redacted_thinking", "data": BLOB},
        {"type": "unheard_of", "payload": {"deep": "data:x;base64," + BLOB}},
    ],
)
def test_blobs_in_unknown_parts_have_a_flat_price(counter, part):
    """
    Four thousand characters of base64 are not three thousand tokens of text.
    """
    tokens = counter.message({"role": "assistant", "content": [part]})

    assert BLOB_TOKENS < tokens < BLOB_TOKENS + 50


def test_base64_that_is_the_text_itself_is_text(counter):
    """
    A model that is handed base64 in a tool result reads every character of it.
    """
    assert counter.message({"role": "tool", "content": BLOB}) > 1_000


def test_an_image_costs_what_the_family_charges(vocabulary):
    """
    And the cache of one family does not serve another.
    """
    cache = CountCache()
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x", "detail": "low"}}]}
    counts = [TokenCounter(vocabulary, cache, family_of(m)).message(message) for m in ("gpt-4o", "gpt-5", "solo")]

    assert counts == [MESSAGE_FRAME + 1 + tokens for tokens in (85, 70, 1_500)]


def test_messages_are_the_sum_of_each(counter):
    """
    One estimator for trigger, tail and progress.
    """
    rows = [{"role": "user", "content": WORDS * n} for n in range(5)]

    assert counter.messages(rows) == sum(map(counter.message, rows))


def test_a_request_without_tools_costs_the_priming_of_its_reply(counter):
    """
    Three tokens open the answer.
    """
    assert counter.fixed({"model": "m", "messages": [], "tools": [], "temperature": 1}) == REPLY_PRIMING


@pytest.mark.parametrize(
    "data",
    [
        {"tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]},
        {"functions": [{"name": "read", "parameters": {"type": "object"}}]},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}},
        {"tool_choice": {"type": "function", "function": {"name": "read"}}},
        {"documents": [{"title": "a", "text": WORDS}]},
    ],
)
def test_what_travels_beside_the_messages_is_counted(counter, data):
    """
    Tool schemas are often larger than the first messages.
    """
    assert REPLY_PRIMING + 5 < counter.fixed(data) < REPLY_PRIMING + 60


def test_a_plain_tool_choice_is_a_token(counter):
    """
    "auto" is no schema.
    """
    assert counter.fixed({"tool_choice": "auto"}) == REPLY_PRIMING + 1


class CountingVocabulary(Vocabulary):
    def __init__(self, *, ready):
        super().__init__()
        self.asked = 0
        self.is_ready = ready

    @property
    def ready(self):
        return self.is_ready

    def count(self, text):
        self.asked += 1
        return len(text)


def test_a_message_is_counted_once():
    """
    A turn costs only what is new in it; an equal message is the same message.
    """
    vocabulary = CountingVocabulary(ready=True)
    counter = TokenCounter(vocabulary, CountCache())
    first = counter.message({"role": "user", "content": WORDS})
    asked = vocabulary.asked

    assert counter.message({"role": "user", "content": WORDS}) == first
    assert vocabulary.asked == asked


def test_an_estimate_is_not_remembered():
    """
    What was guessed while the table was loading is counted properly afterwards.
    """
    vocabulary = CountingVocabulary(ready=False)
    counter = TokenCounter(vocabulary, CountCache())
    counter.message({"role": "user", "content": WORDS})
    asked = vocabulary.asked
    counter.message({"role": "user", "content": WORDS})

    assert vocabulary.asked == 2 * asked


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"role": 3, "content": 4},
        {"content": [1, None, True, [["x"]], {"type": None}]},
        {"role": "user", "content": "\ud83d", "x\ud83d": "\ud83d"},
        {"role": "user", "content": {"text": {"deep": [1e300, 10**40]}}},
        {"role": "assistant", "tool_calls": [{"function": {"name": 5, "arguments": 1.5}}]},
    ],
)
def test_any_json_can_be_counted(counter, message):
    """
    What a client made of a message is never a reason to fail.
    """
    assert counter.message(message) >= MESSAGE_FRAME


def test_deep_json_can_be_counted(counter):
    """
    The server refuses bodies nested deeper than 200.
    """
    part = {"type": "odd"}
    for _ in range(200):
        part = {"inner": [part]}

    assert counter.message({"role": "user", "content": [part]}) > 200


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        (b"", False),
        (WORDS.encode() * 5_000, False),
        ("请把会议改到周三上午，谢谢。".encode() * 500, False),
        (b64encode(Random(1).randbytes(20_000)), True),
        (b"1,5,3,8\n" * 3_000, True),
        (WORDS.encode() * 500 + b"1,5,3,8\n" * 3_000, True),
    ],
    ids=["nothing", "words", "Chinese", "base64", "a table", "words, then a table"],
)
def test_texts_of_less_than_two_bytes_a_token_are_told_by_samples(counter, text, dense):
    """
    They are spread over the whole of it.
    """
    assert counter.is_dense(text) is dense
    assert (2 * counter.text(text.decode()) > len(text)) is dense
