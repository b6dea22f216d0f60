"""
Write docs/reference/settings.md from the settings models.

    python scripts/make_settings_reference.py           write it
    python scripts/make_settings_reference.py --check   fail when it is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from proxy.config.catalogue import Setting, nested, settings
from proxy.config.environment import CONFIG, UPSTREAM, VARIABLES
from proxy.config.mistakes import dotted
from proxy.telemetry.address import Address
from proxy.telemetry.units import Regex, parse_duration, parse_size

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

Made from the models by `scripts/make_settings_reference.py`; a test fails when it is out of date.
`NAME` stands for a name of your own, `[]` for each element of a list. Durations are written `500ms`, `30s`, `5m`,
`1h`, `7d`, or as a number of seconds; sizes `64KiB`, `10MB`, `1GiB`, or as a number of bytes.
In any text `${VAR}` is replaced by that variable, `${VAR:-default}` has a default, and `$${` stands for `${`.
A setting that ends in `_file` names a file that holds the secret; relative paths start at the configuration file.
A route may hold any setting of `compaction` and of `recovery`; it is laid over the defaults key by key.
Options of the command beat variables, variables beat the file, the file beats the defaults.
"""
TAIL = """\
An empty variable is not set. Any other `CONCERTINA_*` variable, or one that differs from these by a slip, sets nothing: `serve`
says so at its start (`environment.stray`, with the nearest name), as do `check` and `doctor`; it is never a mistake. Nothing is
said of those that Kubernetes or Docker sets for a service named concertina (`CONCERTINA_SERVICE_HOST`, `CONCERTINA_PORT`, ...),
nor of those that the file uses as `${CONCERTINA_...}`.
"""
BOUNDS = {Gt: "above {.gt:g}", Ge: "at least {.ge:g}", Lt: "below {.lt:g}", Le: "at most {.le:g}"}
SIMPLE = {str: "text", int: "whole number", float: "number", bool: "`true` or `false`", Path: "path"}


def page() -> str:
    """
    Return the whole page.
    """
    found = list(settings())
    top = [setting for setting in found if "." not in setting.path]
    lines = [HEAD, "## At the top", "", *TABLE, *(row(setting) for setting in top if not is_section(setting))]
    for section in filter(is_section, top):
        inside = [setting for setting in found if setting.path.partition(".")[0].removesuffix("[]") == section.path]
        lines += ["", f"## {section.path}", "", section.field.description or "", "", *TABLE, *map(row, inside[1:])]
    return "\n".join([*lines, "", "## Environment", "", *environment_table(), "", TAIL])


def is_section(setting: Setting) -> bool:
    """
    Tell whether a setting holds settings.
    """
    return nested(setting.field.annotation) is not None


TABLE = ["| setting | what it takes | default | |", "|---|---|---|---|"]


def row(setting: Setting) -> str:
    """
    Return one line of a table.
    """
    cells = (f"`{setting.path}`", takes(setting.field), default(setting.field), setting.field.description or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def takes(field: FieldInfo) -> str:
    """
    Return the type and the limits of a field in words.
    """
    bounds = [BOUNDS[type(item)].format(item) for item in field.metadata if type(item) in BOUNDS]
    return ", ".join([kind(field.annotation, field.metadata), *bounds])


def kind(annotation: Any, metadata: list[Any]) -> str:
    """
    Return a type in words.
    """
    readers = {item.func for item in metadata if isinstance(item, BeforeValidator)}
    if parse_duration in readers:
        return "duration"
    if parse_size in readers:
        return "size"
    if annotation == Address or (metadata and metadata == list(Address.__metadata__)):
        return "`HOST:PORT`"
    if annotation == Regex:
        return "regex"
    return SIMPLE.get(annotation) or _composed(annotation)


def _composed(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "settings"
    if origin is tuple:
        return f"list of {kind(arguments[0], [])}"
    if origin is dict:
        return f"{kind(arguments[1], [])} by name"
    if type(None) in arguments:
        return f"{kind(arguments[0], [])} or null"
    return kind(arguments[0], list(arguments[1:]))  # Annotated


def default(field: FieldInfo) -> str:
    """
    Return the default as it would be written.
    """
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, BaseModel):
        return ""
    readers = {item.func for item in field.metadata if isinstance(item, BeforeValidator)}
    return f"`{_written(value, readers)}`"


def _written(value: Any, readers: set[Any]) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if parse_duration in readers:
        return f"{value / 86400:g}d" if value % 86400 == 0 else f"{value:g}s"
    if parse_size in readers:
        unit, size = next((u, s) for u, s in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)) if value % s == 0)
        return f"{value // size}{unit}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, float):
        return f"{value:.2f}"
    return '""' if value == "" else str(value)


def environment_table() -> list[str]:
    """
    Return the table of variables.
    """
    rows = {
        CONFIG: "the file, where `--config` is not given",
        UPSTREAM: "`base_url` of the first upstream, or of the only one where no file names any",
        **{name: f"`{dotted(path)}`" for name, path in VARIABLES.items()},
    }
    return ["| variable | sets |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in rows.items())]


def main() -> int:
    """
    Write the page, or compare it.
    """
    text = page()
    if "--check" in sys.argv:
        return int(not TARGET.exists() or TARGET.read_text("utf-8") != text)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
