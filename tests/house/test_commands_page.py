import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

from proxy.cli.checkup.finding import Finding
from proxy.pipeline.explain import Explanation, Fate, Row
from proxy.records.record import EditKind

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/commands.md").read_text("utf-8")


def listed() -> set[str]:
    """
    Return the names in the first cells of the page's tables.
    """
    cells = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}


def test_every_field_that_is_printed_is_described() -> None:
    """
    Neither one that is missing nor one that is gone; the body is no field of the JSON.
    """
    printed = {field.name for kind in (Explanation, Row, Finding) for field in fields(kind)} - {"body"}

    assert listed() == printed


def test_every_fate_and_edit_is_described() -> None:
    """
    Programs branch on them.
    """
    assert {name for name in (*get_args(Fate), *get_args(EditKind)) if f"`{name}`" not in PAGE} == set()


def test_every_check_of_the_doctor_is_named() -> None:
    """
    As they stand in the code.
    """
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "proxy/cli/checkup").glob("*.py"))
    checks = set(re.findall(r"(?:ok|note|fault)\(\"([a-z ]+)\"", code))
    checks |= set(
        re.findall(r"^(?:CHECK|STORE, TABLES) = (.+)$", code, re.MULTILINE)
        and re.findall(r"= \"(\w[\w ]*)\"$", code, re.MULTILINE)
    )

    assert {check for check in checks if f"`{check}`" not in PAGE} == set()
