import pytest

from proxy.tokens.families import UNKNOWN, family_of


@pytest.mark.parametrize(
    ("model", "name", "prior"),
    [
        ("gpt-4o-2024-08-06", "gpt", 1.0),
        ("gpt-4o-mini", "gpt-4o-mini", 1.0),
        ("gpt-5", "gpt-5", 1.0),
        ("gpt-5.4", "gpt-5.2", 1.0),
        ("gpt-5-mini", "gpt-mini", 1.0),
        ("o3-mini", "o1", 1.0),
        ("openai/o1", "o1", 1.0),
        ("claude-3-5-sonnet-latest", "claude", 1.2),
        ("claude-sonnet-4-5", "claude", 1.2),
        ("claude-opus-4-6", "claude", 1.2),
        ("claude-opus-4-7", "claude-4.7", 1.5),
        ("anthropic/claude-opus-5", "claude-4.7", 1.5),
        ("models/gemini-2.5-pro", "gemini", 1.2),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen", 1.2),
        ("mistral-large-latest", "mistral", 1.2),
        ("deepseek-chat", "deepseek", 1.1),
        ("deepseek-r1-distill-qwen-32b", "qwen", 1.2),
        ("llama3.1:8b", "llama", 1.0),
    ],
)
def test_a_name_speaks_of_its_family(model, name, prior):
    """
    Before anything is measured, the tokenizer's known ratio to ours is the best guess.
    """
    family = family_of(model)

    assert (family.name, family.prior) == (name, prior)


@pytest.mark.parametrize("model", ["", "my-model", "solo3", "foo1", "embedding"])
def test_a_strangers_name_has_no_family(model):
    """
    A guess a little on the safe side.
    """
    assert family_of(model) is UNKNOWN
