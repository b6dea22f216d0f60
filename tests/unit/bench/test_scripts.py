import importlib
from pathlib import Path

import pytest

SCRIPTS = sorted(file.stem for file in (Path(__file__).parents[3] / "bench").glob("bench_*.py"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_finds_what_it_measures_and_says_how_to_run_it(name):
    """
    Nobody runs them for weeks; what they import may have moved meanwhile.
    """
    assert "bench" in importlib.import_module(f"bench.{name}").__doc__
