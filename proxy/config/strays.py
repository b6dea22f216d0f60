"""
Variables that look like ours and are none: a misspelt one would be passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path as FilePath

from proxy.config.environment import CONFIG, UPSTREAM, VARIABLES
from proxy.config.variables import names_in

PREFIX = "CONCERTINA_"
KNOWN = (CONFIG, UPSTREAM, *VARIABLES)

# Kubernetes and Docker links set these for every pod beside a service whose name begins with concertina.
_OF_SERVICES = re.compile(
    r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?|NAME|ENV_\w+)"
)
_ALIKE, _ALIKE_WHOLE = 0.6, 0.85
"""How much of a name has to be there: behind the prefix, and where the prefix itself may be misspelt."""


@dataclass(frozen=True, slots=True)
class Stray:
    """
    The name of a variable that sets nothing, and the known one that it resembles, if any. No value is in it.
    """

    variable: str
    nearest: str = ""

    @property
    def hint(self) -> str:
        """
        What to do.
        """
        return f"did you mean {self.nearest}?" if self.nearest else "docs/reference/settings.md lists all there are"

    def __str__(self) -> str:
        return f"{self.variable}: sets nothing; {self.hint}"


def stray_variables(environ: Mapping[str, str], path: FilePath | None) -> tuple[Stray, ...]:
    """
    Return the variables of *environ* that are nobody's: neither a setting, nor set by an orchestrator, nor used by name
    in the file at *path* (else of ``CONCERTINA_CONFIG``). An empty one is not set.
    """
    odd = sorted(name for name, text in environ.items() if text.strip() and name not in KNOWN)
    found = tuple(_strays(odd))
    used = _used(path or environ.get(CONFIG)) if found else frozenset()
    return tuple(stray for stray in found if stray.variable not in used)


def _strays(names: list[str]) -> Iterator[Stray]:
    for name in names:
        whole = name.upper()
        if not whole.startswith(PREFIX):
            nearest = get_close_matches(whole, KNOWN, n=1, cutoff=_ALIKE_WHOLE)
            if nearest and not name.startswith("_"):  # as _CONCERTINA_COMPLETE, by which shells ask
                yield Stray(name, nearest[0])
        elif not _OF_SERVICES.fullmatch(name):
            rests = [known.removeprefix(PREFIX) for known in KNOWN]
            nearest = get_close_matches(whole.removeprefix(PREFIX), rests, n=1, cutoff=_ALIKE)
            yield Stray(name, PREFIX + nearest[0] if nearest else "")


def _used(path: FilePath | str | None) -> frozenset[str]:
    # What is wrong with the file is told by who loads it.
    with suppress(OSError, UnicodeDecodeError):
        return names_in(FilePath(path).read_text("utf-8")) if path else frozenset()
    return frozenset()
