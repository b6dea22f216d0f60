"""
Names of models as clients really send them, and the window that is found for each.
"""

import subprocess
import sys

import pytest

from proxy.windows.table import packaged_table

KNOWN = {
    # OpenAI, directly and through Azure
    "gpt-4o": 128_000,
    "gpt-4o-2024-08-06": 128_000,
    "azure/gpt-4o-2024-08-06": 128_000,
    "gpt-4o-mini": 128_000,
    "chatgpt-4o-latest": 128_000,
    "ft:gpt-4o-mini-2024-07-18:acme::9abc": 128_000,
    "gpt-4-turbo": 128_000,
    "gpt-4": 8_192,
    "gpt-4-0613": 8_192,
    "gpt-3.5-turbo-0125": 16_385,
    "gpt-4.1-mini-2025-04-14": 1_000_000,
    "o1-mini": 128_000,
    "o3": 200_000,
    "o3-mini-2025-01-31": 200_000,
    "o4-mini": 200_000,
    "gpt-5": 400_000,
    "gpt-5-mini-2025-08-07": 400_000,
    "gpt-5.1-codex-max": 400_000,
    "gpt-5.3-codex-spark": 128_000,
    "gpt-5.4": 1_050_000,
    "gpt-oss:20b": 131_072,
    "openai/gpt-oss-120b": 131_072,
    # Anthropic, directly and through clouds and routers
    "claude-3-haiku-20240307": 200_000,
    "claude-3-5-sonnet-latest": 200_000,
    "claude-3-7-sonnet-20250219": 200_000,
    "claude-sonnet-4-20250514": 200_000,
    "claude-sonnet-4-5-20250929": 200_000,
    "claude-opus-4-6": 1_000_000,
    "anthropic/claude-sonnet-4.5": 200_000,
    "openrouter/anthropic/claude-sonnet-4.5:beta": 1_000_000,
    "us.anthropic.claude-sonnet-4-20250514-v1:0": 200_000,
    "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0": 200_000,
    "vertex_ai/claude-sonnet-4@20250514": 200_000,
    # Google
    "gemini-1.5-pro": 2_097_152,
    "gemini-1.5-flash-002": 1_000_000,
    "gemini-2.0-flash": 1_000_000,
    "models/gemini-2.5-pro": 1_048_576,
    "gemini/gemini-2.5-flash": 1_048_576,
    "gemini-2.5-pro-preview-06-05": 1_048_576,
    "gemini-3-pro-preview": 1_048_576,
    "gemma3:12b": 131_072,
    "gemma2:9b": 8_192,
    # open weights, from hubs and from Ollama
    "deepseek-chat": 131_072,
    "deepseek-ai/DeepSeek-V3.1": 131_072,
    "deepseek-v4-pro": 1_000_000,
    "Qwen/Qwen2.5-72B-Instruct": 32_000,
    "qwen2.5-coder:7b": 32_768,
    "qwen3:8b": 40_960,
    "qwen3-coder:30b": 262_144,
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": 262_144,
    "llama3:8b": 8_192,
    "llama3.1:8b-instruct-q4_K_M": 131_072,
    "llama3.2": 131_072,
    "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo": 131_072,
    "meta-llama/Llama-3.3-70B-Instruct": 131_072,
    "llama-3.3-70b-versatile": 128_000,
    "accounts/fireworks/models/llama-v3p1-405b-instruct": 131_072,
    "mistral-large-latest": 128_000,
    "mistralai/Mistral-7B-Instruct-v0.3": 32_768,
    "mixtral-8x7b-32768": 32_768,
    "codestral-latest": 256_000,
    "phi3:mini": 4_096,
    "phi-4": 16_384,
    # others
    "grok-3": 131_072,
    "xai/grok-4-0709": 256_000,
    "grok-4-fast": 2_000_000,
    "moonshotai/kimi-k2": 131_072,
    "kimi-k2-thinking": 262_144,
    "moonshot-v1-8k": 8_192,
    "z-ai/glm-4.5-air": 131_072,
    "zai-org/GLM-4.6": 204_800,
    "minimax/minimax-m1": 1_000_000,
    "command-r-plus-08-2024": 128_000,
    "amazon.nova-pro-v1:0": 300_000,
    "sonar-pro": 200_000,
}


@pytest.mark.parametrize(("model", "window"), KNOWN.items())
def test_finds_the_window_of_a_name_as_clients_send_it(model, window):
    """
    Prefixes of routers, dates, tags and spellings do not hide a model.
    """
    assert packaged_table().find(model) == window


@pytest.mark.parametrize("model", ["", "my-finetune", "gpt", "default", "a/b/c", ":", "模型", "chat-model-1"])
def test_knows_nothing_of_a_strangers_name(model):
    """
    A name that only shares a word with a known one gets no window.
    """
    assert packaged_table().find(model) is None


@pytest.mark.slow
def test_importing_the_room_does_not_read_the_table():
    """
    The table takes longer to import than everything else; only a look-up that needs it may pay.
    """
    code = (
        "import sys; from proxy.windows.resolve import find_window; find_window('gpt-4o', configured=9_000);"
        "sys.exit('genai_prices' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
