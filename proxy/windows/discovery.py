"""
Read the context window out of what servers say about themselves; asking them is done elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

SMALLEST_WINDOW = 256  # less is no window of a server that chats
LARGEST_WINDOW = 100_000_000
_MOST_DIGITS = 20  # thousands of them are no number to Python

_SERVED = (  # what is loaded beats what the model could do
    "loaded_context_length",  # LM Studio
    "n_ctx",  # llama.cpp
    "max_model_len",  # vLLM, SGLang
    "context_length",  # OpenRouter, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral, LM Studio
    "max_context_window_tokens",  # GitHub Copilot
    "context_size",  # Novita
    "max_input_tokens",
    "max_sequence_length",
    "max_seq_len",
    "inputTokenLimit",  # Gemini
)
_NESTED = ("top_provider", "meta", "limits", "capabilities")
_NUM_CTX = re.compile(r"^\s*(?:PARAMETER\s+)?num_ctx\s+\"?(\d+)", re.MULTILINE)


def parse_models(data: Any, model: str) -> int | None:
    """
    Return the window of *model* in a list of models, or in one model's own page.
    """
    rows = list(_rows(data))
    for row in _matching(rows, model):
        window = _window_of(row)
        if window is not None:
            return window
    return None


def parse_loaded(data: Any, model: str) -> int | None:
    """
    Return the window of *model* in a list of loaded models, such as Ollama's ``/api/ps``; another's says nothing.
    """
    rows = [row for row in _rows(data) if _bare(model) in {_bare(name) for name in _names(row)}]
    return next((window for row in rows if (window := _window_of(row)) is not None), None)


def model_names(data: Any) -> tuple[str, ...]:
    """
    Return the names in a list of models, one for each.
    """
    return tuple(name for row in _rows(data) if (name := next(_names(row), None)) is not None)


def parse_props(data: Any) -> int | None:
    """
    Return the window of one slot from llama.cpp's ``/props``.
    """
    if not isinstance(data, dict):
        return None
    settings = data.get("default_generation_settings")
    served = _number(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return served or _number(data.get("n_ctx"))


def parse_ollama_show(data: Any) -> int | None:
    """
    Return the window from Ollama's ``/api/show``: ``num_ctx``, which is served, before the model's own length.

    Without ``num_ctx`` Ollama serves a few thousand tokens whatever the model could do, and says so nowhere.
    """
    if not isinstance(data, dict):
        return None
    served = _num_ctx(data)
    if served is not None:
        return served
    info = data.get("model_info")
    if not isinstance(info, dict):
        return None
    return next((_number(value) for key, value in info.items() if str(key).endswith(".context_length")), None)


def states_served(data: Any) -> bool:
    """
    Tell whether Ollama's ``/api/show`` says what is served, and not only what the model could read.
    """
    return isinstance(data, dict) and _num_ctx(data) is not None


def _num_ctx(data: dict[str, Any]) -> int | None:
    for key in ("parameters", "modelfile"):
        text = data.get(key)
        found = _NUM_CTX.search(text) if isinstance(text, str) else None
        if found:
            return _number(found.group(1))
    return None


def _rows(data: Any) -> Iterator[dict[str, Any]]:
    holder = data
    if isinstance(data, dict):
        holder = data.get("data", data.get("models", [data]))
    for row in holder if isinstance(holder, list) else ():
        if isinstance(row, dict):
            yield row


def _matching(rows: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
    """
    Return the rows of *model*; a server with a single model serves it under any name.
    """
    wanted = _bare(model)
    named = [row for row in rows if wanted in {_bare(name) for name in _names(row)}]
    return named or (rows if len(rows) == 1 else [])


def _names(row: dict[str, Any]) -> Iterator[str]:
    for key in ("id", "name", "model", "root", "slug", "canonical_slug"):
        value = row.get(key)
        if isinstance(value, str):
            yield value
    aliases = row.get("aliases")
    yield from (alias for alias in aliases if isinstance(alias, str)) if isinstance(aliases, list) else ()


def _bare(name: str) -> str:
    return name.lower().removeprefix("models/").removesuffix(":latest")


def _window_of(row: dict[str, Any]) -> int | None:
    found = _first(row, _SERVED)
    nested = [_first(row[key], _SERVED) or _limits(row[key]) for key in _NESTED if isinstance(row.get(key), dict)]
    # OpenRouter's top_provider may serve less than the model could do.
    return min((number for number in (found, *nested) if number is not None), default=None)


def _limits(holder: dict[str, Any]) -> int | None:
    inner = holder.get("limits")
    return _first(inner, _SERVED) if isinstance(inner, dict) else None


def _first(row: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((number for key in keys if (number := _number(row.get(key))) is not None), None)


def _number(value: Any) -> int | None:
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if SMALLEST_WINDOW <= value <= LARGEST_WINDOW else None
