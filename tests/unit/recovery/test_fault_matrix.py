from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "make_fault_matrix.py"


def test_the_page_is_made_from_the_tables() -> None:
    """
    ``docs/reference/faults.md`` says what the ladder does; run ``python scripts/make_fault_matrix.py`` after a change.
    """
    spec = importlib.util.spec_from_file_location("make_fault_matrix", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    assert script.TARGET.read_text("utf-8") == script.render()
