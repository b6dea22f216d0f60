"""
JSON values, and the ways in which clients and servers write them.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

DIGITS = st.sampled_from(["9" * 18, "9" * 25, "9" * 400, "9" * 5_000, "²" * 400, "⑳" * 900, "1e999", "-0", "1E-7"])
"""Numbers that no program counts to, and digits that become such when they are folded."""


def json_values(
    *, keys: st.SearchStrategy[str] | None = None, leaves: int = 8, nan: bool = True
) -> st.SearchStrategy[Any]:
    """
    Return any JSON value, *nan* and lone surrogates too; *keys* are the names that its objects have.
    """
    names = st.text(max_size=8) if keys is None else keys
    text = st.text(max_size=20) | st.sampled_from(["\ud800", "\x00", "\u2028", "é", "漢字", '{"error": "no"}'])
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=nan) | text
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=leaves,
    )


@st.composite
def odd_json(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> bytes:
    """
    Return a value of *values* as somebody writes it: spaced, escaped or not, with keys twice, numbers in odd forms.
    """
    value = draw(values)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r\n"), (",\n", ":")]))
    escaped = draw(st.booleans()) or _has_surrogates(value)
    text = json.dumps(value, separators=separators, ensure_ascii=escaped, indent=draw(st.sampled_from([None, None, 1])))
    if text.endswith("}") and len(text) > 2 and draw(st.integers(0, 3)) == 0:
        more = draw(
            st.sampled_from(['"n":NaN', '"n":1.0E+2', '"big":' + "9" * 40, '"twice":1,"twice":2', '"\\u006d":0'])
        )
        text = f"{text[:-1]},{more}}}"
    return text.encode()


def _has_surrogates(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
