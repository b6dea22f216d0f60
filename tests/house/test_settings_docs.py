import re
import runpy
from pathlib import Path

import pytest
import yaml

from proxy.config.catalogue import Setting, settings
from proxy.config.document import read_document
from proxy.config.environment import CONFIG, UPSTREAM, VARIABLES
from proxy.config.load import load_settings
from proxy.config.mistakes import Path as SettingPath

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "config.example.yaml"
REFERENCE = ROOT / "docs" / "reference" / "settings.md"
_COMMENTED = re.compile(r"^( *)# (?=[a-z_]+: )", re.MULTILINE)


def example_with_comments_taken_away() -> str:
    """
    Return the example with its commented settings in force; where a setting stands twice, the later one.
    """
    text = _COMMENTED.sub(r"\1", EXAMPLE.read_text("utf-8"))
    return re.sub(r"^ *(canonicalize|patterns): \[\] .*\n", "", text, flags=re.MULTILINE)


def pattern_of(path: SettingPath) -> str:
    """
    Return a path of the example as the reference writes it.
    """
    if path[0] in {"upstreams", "models"} and len(path) > 1:
        path = (path[0], "NAME", *path[2:])
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def test_every_setting_is_in_the_reference_as_it_is_now() -> None:
    """
    The page is made from the models; run scripts/make_settings_reference.py after a change.
    """
    expected = runpy.run_path(str(ROOT / "scripts" / "make_settings_reference.py"))["page"]()

    assert REFERENCE.read_text("utf-8") == expected


@pytest.mark.parametrize("setting", list(settings()), ids=lambda setting: setting.path)
def test_the_reference_names_the_setting(setting: Setting) -> None:
    """
    Checked by itself, since the page's own maker might leave one out.
    """
    text = REFERENCE.read_text("utf-8")

    assert f"| `{setting.path}` |" in text or f"\n## {setting.path}\n" in text


@pytest.mark.parametrize("variable", [CONFIG, UPSTREAM, *VARIABLES])
def test_the_reference_names_the_variable(variable: str) -> None:
    """
    The environment is configuration, too.
    """
    assert f"`{variable}`" in REFERENCE.read_text("utf-8")


def test_the_example_lists_every_setting() -> None:
    """
    In force or behind a comment mark; what a route repeats of the defaults is not counted.
    """
    document = read_document(example_with_comments_taken_away(), source="example", environ={})
    listed = {pattern_of(path) for path in document.origins if path}

    assert document.mistakes == []
    assert {setting.path for setting in settings()} - listed == set()


def test_the_example_is_right_without_any_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    From whatever folder.
    """
    monkeypatch.chdir(tmp_path)

    assert [route.name for route in load_settings(EXAMPLE, environ={}).routes] == ["coding", "local", "default"]


def test_what_the_example_comments_out_is_right_as_well(tmp_path: Path) -> None:
    """
    Taking a comment mark away must not be a mistake; only the secret files are not there.
    """
    text = "\n".join(
        line for line in example_with_comments_taken_away().splitlines() if not re.match(r" *[a-z_]+_file: /run", line)
    )
    (tmp_path / "c.yaml").write_text(text, "utf-8")
    settings = load_settings(tmp_path / "c.yaml", environ={})

    assert settings.recovery.patterns[0].label == "context_overflow"
    assert settings.upstreams["local"].api_keys == ("unused",)


def test_the_example_shows_the_defaults() -> None:
    """
    Whoever copies it changes nothing by doing so.
    """
    shown = load_settings(EXAMPLE, environ={})
    default = type(shown)()

    for section in ("listen", "workers", "admin", "log", "limits", "store", "compaction", "recovery", "disclose"):
        assert getattr(shown, section) == getattr(default, section)


def test_the_example_is_plain_yaml() -> None:
    """
    Editors and other tools read it as well.
    """
    assert yaml.safe_load(EXAMPLE.read_text("utf-8"))["listen"] == "127.0.0.1:8080"
