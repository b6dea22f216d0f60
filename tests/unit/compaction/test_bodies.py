import pytest

from proxy.compaction.bodies import body_text, is_thinking_part, plain_text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        (7, "7"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": ""}, "b"], "a\nb"),
        ({"type": "text", "text": "dict"}, "dict"),
        ({"rows": [1, 2]}, '{"rows":[1,2]}'),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ([{"type": "image_url", "image_url": "u"}, {"type": "thinking", "thinking": "t"}], ""),
    ],
)
def test_every_shape_of_content_has_a_text(content, text):
    """
    Study str, list, None and dict: that is what clients send.
    """
    assert body_text({"role": "tool", "content": content}) == text


def test_thinking_is_no_text_of_ours():
    """
    It is signed, so it is never read into a cut.
    """
    assert is_thinking_part({"type": "redacted_thinking", "data": "x"})
    assert plain_text({"type": "reasoning", "text": "t"}) == ""
    assert not is_thinking_part({"type": ["thinking"]})
