"""
Headers by name: one look at all of them in the place of one for each that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping

from proxy.upstream.wire import Headers

Heads = Mapping[str, str]
"""Values by names in lower case; where a header came twice, the first."""


def by_name(headers: Headers) -> Heads:
    """
    Return the first value of each header by its name in lower case.
    """
    return {name.lower(): value for name, value in reversed(headers)}
