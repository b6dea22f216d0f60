"""
The windows and output caps that the configuration gives models; each window is looked for once.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from proxy.pipeline.settings import ModelSettings
from proxy.upstream.settings import UpstreamSettings

MOST_MODELS = 5_000


class ConfiguredWindows:
    """
    Answers from settings alone, the model's before the upstream's.
    """

    def __init__(self, upstreams: Mapping[str, UpstreamSettings], models: Mapping[str, ModelSettings]) -> None:
        self._upstreams = upstreams
        self._models = models
        self._found: dict[tuple[str, str], int | None] = {}

    def of(self, upstream: str, model: str) -> int | None:
        """
        Return the configured tokens of a window, ``None`` where it has to be found out.
        """
        key = (upstream, model)
        if key not in self._found:
            if len(self._found) >= MOST_MODELS:
                self._found.clear()
            self._found[key] = self._look_up(upstream, model)
        return self._found[key]

    def output_of(self, model: str) -> int | None:
        """
        Return the configured tokens of an answer.
        """
        fitting = (settings.max_output for glob, settings in self._models.items() if fnmatchcase(model, glob))
        return next((most for most in fitting if most is not None), None)

    def _look_up(self, upstream: str, model: str) -> int | None:
        for glob, settings in self._models.items():
            if settings.context_window and fnmatchcase(model, glob):
                return settings.context_window
        return self._upstreams[upstream].context_window
