"""
Find the shared study data that stands beside the repository, where there is any.
"""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("CONCERTINA_SHARED") or Path(__file__).resolve().parents[3] / "shared")


def shared_file(name: str) -> Path:
    """
    Return the path of a shared file; skip the test where it is missing.
    """
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the shared data file {name} is not beside the repository")
    return path
