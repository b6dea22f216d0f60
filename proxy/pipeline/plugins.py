"""
Find plug-ins: installed ones by their entry points, others as files of a folder that the settings name.

A plug-in that cannot be loaded is named in an event and left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import structlog

GROUP = "concertina.plugins"
"""Entry points of this group name a module, a class without arguments, or an object."""
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Plugin:
    """
    A loaded plug-in: its *name*, and the module or object that has the hooks as functions.
    """

    name: str
    hooks: Any


def load_plugins(folder: Path | None) -> tuple[Plugin, ...]:
    """
    Return the plug-ins there are, in the order of their names, installed ones first.
    """
    installed = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    found: list[tuple[str, Callable[[], Any]]] = [(entry.name, entry.load) for entry in installed]
    found += [(path.stem, partial(_module, path)) for path in _files(folder)]
    return tuple(plugin for name, load in found for plugin in _loaded(name, load))


def _loaded(name: str, load: Callable[[], Any]) -> Iterator[Plugin]:
    try:
        hooks = load()
        yield Plugin(name, hooks() if inspect.isclass(hooks) else hooks)
    except (Exception, SystemExit) as fault:  # noqa: BLE001 - foreign code: whatever it raises costs the plug-in alone
        log.warning("plugin.failed", plugin=name, step="load", fault=type(fault).__name__)


def _files(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    try:
        return sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    except OSError:
        return []


def _module(path: Path) -> Any:
    spec: ModuleSpec | None = spec_from_file_location(f"concertina_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(path.name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
