"""
Windows and output limits of our own, for families that the packaged price table leaves out or has wrong.
"""

from __future__ import annotations

WINDOWS: tuple[tuple[str, int, str], ...] = (
    # beginning of the name, window, why
    ("gemini-2.5-pro", 1_048_576, "the table has no window for it"),
    ("gemini-3-pro", 1_048_576, "the table has no window for it"),
    ("gemini-1.5-pro", 2_097_152, "the table says one million; its card says two"),
    ("deepseek-chat", 131_072, "the table has the 64K of V3; since V3.1 the API serves 128K"),
    ("deepseek-reasoner", 131_072, "the same"),
    ("llama-3.1", 131_072, "open weights without a size in the name, as Ollama spells them"),
    ("llama-3.2", 131_072, "the same"),
    ("llama-3.3", 131_072, "the same"),
    ("llama-3", 8_192, "the same"),
    ("llama-2", 4_096, "the same"),
    ("codellama", 16_384, "the same"),
    ("qwen-2.5", 32_768, "what servers load by default; 128K needs a changed rope setting"),
    ("qwen-3", 40_960, "the same"),
    ("qwen-3-coder", 262_144, "its card"),
    ("mistral-7b", 32_768, "hosts differ, the card says 32K"),
    ("mixtral-8x7b", 32_768, "the same"),
    ("gemma-2", 8_192, "its card"),
    ("gemma-3", 131_072, "its card"),
    ("phi-3", 4_096, "its card, unless 128k stands in the name"),
    ("phi-4", 16_384, "its card"),
    ("gpt-5.3-codex-spark", 128_000, "smaller than the model whose name it begins with"),
)

OUTPUTS: tuple[tuple[str, int], ...] = (
    # beginning of the name, most output tokens; the packaged table knows none
    ("gpt-4o", 16_384),
    ("gpt-4.1", 32_768),
    ("gpt-4-turbo", 4_096),
    ("gpt-3.5-turbo", 4_096),
    ("gpt-5", 128_000),
    ("gpt-6", 128_000),
    ("o1", 100_000),
    ("o1-mini", 65_536),
    ("o1-preview", 32_768),
    ("o3", 100_000),
    ("o4-mini", 100_000),
    ("claude-3-haiku", 4_096),
    ("claude-3-opus", 4_096),
    ("claude-3-sonnet", 4_096),
    ("claude-3.5-sonnet", 8_192),
    ("claude-3.5-haiku", 8_192),
    ("claude-3.7-sonnet", 64_000),
    ("claude-sonnet-4", 64_000),
    ("claude-haiku-4", 64_000),
    ("claude-opus-4", 32_000),
    ("claude-opus-4.5", 64_000),
    ("claude-opus-4.6", 128_000),
    ("claude-opus-4.7", 128_000),
    ("gemini-1.5", 8_192),
    ("gemini-2.0", 8_192),
    ("gemini-2.5", 65_536),
    ("gemini-3", 65_536),
    ("deepseek-chat", 8_192),
    ("deepseek-reasoner", 65_536),
)
