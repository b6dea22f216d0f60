"""
``${VAR}`` and ``${VAR:-default}`` in the text of a configuration file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\})?")


def has_variables(text: str) -> bool:
    """
    Tell whether *text* refers to a variable.
    """
    return "${" in text


def names_in(text: str) -> frozenset[str]:
    """
    Return the names of the variables that *text* refers to.
    """
    return frozenset(found[1] for found in _REFERENCE.finditer(text) if found[1])


def expand(text: str, environ: Mapping[str, str]) -> str:
    """
    Put variables in their place; ``$${`` stands for ``${`` itself.

    As in a shell, ``:-`` also replaces an empty variable. Raises ``ValueError`` that names a variable that is missing.
    """
    return _REFERENCE.sub(lambda found: _value(found, environ), text)


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    if found[0] == "$${":
        return "${"
    name, has_default, default = found[1], found[2], found[3]
    if name is None:
        raise ValueError("holds a ${ that is no variable: write ${NAME}, ${NAME:-default}, or $${ for the letters")
    if has_default:
        return environ.get(name) or default
    if name not in environ:
        raise ValueError(f"variable {name} is not set: set it, or write ${{{name}:-default}}")
    return environ[name]
