import re
import subprocess
from pathlib import Path

import pytest

import proxy

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "proxy"
PURE_ROOMS = ("chat", "tokens", "windows", "privacy", "compaction", "recovery")
LONGEST_MODULE = 300

# Written in pieces, so that this file does not hold what it forbids.
FORBIDDEN = re.compile(
    "|".join(
        [
            "/wo" + r"rk/(?:main|shared|\.library)\b",
            "/tm" + r"p/(?:wt|spec|bash_jobs)\b",
            "files." + "pythonhosted",
            "py" + "pi\\.org",
            "registry\\." + "npmjs",
            "--extra-" + "index-url",
        ]
    )
)


def modules(folder: Path = PACKAGE) -> list[Path]:
    """
    Return the modules of a folder that hold code.
    """
    return sorted(path for path in folder.rglob("*.py") if path.name != "__init__.py")


def tracked_files() -> list[Path]:
    """
    Return the files that git knows; skip where this is no clone.
    """
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.skip("not a git clone, so there is no list of tracked files")
    return [ROOT / name for name in found.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def name_of(path: Path) -> str:
    """
    Return a path as test ids show it.
    """
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
def test_the_map_names_every_room(room: str) -> None:
    """
    The package's docstring is the architecture.
    """
    assert f"\n    {room}/ " in (proxy.__doc__ or "")


@pytest.mark.parametrize("room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
def test_every_room_says_what_it_is_for(room: str) -> None:
    """
    In the first lines of its package.
    """
    assert (PACKAGE / room / "__init__.py").read_text("utf-8").startswith('"""\n')


@pytest.mark.parametrize("module", [path for room in PURE_ROOMS for path in modules(PACKAGE / room)], ids=name_of)
def test_a_pure_module_has_its_mirrored_test(module: Path) -> None:
    """
    proxy/ROOM/x.py is tested by tests/unit/ROOM/test_x.py, without input and output.
    """
    inside = module.relative_to(PACKAGE)

    assert (ROOT / "tests" / "unit" / inside.parent / f"test_{inside.name}").is_file()


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_a_module_is_no_longer_than_a_sitting(module: Path) -> None:
    """
    Past 300 lines it is two ideas.
    """
    assert len(module.read_text("utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_a_module_says_what_it_is_for(module: Path) -> None:
    """
    In a docstring that stands on lines of its own.
    """
    assert module.read_text("utf-8").startswith(('"""\n', 'r"""\n'))


def test_no_file_holds_paths_of_one_machine_or_addresses_of_an_index() -> None:
    """
    What works here alone works for nobody else.
    """
    found = []
    for path in tracked_files():
        text = path.read_text("utf-8", errors="ignore")
        found += [f"{name_of(path)}: {hit[0]}" for hit in FORBIDDEN.finditer(text)]

    assert found == []
