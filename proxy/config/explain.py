"""
Say in plain words what validation found.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from proxy.config.catalogue import model_at, settings
from proxy.config.mistakes import Path

_ONE_LETTER = 0.9
_PLAIN = {
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "dict_type": "should be a mapping, with one `name: value` a line",
    "float_parsing": "should be a number",
    "float_type": "should be a number",
    "finite_number": "should be a number",
    "int_from_float": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_type": "should be a whole number",
    "model_type": "should be a mapping of settings, with one `name: value` a line",
    "model_attributes_type": "should be a mapping of settings, with one `name: value` a line",
    "path_type": "should be a path",
    "string_too_short": "is empty",
    "string_type": "should be text; put it in quotes",
    "tuple_type": "should be a list, such as [a, b]",
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def explain(error: ValidationError) -> Iterable[tuple[Path, str]]:
    """
    Yield the path and the cause of each mistake; no value is repeated.
    """
    for details in error.errors(include_url=False):
        # A wrong key of a mapping is told apart by a last step "[key]", which no reader knows.
        yield tuple(step for step in details["loc"] if step != "[key]"), _cause(details)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """
    Return a suggestion, or what there is to choose from.
    """
    known = list(known)
    close = get_close_matches(word.lower(), known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"there is {', '.join(known)}" if known else "there is none"


def _cause(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(tuple(details["loc"]))
    if kind == "missing":
        return _missing(tuple(details["loc"]))
    if kind == "value_error":
        return str(context["error"])
    if details["input"] is None:
        return "is empty: leave it out for the default"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"should be {words} {context[name]:g}"
    if kind == "literal_error":
        return _not_in_list(details)
    return _PLAIN.get(kind, details["msg"])


def _unknown(path: Path) -> str:
    word = str(path[-1])
    model = model_at(path[:-1])
    known = list(model.model_fields) if model else []
    # The right name in the wrong place is likelier than a name with two slips in it, and not than one with a letter less.
    if not get_close_matches(word.lower(), known, n=1, cutoff=_ONE_LETTER):
        elsewhere = [setting.path for setting in settings() if setting.name == word]
        if elsewhere:
            return f"is unknown here; it belongs at {elsewhere[0]}"
    return f"is unknown; {did_you_mean(word, known)}"


def _missing(path: Path) -> str:
    model = model_at(path[:-1])
    field = model.model_fields.get(str(path[-1])) if model else None
    return f"is required: {field.description}" if field else "is required"


def _not_in_list(details: ErrorDetails) -> str:
    path, value = tuple(details["loc"]), details["input"]
    model = model_at(path[:-1])
    choices = _choices(model.model_fields[str(path[-1])].annotation) if model else ()
    close = get_close_matches(value.lower(), choices, n=1) if isinstance(value, str) else []
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"should be one of {', '.join(choices)}{hint}"


def _choices(annotation: Any) -> tuple[str, ...]:
    return tuple(str(choice) for choice in get_args(annotation))
