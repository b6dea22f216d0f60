"""
What operators and plug-ins want kept: pinned words of the user, and the hook ``on_pre_compress``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proxy.simulator.steps import answer, repeat, status, when
from tests.support.conversations import agent_session
from tests.support.worlds import texts

PIN = "Mauve is the colour of the week,   says Ann\nand nobody else."
BIG = agent_session(16)
PINNED = [*BIG[:6], {"role": "user", "content": PIN}, {"role": "assistant", "content": "Noted."}, *BIG[6:]]
KINDS = ["extractive", "llm", "llm fails"]

KEEPER = "def on_pre_compress(messages):\n    messages.clear()\n    return {text!r}\n"
NEVER_BACK = "import time\ndef on_pre_compress(messages):\n    time.sleep(20)\n"


async def world_of(world_factory: Any, kind: str, **settings: Any) -> Any:
    """
    Start a world whose summariser is of this kind.
    """
    compaction = {**settings.pop("compaction", {}), "summarizer": {"kind": kind.split(maxsplit=1)[0]}}
    world = await world_factory(compaction=compaction, **settings)
    if kind == "llm fails":
        world.upstream.will(repeat(4, when(status(500), summary=True)))
    return world


def sent_text(world: Any) -> str:
    """
    Return the summary row as the upstream received it.
    """
    return next(str(row["content"]) for row in world.sent.messages if "[notes on" in str(row["content"]))


@pytest.mark.parametrize("kind", KINDS)
async def test_pinned_words_reach_the_upstream_verbatim(world_factory: Any, kind: str) -> None:
    """
    In both summarisers and in the fallback, in the bytes that are sent.
    """
    world = await world_of(world_factory, kind, compaction={"pin": ["(?i)colour of the week"]})
    reply = await world.chat(PINNED)

    assert (reply.status, reply.action) == (200, "compacted")
    assert PIN in sent_text(world)


async def test_pinned_words_survive_every_fold(world_factory: Any) -> None:
    """
    Four compactions later they still stand, once.
    """
    world = await world_of(world_factory, "llm", compaction={"pin": ["colour of the week"]})
    rows = list(PINNED)
    for number in range(4):
        await world.chat(rows, headers={"x-concertina-force": "true"})
        more = agent_session(16, ask=f"now do part {number}") if number < 3 else []
        rows += [{"role": "assistant", "content": "ok"}, *more[1:]]

    assert sent_text(world).count(PIN) == 1


def folder_with(tmp_path: Path, **modules: str) -> dict[str, Any]:
    """
    Write plug-ins into a folder and return the settings that name it.
    """
    for name, source in modules.items():
        (tmp_path / f"{name}.py").write_text(source)
    return {"plugins_dir": str(tmp_path)}


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_plug_in_keeps_reaches_the_upstream(world_factory: Any, tmp_path: Path, kind: str) -> None:
    """
    Fenced as data, its secrets masked; what it does to its rows changes nothing.
    """
    told = KEEPER.format(text="The pump is called HX-90210. API_KEY=zx81zx81zx81")
    world = await world_of(world_factory, kind, **folder_with(tmp_path, keeper=told))
    reply = await world.chat(BIG)

    assert reply.status == 200
    assert "Kept by keeper (quoted data, no instruction): The pump is called HX-90210." in sent_text(world)
    assert "zx81" not in texts(world.sent)


async def test_the_summary_model_reads_what_a_plug_in_keeps(world_factory: Any, tmp_path: Path) -> None:
    """
    Between marks of its own.
    """
    world = await world_of(world_factory, "llm", **folder_with(tmp_path, keeper=KEEPER.format(text="HX-90210")))
    await world.chat(BIG)
    asked = texts(world.upstream.summary_calls[0])

    assert "[keeper] HX-90210" in asked
    assert "<kept " in asked


async def test_what_a_model_took_over_is_not_said_again(world_factory: Any, tmp_path: Path) -> None:
    """
    The check afterwards completes, it does not repeat.
    """
    world = await world_of(world_factory, "llm", **folder_with(tmp_path, keeper=KEEPER.format(text="HX-90210")))
    world.upstream.will(
        when(answer("## Critical context\n- The pump was found to be HX-90210, and it leaks."), summary=True)
    )
    await world.chat(BIG)

    assert "Kept by keeper" not in sent_text(world)
    assert "HX-90210" in sent_text(world)


@pytest.mark.parametrize(
    "source",
    [
        "def on_pre_compress(messages):\n    raise RuntimeError('secret words of the user')\n",
        "import sys\ndef on_pre_compress(messages):\n    sys.exit(3)\n",
        "def on_pre_compress(messages):\n    return 7\n",
        "def on_pre_compress():\n    return 'no'\n",
        "on_pre_compress = 7\n",
        "this is no Python\n",
        NEVER_BACK,
    ],
    ids=["raises", "exits", "returns a number", "takes nothing", "is no function", "is no Python", "hangs"],
)
async def test_a_plug_in_never_fails_a_request(
    world_factory: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], source: str
) -> None:
    """
    Whatever it does, the request goes out with a summary, the other plug-in is heard, and its words are in no log.
    """
    given = folder_with(tmp_path, bad=source, keeper=KEEPER.format(text="HX-90210"))
    world = await world_of(world_factory, "extractive", compaction={"hook_timeout": 0.3}, **given)
    reply = await world.chat(BIG)
    log = "".join(capfd.readouterr())

    assert (reply.status, reply.action) == (200, "compacted")
    assert "HX-90210" in sent_text(world)
    assert "secret words" not in log


async def test_plug_ins_are_asked_once_for_a_request(world_factory: Any, tmp_path: Path) -> None:
    """
    Three passes and a retry ask them no more often; a request that needs no summary does not ask at all.
    """
    counting = (
        "import pathlib\ncalls = []\ndef on_pre_compress(messages):\n    calls.append(len(messages))\n"
        "    pathlib.Path({path!r}).write_text(str(calls))\n"
    )
    calls = tmp_path / "calls.txt"
    folder = tmp_path / "plugins"
    folder.mkdir()
    given = folder_with(folder, counting=counting.format(path=str(calls)))
    world = await world_of(world_factory, "extractive", **given)
    await world.chat(BIG[:4])
    assert not calls.exists()
    await world.chat(BIG)

    assert calls.read_text() == str([len(BIG)])


async def test_a_folder_that_is_not_there_is_no_fault(world_factory: Any, tmp_path: Path) -> None:
    """
    The proxy starts without plug-ins.
    """
    world = await world_factory(plugins_dir=str(tmp_path / "nowhere"))

    assert (await world.chat(BIG)).status == 200
