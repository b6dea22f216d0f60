"""
A YAML file as plain values, with the line of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from proxy.config.mistakes import Mistake, Origin, Path
from proxy.config.variables import expand, has_variables

_TAG = "tag:yaml.org,2002:"
_MERGE_KEY = "<<"
_DEEPEST = 40


class _Loader(yaml.SafeLoader):
    """
    YAML 1.2's plain values: in 1.1 ``mode: off`` is a boolean and ``1:30`` a number.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own class attribute, filled below


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9][0-9_]*", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first)


@dataclass(slots=True)
class Document:
    """
    The values that were written, the origin of each, and what is wrong with the writing.
    """

    data: dict[str, Any] = field(default_factory=dict)
    origins: dict[Path, Origin] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


def read_document(text: str, *, source: str, environ: Mapping[str, str]) -> Document:
    """
    Read the one document in *text*; variables are put in place.
    """
    document = Document(origins={(): Origin(source)})
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as exc:
        document.mistakes.append(_syntax_mistake(exc, text, source))
        return document
    if node is None:
        return document
    if not isinstance(node, MappingNode):
        document.mistakes.append(
            Mistake(_origin(source, node), (), "should be a mapping of settings, such as listen: ...")
        )
        return document
    document.data = _Reader(document, source, environ).mapping(node, ())
    return document


@dataclass(frozen=True, slots=True)
class _Reader:
    """
    Turns nodes into values and notes their lines on the way.
    """

    document: Document
    source: str
    environ: Mapping[str, str]

    def mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        seen: dict[str, int] = {}
        for key_node, value_node in self._members(node, path):
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in seen:
                self._mistake(key_node, (*path, key), f"is written twice, first on line {seen[key]}")
                continue
            seen[key] = line
            self.document.origins[*path, key] = Origin(self.source, line)
            found[key] = self._value(value_node, (*path, key))
        return found

    def _members(self, node: MappingNode, path: Path) -> Iterator[tuple[Node, Node]]:
        """
        Yield own members, then those of ``<<`` that no own member replaces.
        """
        own = {key.value for key, _ in node.value if key.value != _MERGE_KEY}
        for key, value in node.value:
            if key.tag != _TAG + "merge":
                yield key, value
        for key, value in node.value:
            if key.tag != _TAG + "merge":
                continue
            if not isinstance(value, MappingNode):
                self._mistake(key, (*path, _MERGE_KEY), "should name one mapping by its anchor")
                continue
            yield from ((k, v) for k, v in value.value if k.value not in own)

    def _value(self, node: Node, path: Path) -> Any:
        if len(path) > _DEEPEST:
            # An anchor that holds itself is legal YAML.
            self._mistake(node, path[:2], "is nested too deeply")
            return None
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self._element(child, (*path, index)) for index, child in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return self._scalar(node, path)

    def _element(self, node: Node, path: Path) -> Any:
        self.document.origins[path] = _origin(self.source, node)
        return self._value(node, path)

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        text: str = node.value
        if has_variables(text):
            return self._expanded(node, path)
        kind = node.tag.removeprefix(_TAG)
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind in {"int", "float"}:
            return (int if kind == "int" else float)(text.replace("_", ""))
        return text

    def _expanded(self, node: ScalarNode, path: Path) -> str | None:
        try:
            text = expand(node.value, self.environ)
        except ValueError as exc:
            self._mistake(node, path, str(exc))
            return None
        # Unquoted, an empty variable is an empty value: `token: ${TOKEN:-}` means no token.
        return text if text or node.style else None

    def _mistake(self, node: Node, path: Path, cause: str) -> None:
        origin = self.document.origins.get(path)
        own = origin if origin and origin.line == node.start_mark.line + 1 else _origin(self.source, node)
        self.document.mistakes.append(Mistake(own, path, cause))


def _origin(source: str, node: Node) -> Origin:
    return Origin(source, node.start_mark.line + 1)


def _syntax_mistake(exc: yaml.YAMLError, text: str, source: str) -> Mistake:
    if isinstance(exc, yaml.reader.ReaderError):
        line = text.count("\n", 0, exc.position) + 1
        return Mistake(Origin(source, line), (), "holds a character that YAML does not allow")
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    line = mark.line + 1 if mark else 0
    lines = text.splitlines()
    hint = ""
    if 0 < line <= len(lines) and "${" in lines[line - 1]:
        hint = ' (inside [] and {} a variable stands in quotes: "${NAME}")'
    return Mistake(
        Origin(source, line), (), f"is no YAML: {getattr(exc, 'problem', None) or 'it cannot be read'}{hint}"
    )
