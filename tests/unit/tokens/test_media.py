import base64
import struct

import pytest

from proxy.chat.row_notes import RowNotes
from proxy.tokens.families import UNKNOWN, family_of
from proxy.tokens.media import FILE_TOKENS, VIDEO_TOKENS, carries_media, known_to_carry_media, media_tokens

GIF = base64.b64encode(b"GIF89a" + struct.pack("<HH", 1_024, 1_024) + b"\0" * 9).decode()
WAV = base64.b64encode(b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8_000, 8_000, 1, 8)).decode()


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/gif;base64," + GIF}}, 765),
        ({"type": "image_url", "image_url": {"url": "data:image/gif;base64," + GIF, "detail": "low"}}, 85),
        ({"type": "image_url", "image_url": "data:image/gif;base64," + GIF}, 765),
        ({"type": "input_image", "image_url": "https://example.test/x", "detail": "low"}, 85),
        ({"type": "image", "source": {"type": "base64", "data": GIF}}, 765),
        ({"type": "image_url", "image_url": {"url": "https://example.test/x"}}, 1_500),
        ({"type": "image_url", "image_url": {"url": 3}}, 1_500),
        ({"type": "image_url", "image_url": None, "detail": 4}, 1_500),
        ({"type": "image"}, 1_500),
    ],
)
def test_an_image_is_counted_by_its_size(part, tokens):
    """
    In every form a client gives it; what cannot be read is never fetched.
    """
    assert media_tokens(part, family_of("gpt-4o")) == tokens


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "input_audio", "input_audio": {"data": WAV + "A" * 1_066_600, "format": "wav"}}, 1_000),
        ({"type": "input_audio", "input_audio": {"data": "A" * 213_333, "format": "mp3"}}, 100),
        ({"type": "input_audio", "input_audio": {"data": "é"}}, 50),
        ({"type": "input_audio", "input_audio": {}}, FILE_TOKENS),
        ({"type": "audio_url", "audio_url": {"url": "https://example.test/x"}}, FILE_TOKENS),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64," + "A" * 9_000_000}}, FILE_TOKENS),
        ({"type": "video_url", "video_url": {"url": "https://example.test/x"}}, VIDEO_TOKENS),
    ],
)
def test_other_media_have_flat_or_timed_prices(part, tokens):
    """
    Ten tokens a second of sound; megabytes of base64 are not megabytes of text.
    """
    assert media_tokens(part, UNKNOWN) == pytest.approx(tokens, abs=2)


@pytest.mark.parametrize("part", [{"type": "text", "text": "x"}, {"type": 3}, {"type": []}, {}])
def test_text_is_no_media(part):
    """
    The caller counts it.
    """
    assert media_tokens(part, UNKNOWN) is None


@pytest.mark.parametrize(
    ("content", "answer"),
    [("image_url", False), (None, False), ([{"type": "text", "text": "x"}], False), ([{"type": "file"}], True)],
)
def test_tells_whether_rows_carry_media(content, answer):
    """
    A request with images does not calibrate.
    """
    rows = [{"role": "user", "content": content}, {"role": "user", "content": "hello"}]
    notes = RowNotes(rows)

    assert carries_media(rows) is answer
    assert [known_to_carry_media(notes), known_to_carry_media(notes.handed_on(rows, shared=1))] == [answer, answer]
