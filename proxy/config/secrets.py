"""
Secrets that stand in files of their own: ``token_file``, ``api_keys_file`` and their like.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel

from proxy.config.catalogue import file_fields, nested, visit_models
from proxy.config.document import Document
from proxy.config.mistakes import Path, locate


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """
    Reads what such settings name; relative paths start at the configuration file's *folder*.
    """

    document: Document
    folder: FilePath

    def fill(self, data: Any, model: type[BaseModel], path: Path = ()) -> Any:
        """
        Return *data* with the contents of the files it names.
        """
        if not isinstance(data, Mapping):
            return data
        found = {
            key: self._inner(value, model.model_fields[key].annotation, (*path, key))
            if key in model.model_fields
            else value
            for key, value in data.items()
        }
        for secret, name in file_fields(model):
            if found.get(name) is not None:
                found[secret] = self._read(found, secret, (*path, name), several=_is_list(model, secret))
        return found

    def _inner(self, value: Any, annotation: Any, path: Path) -> Any:
        inner = nested(annotation)
        return visit_models(value, inner, path, self.fill) if inner else value

    def _read(self, data: Mapping[str, Any], secret: str, path: Path, *, several: bool) -> Any:
        if data.get(secret):
            self._mistake(path, f"stands beside {secret}: keep one of the two")
            return data[secret]
        try:
            text = (self.folder / FilePath(str(data[str(path[-1])])).expanduser()).read_text("utf-8").strip()
        except (OSError, UnicodeError, RuntimeError) as exc:
            self._mistake(path, f"cannot be read: {getattr(exc, 'strerror', None) or 'it holds no text'}")
            return data.get(secret)
        if not text:
            self._mistake(path, "names an empty file")
        return [line.strip() for line in text.splitlines() if line.strip()] if several else text

    def _mistake(self, path: Path, cause: str) -> None:
        self.document.mistakes.append(locate(path, cause, self.document.origins))


def _is_list(model: type[BaseModel], name: str) -> bool:
    return isinstance(model.model_fields[name].get_default(call_default_factory=False), tuple)
