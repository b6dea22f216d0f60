"""
Every way of shortening that is compared, applied to the same jobs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.quality.views import METHODS, Count, visible
from bench.quality.wire import Job, received
from proxy.tokens.vocabulary import Vocabulary

OURS = "concertina"
LITELLM = "litellm"
SCRIPT = Path(__file__).with_name("litellm_trim.py")


def names(litellm: str | None) -> list[str]:
    return [OURS, *METHODS, *([LITELLM] if litellm else [])]


async def views(
    method: str, jobs: Sequence[Job], vocabulary: Vocabulary, *, count: Count, litellm: str | None
) -> list[str]:
    """
    Return what a model would see of each job; ours is read off what the upstream received.
    """
    if method == OURS:
        return [visible(rows) async for rows in received(jobs, vocabulary)]
    if method == LITELLM:
        return trimmed(jobs, litellm or sys.executable)
    return [METHODS[method](job.rows, job.budget, count) for job in jobs]


def trimmed(jobs: Sequence[Job], python: str) -> list[str]:
    asked = json.dumps([[list(job.rows), job.budget] for job in jobs])
    done = subprocess.run([python, str(SCRIPT)], input=asked, capture_output=True, text=True, check=True)
    return [visible(rows) if rows else "" for rows in json.loads(done.stdout[done.stdout.index("[") :])]
