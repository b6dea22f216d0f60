from __future__ import annotations

import json

import pytest

from proxy.recovery.normalise import MAX_JOINED, fold, normalise, sentences


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"\xff\xfe", b"null", b"[]", b"{}", b'{"error": null}', b"{" * 5_000, b"[" * 5_000]
)
def test_survives_anything(body: bytes) -> None:
    """
    Whatever the body, taking it apart does not raise.
    """
    assert normalise(body).codes == frozenset()


def test_gathers_codes_from_every_nesting() -> None:
    """
    Codes stand at the top, in the error, in its details and inside a string.
    """
    inner = json.dumps({"error": {"code": "INNER_code"}})
    body = {"status": "OUTER", "error": {"type": "middle", "details": [{"reason": "deep"}], "message": inner}}

    assert normalise(json.dumps(body).encode()).codes >= {"outer", "middle", "deep", "inner_code"}


def test_reads_structured_numbers() -> None:
    """
    Numbers in fields of their own need no wording.
    """
    body = b'{"error": {"message": "no", "n_prompt_tokens": 9001.0, "n_ctx": 8000}}'

    assert normalise(body).numbers == {"prompt": 9001, "limit": 8000}


def test_reads_pairs_out_of_json_that_was_cut_off() -> None:
    """
    A relay that truncates the body loses the brace, not the code.
    """
    assert "tokens_too_long" in normalise(b'upstream said {"error": {"code": "tokens_too_long", "mess').codes


def test_booleans_are_no_codes() -> None:
    """
    ``"status": false`` names nothing.
    """
    assert normalise(b'{"status": false, "code": true}').codes == frozenset()


def test_html_is_read_as_text() -> None:
    """
    Tags, styles and comments are dropped.
    """
    text = normalise(b"<html><style>x{}</style><h1>413 Too Large</h1><!-- pad --></html>").text

    assert text == "413 too large"


def test_escapes_of_nested_strings_are_undone() -> None:
    """
    Chinese that arrives as escapes is Chinese.
    """
    assert "超长" in normalise(rb'{"error": "{\"message\": \"Prompt \\u8d85\\u957f"}').text


def test_depth_is_capped() -> None:
    """
    Beyond six nestings nothing is read.
    """
    body = b'{"error":' * 20 + b'{"code": "deep_code"}' + b"}" * 20

    assert normalise(body).codes == frozenset()


def test_long_texts_are_clipped() -> None:
    """
    A server that quotes the request back costs no more than a short one.
    """
    assert len(normalise(b"x " * 40_000).text) <= MAX_JOINED


def test_the_end_of_a_long_text_is_kept() -> None:
    """
    The reason may stand behind the quoted request.
    """
    assert normalise(b"x " * 9_000 + b"prompt is too long").text.endswith("prompt is too long")


def test_fold_makes_one_form() -> None:
    """
    Full-width signs, backticks, case and runs of spaces do not matter.
    """
    assert fold("`Max\t\tTokens`：１２８，０００") == "max tokens:128,000"


def test_an_echoed_request_is_not_read() -> None:
    """
    Fields that carry the request back are no messages.
    """
    refusal = normalise(b'{"detail": [{"msg": "bad", "input": "prompt is too long"}]}')

    assert refusal.text == "bad"


def test_each_sentence_gets_a_line() -> None:
    """
    A decimal point ends no sentence.
    """
    assert sentences("limit is 1.5m tokens. try again！请稍后") == "limit is 1.5m tokens\ntry again\n请稍后"
