"""
Every setting there is, read off the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from proxy.config.merge import ROUTE_SECTIONS
from proxy.config.mistakes import Path
from proxy.config.settings import AppSettings

Visit = Callable[[Any, type[BaseModel], Path], Any]
"""Takes what was written, the model that it should be, and where it stands."""

_FILE = "_file"
_STEPS: dict[type | None, str] = {None: "", dict: ".NAME", tuple: "[]"}


@dataclass(frozen=True, slots=True)
class Nested:
    """
    The model inside a field, and whether the field holds one, several by name, or a list of them.
    """

    model: type[BaseModel]
    container: type | None


@dataclass(frozen=True, slots=True)
class Setting:
    """
    One setting: *path* with ``NAME`` for names of the user's own and ``[]`` for list elements.
    """

    path: str
    field: FieldInfo

    @property
    def name(self) -> str:
        """
        The last step of the path.
        """
        return self.path.rpartition(".")[2]


def settings(model: type[BaseModel] = AppSettings, prefix: str = "") -> Iterator[Setting]:
    """
    Yield every setting in the order of declaration; a section comes before what is in it.
    """
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        yield Setting(path, field)
        inner = nested(field.annotation)
        # What a route may say of compaction and recovery is declared once, under the defaults.
        if inner and not (prefix and name in ROUTE_SECTIONS):
            yield from settings(inner.model, f"{path}{_STEPS[inner.container]}.")


def nested(annotation: Any) -> Nested | None:
    """
    Return the model that an annotation holds, if it holds one.
    """
    origin = get_origin(annotation)
    if origin in {Union, UnionType, Annotated}:
        return next(filter(None, map(nested, get_args(annotation))), None)
    if origin in {dict, tuple}:
        found = next(filter(None, map(nested, get_args(annotation))), None)
        return Nested(found.model, origin) if found else None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Nested(annotation, None)
    return None


def model_at(path: Path) -> type[BaseModel] | None:
    """
    Return the model whose fields may stand at *path*.
    """
    model: type[BaseModel] = AppSettings
    steps = iter(path)
    for step in steps:
        field = model.model_fields.get(str(step))
        inner = nested(field.annotation) if field else None
        if inner is None:
            return None
        if inner.container:
            next(steps, None)
        model = inner.model
    return model


def file_fields(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """
    Yield the pairs of a secret and the setting that names a file with it: ``token`` and ``token_file``.
    """
    for name in model.model_fields:
        secret = name.removesuffix(_FILE)
        if secret != name and secret in model.model_fields:
            yield secret, name


def visit_models(value: Any, inner: Nested, path: Path, visit: Visit) -> Any:
    """
    Return *value* with *visit* applied to what should be models in it; a container of another shape stays.
    """
    if inner.container is None:
        return visit(value, inner.model, path)
    if inner.container is dict and isinstance(value, Mapping):
        return {key: visit(item, inner.model, (*path, key)) for key, item in value.items()}
    if inner.container is tuple and isinstance(value, list):
        return [visit(item, inner.model, (*path, index)) for index, item in enumerate(value)]
    return value
