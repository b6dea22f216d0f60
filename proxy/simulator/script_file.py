"""
A script as YAML: a list of steps, or settings of the simulator with the steps under ``steps``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml
from pydantic import ConfigDict, ValidationError, validate_call

from proxy.errors import SettingsError
from proxy.simulator import steps as makers
from proxy.simulator.steps import Condition, Step

MAKERS: Mapping[str, Callable[..., Step | list[Step]]] = {
    "answer": makers.answer,
    "tool_call": makers.tool_call,
    "tool_calls": makers.tool_calls,
    "agent_rounds": makers.agent_rounds,
    "overflow": makers.overflow,
    "status": makers.status,
    "hang": makers.hang,
    "reset_midstream": makers.reset_midstream,
    "reset_at_once": makers.reset_at_once,
    "sse_error": makers.sse_error,
    "raw": makers.raw,
    "empty_stream": makers.empty_stream,
    "malformed_chunking": makers.malformed_chunking,
    "half_closed": makers.half_closed,
    "drip": makers.drip,
    "informational": makers.informational,
    "header_bomb": makers.header_bomb,
    "giant_event": makers.giant_event,
    "invalid_utf8": makers.invalid_utf8,
    "lying_content_length": makers.lying_content_length,
    "truncated_gzip": makers.truncated_gzip,
    "gzipped": makers.gzipped,
}
"""
The steps by their names in a script.
"""

_MODIFIERS = frozenset({"when", "delay", "repeat"})
_STRICT = ConfigDict(arbitrary_types_allowed=True)


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """
    What a script says: settings of the simulator, and the steps.
    """

    settings: Mapping[str, Any]
    steps: tuple[Step, ...]


def parse_script(text: str) -> ScriptFile:
    """
    Read a script; raises ``SettingsError`` with a line for each mistake.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise SettingsError((_no_yaml(exc),)) from exc
    settings: Mapping[str, Any] = {}
    if isinstance(data, dict):
        settings = {name: value for name, value in data.items() if name != "steps"}
        data = data.get("steps")
    if not isinstance(data, list):
        data = [] if data is None else [data]
    return ScriptFile(settings, _steps(data))


def _no_yaml(fault: yaml.YAMLError) -> str:
    mark = getattr(fault, "problem_mark", None)
    place = f"script: line {mark.line + 1}" if mark else "script"
    return f"{place}: is no YAML: {getattr(fault, 'problem', None) or 'it cannot be read'}"


def _steps(entries: list[Any]) -> tuple[Step, ...]:
    steps: list[Step] = []
    mistakes: list[str] = []
    for number, entry in enumerate(entries, 1):
        try:
            steps += _step({entry: None} if isinstance(entry, str) else entry)
        except ValidationError as exc:
            mistakes += [f"script: step {number}: {_where(error)}{error['msg']}" for error in exc.errors()]
        except (TypeError, ValueError) as exc:
            mistakes.append(f"script: step {number}: {exc}")
    if mistakes:
        raise SettingsError(tuple(mistakes))
    return tuple(steps)


def _where(error: Any) -> str:
    path = ".".join(str(key) for key in error["loc"])
    return f"{path}: " if path else ""


def _step(entry: object) -> list[Step]:
    if not isinstance(entry, dict):
        raise TypeError("a step is a name, or a name with its values")
    names = [name for name in entry if name not in _MODIFIERS]
    if len(names) != 1:
        raise ValueError(f"a step names one action, this one names {len(names)}")
    made = _make(names[0], entry[names[0]])
    made = [_modified(step, entry) for step in ([made] if isinstance(made, Step) else made)]
    return made * int(entry.get("repeat", 1))


def _make(name: str, value: object) -> Step | list[Step]:
    maker = MAKERS.get(name)
    if maker is None:
        raise ValueError(f"unknown action {name!r}; known: {', '.join(MAKERS)}")
    checked = validate_call(config=_STRICT)(maker)
    if name == "tool_calls" and isinstance(value, list):
        return checked(*((call["name"], call.get("arguments", {})) for call in value))
    if isinstance(value, dict):
        return checked(**{key: _pairs(given) if key == "headers" else given for key, given in value.items()})
    return checked() if value is None else checked(value)


def _pairs(headers: object) -> object:
    return tuple(headers.items()) if isinstance(headers, dict) else headers


def _modified(step: Step, entry: Mapping[str, Any]) -> Step:
    condition = entry.get("when") or {}
    if not isinstance(condition, dict):
        raise TypeError("when: names conditions with their values")
    unknown = condition.keys() - set(Condition.__slots__)
    if unknown:
        known = ", ".join(Condition.__slots__)
        raise ValueError(f"when: unknown condition {', '.join(sorted(unknown))}; known: {known}")
    return replace(step, condition=replace(step.condition, **condition), delay_seconds=float(entry.get("delay", 0)))
