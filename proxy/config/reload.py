"""
What of changed settings can take effect while the proxy runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from proxy.config.settings import AppSettings

LIVE = ("client_keys", "disclose", "upstreams", "models", "compaction", "recovery", "routes")
"""Settings that new requests go by as soon as they are read again; all others hold until the next start."""


@dataclass(frozen=True, slots=True)
class Reload:
    """
    The *settings* to go on with, which of them *changed*, and the names of changes that are *held_back* until a restart.
    """

    settings: AppSettings
    changed: tuple[str, ...]
    held_back: tuple[str, ...]


def adopt(running: AppSettings, written: AppSettings) -> Reload:
    """
    Return the *running* settings with all of *written* that may change.
    """
    names = [name for name in AppSettings.model_fields if getattr(running, name) != getattr(written, name)]
    changed = tuple(name for name in names if name in LIVE)
    held_back = tuple(path for name in names if name not in LIVE for path in _differences(name, running, written))
    # Each value was checked where it was read; those that stay go with them as they did.
    settings = running.model_copy(update={name: getattr(written, name) for name in changed})
    return Reload(settings, changed, held_back)


def _differences(name: str, running: BaseModel, written: BaseModel) -> Iterator[str]:
    """
    Yield the setting itself, or where it is a group, those of the group that differ.
    """
    before, after = getattr(running, name), getattr(written, name)
    if not isinstance(before, BaseModel) or not isinstance(after, BaseModel):
        yield name
        return
    for inner in type(before).model_fields:
        if getattr(before, inner) != getattr(after, inner):
            yield f"{name}.{inner}"
