import inspect
import re
import socket

import pytest
import tiktoken_ext.openai_public as published

import proxy.tokens.vocabulary as module
from proxy.tokens.estimate import estimate
from proxy.tokens.table import TABLE_FILE, unpack
from proxy.tokens.vocabulary import _PATTERN, CHUNK_CHARS, Vocabulary, chunks
from tests.unit.tokens.texts import texts

SHORT = texts(6_000)
LONG = texts(120_000)


@pytest.fixture(scope="session")
def encoding(vocabulary):
    return vocabulary._encoding


@pytest.mark.parametrize("kind", SHORT)
def test_counts_what_tiktoken_counts(vocabulary, encoding, kind):
    """
    Up to 16,384 characters there is no difference at all.
    """
    assert vocabulary.count(SHORT[kind]) == len(encoding.encode_ordinary(SHORT[kind]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_cutting_long_text_costs_next_to_nothing(vocabulary, encoding, kind):
    """
    Cut at newlines and spaces, the count is within 0.03 %; cut blindly where there are none, it still is.
    """
    exact = len(encoding.encode_ordinary(LONG[kind]))

    assert abs(vocabulary.count(LONG[kind]) - exact) <= 0.0003 * exact


@pytest.mark.parametrize("kind", SHORT)
def test_very_long_text_is_counted_by_samples(vocabulary, monkeypatch, kind):
    """
    Within 1 % where it is of one kind, as all texts of millions of tokens are that anybody has seen.
    """
    text = LONG[kind]
    exact = vocabulary.count(text)
    monkeypatch.setattr(module, "MOST_EXACT_CHARS", 4 * CHUNK_CHARS)

    assert abs(vocabulary.count(text) - exact) <= 0.01 * exact


def test_the_pattern_is_the_published_one(monkeypatch):
    """
    The regex is part of the encoding; a copy must not differ in a character.
    """
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda *_, **__: {})

    assert published.o200k_base()["pat_str"] == _PATTERN


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "least"),
    [
        (" " * 1_000_000, 1_000),
        ("\t" * 1_000_000, 1_000),
        ("\u00a0" * 1_000_000, 1_000),
        ("\n" * 1_000_000, 1_000),
        ("a" * 1_000_000, 100_000),
        ("=" * 1_000_000, 1_000),
        ("🎉" * 200_000, 100_000),
        ("QUJD" * 250_000, 100_000),
        ("的" * 300_000, 50_000),
    ],
    ids=["spaces", "tabs", "no-break spaces", "newlines", "a", "equals", "emoji", "base64", "Han"],
)
def test_text_made_to_hurt_is_counted(vocabulary, text, least):
    """
    A run of a million blanks makes tiktoken panic; one message must not take the process with it.
    """
    assert least <= vocabulary.count(text) <= len(text.encode())


def test_names_of_special_tokens_are_plain_text(vocabulary):
    """
    A client that writes about tokenizers is no attack, and an attack gains nothing.
    """
    assert vocabulary.count("<|endoftext|><|endofprompt|>") > 2


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00b", "\ud83d\ude00"])
def test_lone_surrogates_are_counted_as_tiktoken_counts_them(vocabulary, encoding, text):
    """
    JSON may carry halves of characters; UTF-8 cannot.
    """
    assert vocabulary.count(text) == len(encoding.encode_ordinary(text))


def test_an_empty_text_has_no_tokens(vocabulary):
    """
    Neither before nor after loading.
    """
    assert (vocabulary.count(""), Vocabulary().count("")) == (0, 0)


def test_estimates_until_it_is_loaded():
    """
    The proxy serves while the table is still being read.
    """
    fresh = Vocabulary()

    assert not fresh.ready
    assert fresh.count("some words here") == estimate("some words here")


@pytest.mark.parametrize("content", [None, b"", b"no table"])
def test_a_table_that_cannot_be_read_leaves_estimates(tmp_path, content):
    """
    Loading says what is wrong; counting goes on.
    """
    path = tmp_path / "table.bin"
    if content is not None:
        path.write_bytes(content)
    broken = Vocabulary(path)

    with pytest.raises((OSError, ValueError)):
        broken.load()
    assert not broken.ready
    assert broken.count("some words here") == estimate("some words here")


class PanicException(BaseException):
    """
    What Rust raises through pyo3, by name.
    """


class Breaking:
    def __init__(self, error):
        self._error = error
        self._core_bpe = self

    def encode_to_tiktoken_buffer(self, *_):
        raise self._error


@pytest.mark.parametrize("error", [PanicException("stack"), ValueError("Max stack size exceeded"), RuntimeError()])
def test_a_panic_of_the_tokenizer_becomes_an_estimate(error):
    """
    A panic is no Exception: it would pass every handler up to the top.
    """
    broken = Vocabulary()
    broken._encoding = Breaking(error)

    assert broken.count("some words here") == estimate("some words here")


def test_an_interrupt_is_no_panic():
    """
    Ctrl-C still stops the program.
    """
    broken = Vocabulary()
    broken._encoding = Breaking(KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        broken.count("some words here")


def test_an_older_tiktoken_without_the_buffer_call_will_do():
    """
    The call is private and may go away.
    """

    class Older:
        _core_bpe = object()

        def encode_ordinary(self, text):
            return text.split()

    older = Vocabulary()
    older._encoding = Older()

    assert older.count("three words here") == 3


@pytest.mark.parametrize("unit", ["word ", "line\n", "x", " ", "\n", "a b\nc"])
def test_pieces_of_a_text_are_the_text(unit):
    """
    Nothing is lost at the cuts, and no piece is too long.
    """
    text = unit * (50_000 // len(unit))
    pieces = list(chunks(text))

    assert "".join(pieces) == text
    assert all(0 < len(piece) <= CHUNK_CHARS for piece in pieces)


def test_cuts_after_a_newline_rather_than_before_a_space():
    """
    A newline ends a token in nearly every case.
    """
    text = "a" * 10_000 + "\n" + "b c " * 3_000

    assert next(iter(chunks(text))) == "a" * 10_000 + "\n"


@pytest.mark.slow
def test_needs_no_network_and_no_cache_folder(monkeypatch, tmp_path):
    """
    Machines without a way out count as well as others.
    """

    def refuse(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "none"))
    fresh = Vocabulary()
    fresh.load()

    assert fresh.count("hello world") == 2
    assert not (tmp_path / "none").exists()


def test_loading_twice_is_loading_once(vocabulary):
    """
    The second call keeps the encoding of the first.
    """
    before = vocabulary._encoding
    vocabulary.load()

    assert vocabulary._encoding is before


def test_no_token_is_empty():
    """
    Every token is at least one byte: the bound by bytes rests on it.
    """
    assert min(map(len, unpack(TABLE_FILE.read_bytes()))) == 1


def test_the_module_never_asks_for_the_published_encoding():
    """
    tiktoken.get_encoding would go to the network.
    """
    assert not re.search(r"get_encoding|encoding_for_model|load_tiktoken_bpe", inspect.getsource(module))
