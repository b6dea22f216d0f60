import json

import pytest

from proxy.chat.row_notes import RowNotes
from proxy.tokens.bound import DEAR_MEDIUM, holds_only_text, light_bound, upper_bound, without_media


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


def test_media_are_left_out_and_what_is_left_is_json():
    """
    Only the base64 goes; several images, escapes and all else stay.
    """
    parts = [
        {"type": "text", "text": 'a "quoted" word'},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBOR" * 1_000}},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + "/9j/" * 1_000, "detail": "low"}},
    ]
    rest = without_media(body(parts))
    left = json.loads(rest)["messages"][0]["content"]

    assert left[0] == parts[0]
    assert left[1]["image_url"]["url"] == "data:image/png;base64,"
    assert left[2]["image_url"] == {"url": "data:image/jpeg;base64,", "detail": "low"}
    assert light_bound(rest) == len(rest) + 2 * DEAR_MEDIUM


@pytest.mark.parametrize("text", ["hello", "data:image/png, not encoded", "{"])
def test_a_body_without_media_has_nothing_to_leave_out(text):
    """
    Nothing is copied for it.
    """
    assert without_media(body(text)) is None


def test_an_unfinished_body_loses_nothing():
    """
    Where the quote that ends it is missing, the rest stays.
    """
    broken = b'{"a":"data:image/png;base64,AAAA'

    assert without_media(broken) is None


MEDIUM = {"type": "image_url", "image_url": {"url": "https://example.test/x.png"}}


@pytest.mark.parametrize(
    "row",
    [
        {"role": "user", "content": [{"type": "text", "text": "what is this?"}, MEDIUM]},
        {"role": "user", "content": [{"type": "text", "text": "x", "image_url": "https://example.test/x.png"}]},
        {"role": "user", "content": MEDIUM},
        {"role": "user", "content": ["text", MEDIUM]},
        {"role": "tool", "content": [{"type": "tool_result", "content": [MEDIUM]}]},
        {"role": "assistant", "content": "x", "reasoning_details": [MEDIUM]},
        {"role": "assistant", "content": None, "thinking_blocks": [MEDIUM]},
    ],
)
def test_a_row_that_may_hold_a_medium_is_more_than_text(row):
    """
    Wherever a counter finds a medium, the bytes are no bound.
    """
    notes = RowNotes([{"role": "user", "content": "hello"}, row, {"role": "user", "content": "go on"}])

    assert [holds_only_text(notes, behind=rows) for rows in (0, 1, 2)] == [False, False, True]


@pytest.mark.parametrize(
    "row",
    [
        {"role": "user", "content": 'the text {"type": "image_url"}'},
        {"role": "user", "content": [{"type": "text", "text": "an image_url", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "file", "arguments": "{}"}}]},
        {"role": "assistant"},
    ],
)
def test_rows_of_text_are_known_by_their_shape(row):
    """
    What the text says does not matter, so none of it is read.
    """
    assert holds_only_text(RowNotes([row]))
