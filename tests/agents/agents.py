"""
The agents that are driven: how each is started without a screen, and what its model answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proxy.simulator.steps import Step, answer, tool_call

ROUNDS = 60
TASK = "Run the commands one after the other and tell me what they printed."
MODEL = "sim-model"
KEY = "sk-agent"


@dataclass(frozen=True)
class Agent:
    """
    How an agent is started (*command* and *environment* get the base URL), set up, and which tool is its shell.

    One without a tool is asked once a round instead, line by line, and is told to write a file each time.
    """

    command: Callable[[Path, str], list[str]]
    environment: Callable[[str], Mapping[str, str]]
    tool: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    files: Callable[[str], Mapping[str, object]] = lambda _: {}
    last: str = ""

    def typed(self) -> bytes:
        """
        Return what somebody types while it runs.
        """
        return b"" if self.tool else b"".join(b"Write part %d.\n" % number for number in range(ROUNDS + 1))

    def wants(self, fields: Mapping[str, object]) -> bool:
        """
        Tell whether a request with these *fields* is one of its rounds; others are for titles and the like.
        """
        return bool(fields.get("tools")) or not self.tool

    def step(self, number: int) -> Step:
        """
        Return what the model answers in round *number*.
        """
        if number > ROUNDS + bool(self.last):
            return answer("All sixty are done.")
        if not self.tool:
            return answer(f"Here it is.\n\npart_{number}.txt\n```\n{_numbers(number)}\n```\n")
        command = self.last if number > ROUNDS else f"echo round {number}; seq {number} {number + 500} | tr '\\n' ' '"
        return tool_call(self.tool, {**self.arguments, "command": command})


def _numbers(first: int) -> str:
    return " ".join(map(str, range(first, first + 500)))


def node(folder: Path, name: str) -> str:
    return str(folder / "node" / "node_modules" / ".bin" / name)


AGENTS = {
    "qwen-code": Agent(
        lambda folder, url: [
            node(folder, "qwen"), "--auth-type", "openai", "--openai-base-url", url, "--openai-api-key", KEY,
            "-m", MODEL, "-y", "-p", TASK,
        ],
        lambda url: {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY},
        "run_shell_command",
        {"is_background": False, "description": "print numbers"},
    ),
    "pi": Agent(
        lambda folder, url: [node(folder, "pi"), "--provider", "sim", "--model", MODEL, "-p", TASK],
        lambda url: {"PI_OFFLINE": "1"},
        "bash",
        {},
        lambda url: {
            ".pi/agent/models.json": {
                "providers": {
                    "sim": {
                        "baseUrl": url,
                        "api": "openai-completions",
                        "apiKey": KEY,
                        "models": [{"id": MODEL, "name": MODEL, "contextWindow": 400_000, "maxTokens": 4_096}],
                    }
                }
            }
        },
    ),
    "mini-swe-agent": Agent(
        lambda folder, url: [
            str(folder / "python" / "bin" / "mini"), "-m", f"openai/{MODEL}", "-t", TASK, "-y", "--exit-immediately",
        ],
        lambda url: {
            "OPENAI_API_BASE": url, "OPENAI_API_KEY": KEY, "MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        "bash",
        {},
        last="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    ),
    "opencode": Agent(
        lambda folder, url: [node(folder, "opencode"), "run", "-m", f"sim/{MODEL}", TASK],
        lambda url: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        "bash",
        {"description": "print numbers"},
        lambda url: {
            "opencode.json": {
                "provider": {
                    "sim": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": {"baseURL": url, "apiKey": KEY},
                        "models": {MODEL: {"name": MODEL, "limit": {"context": 400_000, "output": 4_096}}},
                    }
                },
                "permission": {"bash": "allow"},
            }
        },
    ),
    "aider": Agent(
        lambda folder, url: [
            str(folder / "aider" / "bin" / "aider"), "--model", f"openai/{MODEL}", "--openai-api-base", url,
            "--openai-api-key", KEY, "--yes-always", "--no-git", "--analytics-disable", "--no-check-update",
            "--no-show-release-notes", "--no-show-model-warnings", "--no-pretty", "--no-fancy-input",
            "--map-tokens", "0", "--edit-format", "whole", "--max-chat-history-tokens", "400000",
        ],
        lambda url: {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        # Prices that it would fetch.
        files=lambda url: {".aider/caches/model_prices_and_context_window.json": {}},
    ),
}  # fmt: skip
