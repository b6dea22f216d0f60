import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TYPES = ("added", "changed", "fixed", "removed", "security")


@pytest.mark.parametrize("note", sorted(ROOT.glob("changes/*.md")), ids=lambda path: path.name)
def test_a_change_note_has_a_type_and_says_something(note: Path) -> None:
    """
    NAME.TYPE.md; a slip in the type would leave it out of the changelog.
    """
    assert re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(TYPES)})\.md", note.name)
    assert len(note.read_text("utf-8").strip()) > 20


def test_the_changelog_has_the_place_where_notes_go() -> None:
    """
    Of the file that the settings name.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]

    assert "<!-- towncrier release notes start -->" in (ROOT / settings["filename"]).read_text("utf-8")


@pytest.mark.slow
def test_the_notes_make_a_changelog() -> None:
    """
    As the next release will read.
    """
    program = Path(sys.executable).with_name("towncrier")
    if not program.exists() or shutil.which("git") is None:
        pytest.skip("towncrier is not installed")
    ran = subprocess.run(
        [str(program), "build", "--draft", "--version", "9.9.9", "--date", "2000-01-01"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "9.9.9" in ran.stdout
    assert "concertina explain" in ran.stdout
