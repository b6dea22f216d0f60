"""
From a file, the environment and options to one frozen tree of settings.

Options beat the environment, the environment beats the file, the file beats the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from proxy.config.catalogue import nested, visit_models
from proxy.config.checks import NO_UPSTREAM, cross_checks
from proxy.config.document import Document, read_document
from proxy.config.environment import CONFIG, UPSTREAM, from_environment
from proxy.config.explain import explain
from proxy.config.merge import complete_routes
from proxy.config.mistakes import Mistake, Origin, Path, locate, report
from proxy.config.secrets import SecretFiles
from proxy.config.settings import AppSettings
from proxy.errors import SettingsError

_UPSTREAM_OPTION = "upstream"
_ONLY_UPSTREAM = "default"


def load_settings(
    path: FilePath | None,
    *,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    need_upstream: bool = True,
) -> AppSettings:
    """
    Return the settings of the file at *path* (else of ``CONCERTINA_CONFIG``, else the defaults), with overrides.

    Raises ``SettingsError`` with every mistake there is.

    Args:
        path: the YAML file.
        environ: the environment, for ``${VAR}`` and ``CONCERTINA_*``.
        overrides: options by dotted name, such as ``log.level``; ``upstream`` is a URL; ``None`` is not given.
        need_upstream: whether settings without any upstream are a mistake.
    """
    if path is None and environ.get(CONFIG):
        path = FilePath(environ[CONFIG])
    document = _read(path, environ)
    if document.mistakes and not document.data:
        # What cannot be read as YAML would only be found missing by every later check.
        raise SettingsError(report(document.mistakes))
    _override(document, environ, overrides or {})
    data = SecretFiles(document, path.parent if path else FilePath()).fill(
        _without_empty(document.data, AppSettings), AppSettings
    )
    settings, mistakes = _validate(data, document.origins)
    if need_upstream and not data.get("upstreams"):
        mistakes.append(locate(("upstreams",), NO_UPSTREAM, document.origins))
    if settings is None or mistakes or document.mistakes:
        raise SettingsError(report([*document.mistakes, *mistakes]))
    return settings


def _read(path: FilePath | None, environ: Mapping[str, str]) -> Document:
    if path is None:
        return Document(origins={(): Origin("settings")})
    try:
        text = path.read_text("utf-8")
    except OSError as exc:
        return Document(mistakes=[Mistake(Origin(str(path)), (), f"cannot be read: {exc.strerror}")])
    except UnicodeDecodeError:
        return Document(mistakes=[Mistake(Origin(str(path)), (), "is not UTF-8 text")])
    return read_document(text, source=str(path), environ=environ)


def _override(document: Document, environ: Mapping[str, str], overrides: Mapping[str, object]) -> None:
    if environ.get(UPSTREAM):
        _set_upstream(document, environ[UPSTREAM], UPSTREAM)
    for name, path, value in from_environment(environ):
        _set(document, path, value, name)
    for option, value in overrides.items():
        if value is None:
            continue
        source = "--" + option.replace(".", "-")
        if option == _UPSTREAM_OPTION:
            _set_upstream(document, value, source)
        else:
            _set(document, tuple(option.split(".")), value, source)


def _set_upstream(document: Document, url: object, source: str) -> None:
    """
    Give the first upstream another address, or make the only one.
    """
    upstreams = document.data.get("upstreams")
    name = next(iter(upstreams)) if isinstance(upstreams, dict) and upstreams else _ONLY_UPSTREAM
    _set(document, ("upstreams", name, "base_url"), url, source)


def _set(document: Document, path: Path, value: object, source: str) -> None:
    inside: dict[Any, Any] = document.data
    for step in path[:-1]:
        if not isinstance(inside.get(step), dict):
            inside[step] = {}
        inside = inside[step]
    inside[path[-1]] = value
    # Whoever sets the secret here does not mean the file that the configuration names.
    inside.pop(f"{path[-1]}_file", None)
    document.origins[path] = Origin(source)


def _without_empty(data: Any, model: type[BaseModel], path: Path = ()) -> Any:
    """
    Return *data* without sections that are empty because all of their lines are commented out.
    """
    if not isinstance(data, Mapping):
        return data
    found = {}
    for key, value in data.items():
        field = model.model_fields.get(key)
        inner = nested(field.annotation) if field else None
        if inner and value is None and key != "admin":  # `admin: null` looks like a way to switch it off, and is none
            continue
        found[key] = visit_models(value, inner, (*path, key), _without_empty) if inner else value
    return found


def _validate(data: dict[str, Any], origins: Mapping[Path, Origin]) -> tuple[AppSettings | None, list[Mistake]]:
    found: list[tuple[Path, str]] = []
    settings = None
    try:
        settings = AppSettings.model_validate(data)
    except ValidationError as exc:
        found += explain(exc)
    found += cross_checks({**data, "routes": complete_routes(data)})
    return settings, [locate(path, cause, origins) for path, cause in found]
