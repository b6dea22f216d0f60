from pathlib import Path

import pytest

from proxy.pipeline.hooks import MOST_AT_ONCE, Hooks
from proxy.pipeline.plugins import GROUP, load_plugins

ROWS = [{"role": "user", "content": "Keep HX-90210."}]
PACKAGE = """
def on_pre_compress(messages):
    return "module: " + messages[0]["content"]


class Keeper:
    async def on_pre_compress(self, messages):
        return f"class: {len(messages)}"


class Broken:
    def __init__(self):
        raise OSError("no")
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Lay out a package with entry points as an installer leaves it.
    """
    (tmp_path / "keeper_plugin.py").write_text(PACKAGE)
    info = tmp_path / "keeper_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keeper-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{GROUP}]\na_module = keeper_plugin\nb_class = keeper_plugin:Keeper\n"
        "c_broken = keeper_plugin:Broken\nd_missing = not_installed_anywhere\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


async def test_finds_installed_plug_ins(installed: None) -> None:
    """
    By their entry points, a module as well as a class, an ordinary hook as well as an async one; broken ones are left out.
    """
    plugins = load_plugins(None)
    notes = await Hooks(plugins).on_pre_compress(ROWS, seconds=5, mask=True)

    assert [(one.source, one.text) for one in notes] == [
        ("a_module", "module: Keep HX-90210."),
        ("b_class", "class: 1"),
    ]


def test_a_folder_is_read_in_order_and_private_files_are_not(tmp_path: Path) -> None:
    """
    So that summaries do not depend on the file system.
    """
    for name in ("b", "a", "_hidden"):
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "notes.txt").write_text("")

    assert [plugin.name for plugin in load_plugins(tmp_path)] == ["a", "b"]


def test_a_plug_in_that_exits_ends_nothing_but_itself(tmp_path: Path) -> None:
    """
    Some scripts call ``sys.exit()`` when they are imported.
    """
    (tmp_path / "a.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "b.py").write_text("")

    assert [plugin.name for plugin in load_plugins(tmp_path)] == ["b"]


async def test_a_hook_that_never_comes_back_is_called_no_more(tmp_path: Path) -> None:
    """
    Its threads would pile up otherwise.
    """
    (tmp_path / "stuck.py").write_text(
        "import time\ncalls = []\ndef on_pre_compress(messages):\n    calls.append(1)\n    time.sleep(30)\n"
    )
    (plugin,) = load_plugins(tmp_path)
    hooks = Hooks([plugin])
    said = [await hooks.on_pre_compress(ROWS, seconds=0.02, mask=True) for _ in range(6)]

    assert said == [()] * 6
    assert len(plugin.hooks.calls) == 4


async def test_a_hook_that_found_no_thread_is_called_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A machine that is out of threads for a moment costs the words of that moment alone.
    """
    (tmp_path / "keeper.py").write_text(PACKAGE)
    hooks = Hooks(load_plugins(tmp_path))

    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr("proxy.pipeline.hooks.Thread.start", refuse)
        nothing = [await hooks.on_pre_compress(ROWS, seconds=5, mask=True) for _ in range(MOST_AT_ONCE + 1)]
    notes = await hooks.on_pre_compress(ROWS, seconds=5, mask=True)

    assert nothing == [()] * (MOST_AT_ONCE + 1)
    assert [one.text for one in notes] == ["module: Keep HX-90210."]
