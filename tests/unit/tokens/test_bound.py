import json

import pytest

from proxy.tokens.bound import upper_bound


def body(content, **more):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **more}).encode()


def test_a_request_has_no_more_tokens_than_bytes():
    """
    The cheapest measure there is: most requests are small.
    """
    assert upper_bound(body("hello")) == len(body("hello"))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.test/x.png"}},
        {"image_url": "x"},
        {"type": "image"},
        {"type": "input_image"},
        {"type": "input_audio", "input_audio": {}},
        {"type": "audio_url"},
        {"type": "file", "file": {"file_id": "f"}},
        {"type": "input_file"},
        {"type": "document"},
        {"type": "video_url"},
    ],
)
def test_media_have_no_bound(part):
    """
    A short address may be a thousand tokens.
    """
    assert upper_bound(body([part])) is None


def test_media_behind_blanks_have_no_bound():
    """
    Some clients write JSON with blanks and newlines.
    """
    assert upper_bound(b'{"messages":[{"content":[{"type" :\n "image"}]}]}') is None


def test_media_behind_escapes_have_no_bound():
    """
    A letter may be written as an escape, and the word is the same.
    """
    assert upper_bound(rb'{"messages":[{"content":[{"type":"\u0069mage"}]}]}') is None


@pytest.mark.parametrize("text", ['{"type": "image"}', "an image_url", "type: file", "\u00e9\u4e2d\U0001f600 <b> & c"])
def test_text_about_media_keeps_its_bound(text):
    """
    Quotes inside text are escaped, so talk of images is no image; nor are the escapes of other letters.
    """
    assert upper_bound(body(text)) is not None


def test_a_tool_with_a_parameter_named_file_keeps_its_bound():
    """
    Most coding agents have one.
    """
    tool = {"type": "function", "function": {"parameters": {"properties": {"file": {"type": "string"}}}}}

    assert upper_bound(body("hello", tools=[tool])) is not None
