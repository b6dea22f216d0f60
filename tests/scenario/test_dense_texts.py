"""
Texts of which a token takes fewer than two bytes are found like all others.
"""

from __future__ import annotations

import base64
from random import Random
from typing import Any

import pytest

WINDOW = 128_000


def _base64(chance: Random, size: int) -> str:
    return base64.b64encode(chance.randbytes(size * 3 // 4)).decode()


def _digits(chance: Random, size: int) -> str:
    return ",".join(str(chance.randrange(10)) for _ in range(size // 2))


@pytest.mark.parametrize("dense", [_base64, _digits])
async def test_a_conversation_goes_on_from_its_summary_when_it_is_taken_back(
    upstream: Any, proxy_factory: Any, dense: Any
) -> None:
    """
    From half of the threshold on, by tokens: its bytes are no proof that there is no summary.
    """
    chance = Random(7)
    proxied = await proxy_factory(
        upstream.url,
        upstream={"context_window": WINDOW, "discover": False},
        compaction={"threshold_tokens": 10_000, "minimum_threshold_tokens": 1, "summarizer": {"kind": "extractive"}},
    )
    rows: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(6):
        rows += [
            {"role": "user", "content": f"ask {number}: {dense(chance, 480)}"},
            {"role": "assistant", "content": f"answer {number}: {dense(chance, 480)}"},
        ]
    folded = await proxied.chat([*rows, {"role": "user", "content": "now read this: " + dense(chance, 9_000)}])
    again = await proxied.chat([*rows, {"role": "user", "content": "go on"}])

    assert (folded.action, again.action) == ("compacted", "reused")
