import pytest

from proxy.windows.names import providers, spellings, words


@pytest.mark.parametrize(
    ("one", "other"),
    [("llama3.1", "llama-3-1"), ("Meta-Llama-3.1", "llama3.1"), ("GPT_4o", "gpt-4o"), ("claude-4.5", "claude-4-5")],
)
def test_spellings_of_one_name_have_the_same_words(one, other):
    """
    Dots, dashes, capitals and a missing dash before a number make no difference.
    """
    assert words(one) == words(other)


def test_a_letter_after_a_digit_belongs_to_the_number():
    """
    gpt-4 is no beginning of gpt-4o.
    """
    assert words("gpt-4o") == ("gpt", "4o")


def test_spellings_go_from_the_fullest_to_the_barest():
    """
    A tag may be the size of an Ollama model or a suffix of OpenRouter: both spellings are tried.
    """
    assert list(spellings("us.anthropic.claude-3:free")) == [
        ("us", "anthropic", "claude", "3", "free"),
        ("us", "anthropic", "claude", "3"),
        ("claude", "3"),
    ]


def test_providers_are_named_before_slashes():
    """
    Path words that name no provider are left out.
    """
    assert providers("OpenRouter/models/qwen/qwen3") == ("openrouter", "qwen")
