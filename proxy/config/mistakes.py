"""
Mistakes in a configuration: where they stand, and their cause in plain words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Where a setting stands: ``("routes", 0, "match", "model")``."""


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """
    Where a value was written: a file, a variable or an option, and the line of a file.
    """

    source: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Mistake:
    """
    One mistake; *cause* never repeats a value, which may be a secret.
    """

    origin: Origin
    path: Path
    cause: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (str(self.origin), dotted(self.path), self.cause)))


def dotted(path: Path) -> str:
    """
    Return a path as people write it: ``routes[0].match.model``.
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def locate(path: Path, cause: str, origins: Mapping[Path, Origin]) -> Mistake:
    """
    Return the mistake with the place where the value was written.

    A route's value that stands in the defaults of all routes is the defaults' mistake, not the route's.
    """
    known = _known(path, origins)
    if path[:1] == ("routes",) and known < len(path) and _known(path[2:], origins) + 2 > known:
        return locate(path[2:], cause, origins)
    return Mistake(origins.get(path[:known], Origin("settings")), path, cause)


def _known(path: Path, origins: Mapping[Path, Origin]) -> int:
    """
    Return how many steps of *path* were written.
    """
    return next((length for length in range(len(path), 0, -1) if path[:length] in origins), 0)


def report(mistakes: Iterable[Mistake]) -> tuple[str, ...]:
    """
    Return the mistakes as lines in the order of the file, each place with its first mistake alone.

    A value that could not be read is met again by every later check; one line is enough.
    """
    first: dict[tuple[Origin, Path], Mistake] = {}
    for mistake in mistakes:
        first.setdefault((mistake.origin, mistake.path), mistake)
    return tuple(str(mistake) for mistake in sorted(first.values(), key=lambda found: found.origin))
