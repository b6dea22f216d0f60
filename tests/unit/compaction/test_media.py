import pytest

from proxy.compaction.media import is_media_part, media_count, without_media
from tests.support.conversations import image


def pictures(number):
    """
    Return a user row with a text and this many images, told apart by their address.
    """
    urls = [{"type": "image_url", "image_url": {"url": f"https://example.test/{n}.png"}} for n in range(number)]
    return {"role": "user", "content": [{"type": "text", "text": "look"}, *urls]}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "u"}},
        {"type": "input_audio", "input_audio": {}},
        {"type": "file", "file": {}},
        {"type": "video_url"},
        {"image_url": "bare"},
    ],
)
def test_images_audio_files_and_video_are_media(part):
    """
    In every form that clients write.
    """
    assert is_media_part(part)


@pytest.mark.parametrize(
    "part", [{"type": "text", "text": "t"}, {"type": "refusal", "refusal": "r"}, {"type": "thinking"}, {"type": {}}, {}]
)
def test_text_thinking_and_the_unknown_are_no_media(part):
    """
    Nor does an odd type raise.
    """
    assert not is_media_part(part)


def test_the_newest_media_of_a_row_stay():
    """
    One row can carry hundreds; taking all of them out loses the ask.
    """
    kept = without_media(pictures(5), keep=2)["content"]

    assert [part.get("type") for part in kept] == ["text", "text", "text", "text", "image_url", "image_url"]
    assert kept[-1]["image_url"]["url"].endswith("4.png")
    assert kept[0]["text"] == "look"


def test_a_row_with_no_more_than_may_stay_is_the_clients_own():
    """
    Untouched means the same object.
    """
    row = pictures(2)

    assert without_media(row, keep=2) is row
    assert without_media({"role": "user", "content": "text"}, keep=0) == {"role": "user", "content": "text"}


def test_a_label_names_what_was_there_and_keeps_its_cache_mark():
    """
    The breakpoint stays where the client put it.
    """
    row = image()
    row["content"][1]["cache_control"] = {"type": "ephemeral"}
    label = without_media(row, keep=0)["content"][1]

    assert label["text"] == "[an earlier image was here; it is left out]"
    assert label["cache_control"] == {"type": "ephemeral"}


def test_counts_media_of_any_content():
    """
    Strings and numbers carry none, a bare dict can be one.
    """
    assert media_count(pictures(3)) == 3
    assert media_count({"role": "user", "content": {"type": "image_url", "image_url": "u"}}) == 1
    assert media_count({"role": "user", "content": 7}) == 0
    assert media_count({"role": "user"}) == 0
