from proxy.chat.errors import context_length_exceeded, error_body
from proxy.chat.json import loads


def test_an_error_has_the_shape_that_sdks_parse() -> None:
    """
    All four members are always there.
    """
    assert loads(error_body("no", kind="server_error")) == {
        "error": {"message": "no", "type": "server_error", "param": None, "code": None}
    }


def test_an_overflow_that_cannot_be_cured_is_named_as_openai_names_it() -> None:
    """
    Agents look for this code to start their own compaction.
    """
    assert loads(context_length_exceeded("too long"))["error"] == {
        "message": "too long",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }


def test_a_message_with_half_an_emoji_can_be_sent() -> None:
    """
    The upstream's own words are quoted in it, cut anywhere.
    """
    assert loads(error_body("a\ud83d"))["error"]["message"] == "a?"
