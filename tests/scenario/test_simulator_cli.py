import asyncio
import signal
import sys

import aiohttp
import pytest
from click.testing import CliRunner

from proxy.cli.simulate import describe, serve_until, simulate, simulator_settings
from proxy.errors import SettingsError
from proxy.simulator.received import Received
from proxy.simulator.script_file import parse_script
from proxy.simulator.server import Simulator
from tests.support.conversations import request, user

COMMAND = [sys.executable, "-c", "from proxy.cli.simulate import simulate; simulate()"]


async def test_serves_until_told_to_stop():
    """
    It says where it listens, and leaves when asked to.
    """
    said: asyncio.Queue[str] = asyncio.Queue()
    stopping = asyncio.Event()
    simulator = Simulator()
    serving = asyncio.ensure_future(serve_until(stopping, simulator, host="127.0.0.1", port=0, say=said.put_nowait))
    line = await said.get()

    async with aiohttp.ClientSession() as http, http.get(simulator.url + "/models") as response:
        assert response.status == 200
    stopping.set()
    await serving

    assert line == f"simulator at {simulator.url} (window none, wording openai, strict)"


@pytest.mark.slow
async def test_the_command_answers_and_ends_with_0(tmp_path):
    """
    The whole command: options, script, a refusal in the asked wording, an orderly end.
    """
    script = tmp_path / "script.yaml"
    script.write_text("steps: [{answer: scripted}]")
    options = ["--listen", "127.0.0.1:0", "--window", "4096", "--wording", "llamacpp", "--script", str(script)]
    process = await asyncio.create_subprocess_exec(*COMMAND, *options, stdout=asyncio.subprocess.PIPE)
    url = (await process.stdout.readline()).decode().split()[2]

    texts = []
    async with aiohttp.ClientSession() as http:
        for rows in ([user(90_000)], [user("hi")]):
            async with http.post(url + "/chat/completions", data=request(rows)) as response:
                texts.append(await response.text())
    process.send_signal(signal.SIGTERM)
    lines = (await process.stdout.read()).decode().splitlines()

    assert await process.wait() == 0
    assert "exceeds the available context size (4096 tokens)" in texts[0]
    assert "scripted" in texts[1]
    assert [line.split()[3] for line in lines] == ["400", "200"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--listen", "nowhere"], "expected HOST:PORT"),
        (["--token-ratio", "0"], "token_ratio: Input should be greater than 0"),
        (["--script", "missing.yaml"], "missing.yaml: No such file"),
        (["--wording", "klingon"], "klingon"),
    ],
)
def test_mistakes_end_with_2(options, words):
    """
    A mistake on the command line is explained, and its exit code is that of usage errors.
    """
    result = CliRunner().invoke(simulate, options)

    assert (result.exit_code, words in result.output) == (2, True)


def test_options_beat_the_script():
    """
    What is typed wins over what is written.
    """
    script = parse_script("window: 1000\nwording: vllm")

    settings = simulator_settings(script, {"window": 2_000, "wording": None, "strict": False})

    assert (settings.window, settings.wording, settings.strict) == (2_000, "vllm", False)


def test_unknown_settings_of_a_script_are_mistakes():
    """
    A misspelt setting is never ignored.
    """
    with pytest.raises(SettingsError, match="windw"):
        simulator_settings(parse_script("windw: 1000"), {})


def test_a_line_a_request_tells_no_text():
    """
    The log shows figures and kinds, never what was said.
    """
    data = {"messages": [user("my secret")]}
    received = Received(3, "POST", "/v1/chat/completions", "", (), b"", data=data, prompt_tokens=12, status=200)

    assert describe(received) == "#3 POST /v1/chat/completions 200 · 1 rows 12 tokens (0 cached)"
