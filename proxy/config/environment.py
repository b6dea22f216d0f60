"""
Settings from the environment. This is the one place where the environment is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from proxy.config.mistakes import Path

CONFIG = "CONCERTINA_CONFIG"
UPSTREAM = "CONCERTINA_UPSTREAM"

# Others are never a mistake that keeps anything from running: Kubernetes sets CONCERTINA_PORT and _SERVICE_HOST by
# itself for a service of that name, and a configuration file may use names of its own. See ``strays``.
VARIABLES: Mapping[str, Path] = {
    "CONCERTINA_LISTEN": ("listen",),
    "CONCERTINA_WORKERS": ("workers",),
    "CONCERTINA_CLIENT_KEYS": ("client_keys",),
    "CONCERTINA_ADMIN_LISTEN": ("admin", "listen"),
    "CONCERTINA_ADMIN_TOKEN": ("admin", "token"),
    "CONCERTINA_LOG_LEVEL": ("log", "level"),
    "CONCERTINA_LOG_FORMAT": ("log", "format"),
    "CONCERTINA_OTLP": ("otlp",),
    "CONCERTINA_STORE": ("store", "url"),
    "CONCERTINA_STORE_SECRET": ("store", "secret"),
    "CONCERTINA_STORE_KEY": ("store", "encryption_key"),
    "CONCERTINA_MODE": ("compaction", "mode"),
}
_LISTS = {"CONCERTINA_CLIENT_KEYS"}
_WORDS = {"CONCERTINA_LOG_LEVEL", "CONCERTINA_LOG_FORMAT", "CONCERTINA_MODE"}
_NOTHING = {"off", "null", "none"}


def environment() -> dict[str, str]:
    """
    Return a copy of the process environment.
    """
    return dict(os.environ)  # noqa: TID251 - the one place


def from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Path, object]]:
    """
    Yield variable, path and value of every setting that the environment holds; an empty variable is not set.
    """
    for name, path in VARIABLES.items():
        text = environ.get(name, "").strip()
        if text:
            yield name, path, _value(name, text)


def _value(name: str, text: str) -> object:
    if name in _LISTS:
        return [item.strip() for item in text.split(",") if item.strip()]
    if name in _WORDS:
        return text.lower()
    if name == "CONCERTINA_ADMIN_LISTEN" and text.lower() in _NOTHING:
        return None
    return text
