import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from proxy.cli.explain import supposed
from proxy.cli.main import main
from proxy.config.settings import AppSettings
from tests.support.conversations import agent_session, chat_session, request, system, user

pytestmark = pytest.mark.slow
LONG = request(agent_session(40))


@pytest.fixture(autouse=True)
def _log_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.explain.set_up_log", lambda *_, **__: None)


@pytest.fixture
def ask(runner: CliRunner, tmp_path: Path) -> Any:
    """
    Runs the verb on a body and returns its result.
    """

    def run(body: bytes, *arguments: str) -> Any:
        (tmp_path / "request.json").write_bytes(body)
        return runner.invoke(main, ["explain", str(tmp_path / "request.json"), *arguments])

    return run


def test_tells_people_what_would_be_done(ask: Any) -> None:
    """
    Action, sizes, where the window comes from, and a line for each message.
    """
    result = ask(LONG, "--window", "16384")

    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("action     compacted: ")
    assert any("16,384 tokens for sim-model, given by --window" in line for line in lines)
    assert any(line.split()[:3] == ["1", "user", "restated"] for line in lines)
    assert sum("  tool       folded" in line for line in lines) > 10
    assert any("kept" in line and "calls read_file" in line for line in lines)


def test_tells_programs_the_same(ask: Any) -> None:
    """
    As one JSON object, with a row for each message in the order of the request.
    """
    told = json.loads(ask(LONG, "--window", "16384", "--json").stdout)

    assert told["action"] == "compacted"
    assert told["after"] < told["target"] < told["threshold"] <= told["before"]
    assert (told["window"], told["window_origin"]) == (16384, "option")
    assert [row["index"] for row in told["rows"]] == list(range(82))
    assert told["record"]
    assert told["digest"]
    kept = sum(row["sent"] for row in told["rows"]) + told["summary_tokens"]
    assert abs(kept - told["after"]) < 100
    assert "body" not in told


def test_needs_neither_configuration_nor_upstream(ask: Any) -> None:
    """
    The window of a model that is known comes from the table.
    """
    told = json.loads(ask(request([user("hi")], model="gpt-4o"), "--json").stdout)

    assert (told["action"], told["window"], told["window_origin"]) == ("passthrough", 128_000, "table")


def test_nothing_is_connected_to_without_live(tmp_path: Path) -> None:
    """
    A process in which every socket but its own loop's fails explains all the same, whatever the configuration says.
    """
    (tmp_path / "request.json").write_bytes(LONG)
    (tmp_path / "c.yaml").write_text(
        "upstreams: {far: {base_url: 'http://192.0.2.1/v1'}}\nstore: {url: 'redis://192.0.2.1:6379/0'}\n"
    )
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('a connection was opened')\n"
        "socket.socket.connect = socket.socket.connect_ex = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from proxy.cli.main import main\n"
        "main(['explain', 'request.json', '--config', 'c.yaml', '--json'])\n"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, check=False)

    assert ran.returncode == 0, ran.stderr.decode()
    assert json.loads(ran.stdout)["upstream"] == "far"


def test_the_route_is_the_one_that_would_be_taken(ask: Any, tmp_path: Path) -> None:
    """
    By model, path and header, as in the file.
    """
    (tmp_path / "c.yaml").write_text(
        "upstreams: {a: {base_url: 'http://127.0.0.1:9/v1'}, b: {base_url: 'http://127.0.0.1:9/v1'}}\n"
        "routes:\n"
        "  - {name: team, match: {header: {x-team: search}}, upstream: b, compaction: {threshold_tokens: 5000}}\n"
    )
    config = ["--config", str(tmp_path / "c.yaml"), "--json"]
    plain, team = ask(LONG, *config), ask(LONG, *config, "-H", "x-team: search")

    assert json.loads(plain.stdout)["route"] == "default"
    told = json.loads(team.stdout)
    assert (told["route"], told["upstream"], told["threshold"]) == ("team", "b", 5_000)


@pytest.mark.parametrize(
    ("mode", "action"), [("off", "passthrough"), ("observe", "observed"), ("compact", "compacted")]
)
def test_a_mode_can_be_supposed(ask: Any, mode: str, action: str) -> None:
    """
    Observe tells what it would do.
    """
    told = json.loads(ask(LONG, "--window", "16384", "--mode", mode, "--json").stdout)

    assert told["action"] == action
    assert told["would"] == ("compacted" if mode == "observe" else None)


def test_a_small_request_can_be_forced(ask: Any) -> None:
    """
    As the header does.
    """
    told = json.loads(ask(request(chat_session(24)), "--window", "32768", "--force", "--json").stdout)

    assert (told["action"], told["why"]) == ("compacted", "forced")


def test_the_summary_is_printed_when_asked_for(ask: Any) -> None:
    """
    And only then.
    """
    plain, full = ask(LONG, "--window", "16384"), ask(LONG, "--window", "16384", "--summary")

    assert "notes on the earlier conversation" not in plain.stdout
    assert "[notes on the earlier conversation" in full.stdout


def test_two_runs_tell_the_same(ask: Any) -> None:
    """
    Digests, record and figures do not change by themselves.
    """
    assert ask(LONG, "--window", "16384", "--json").stdout == ask(LONG, "--window", "16384", "--json").stdout


@pytest.mark.parametrize("body", [b"{}", b"[1]", b'{"messages": 5, "model": "m"}'])
def test_a_body_that_is_no_chat_completion_would_pass_through(ask: Any, body: bytes) -> None:
    """
    As it does in the proxy.
    """
    told = json.loads(ask(body, "--json").stdout)

    assert (told["action"], told["why"], told["before"]) == ("passthrough", "not understood", None)
    assert ask(body).stdout.startswith("action     passthrough: sent as it is (not understood)")


def test_a_file_that_is_no_json_is_a_mistake(ask: Any) -> None:
    """
    With its name, and what to give instead.
    """
    result = ask(b"{")

    assert result.exit_code == 2
    assert "is no JSON: give the body of a request to /v1/chat/completions" in result.stderr


@pytest.mark.parametrize("arguments", [["no-such-file.json"], [], ["-H", "nonsense", "x.json"]])
def test_wrong_usage_exits_with_two(runner: CliRunner, arguments: list[str]) -> None:
    """
    Without a traceback.
    """
    assert runner.invoke(main, ["explain", *arguments]).exit_code == 2


def test_a_place_that_cannot_be_written_is_told(ask: Any, tmp_path: Path) -> None:
    """
    With exit code 1.
    """
    result = ask(request([system(), user()]), "--output", str(tmp_path / "no" / "out.json"))

    assert result.exit_code == 1
    assert "cannot be written: No such file or directory" in result.stderr


@pytest.mark.parametrize("file", [b"an important letter" * 400, None], ids=["text", "none"])
def test_a_live_look_without_a_store_says_so_and_makes_none(ask: Any, tmp_path: Path, file: bytes | None) -> None:
    """
    The request is explained all the same: only its records are unknown.
    """
    path = tmp_path / "kept" / "state.db"
    if file is not None:
        path.parent.mkdir()
        path.write_bytes(file)
    (tmp_path / "c.yaml").write_text(
        f"upstreams: {{a: {{base_url: 'http://127.0.0.1:9/v1'}}}}\nstore: {{url: 'sqlite:///{path}'}}\n"
    )
    result = ask(LONG, "--config", str(tmp_path / "c.yaml"), "--live", "--window", "8192", "--json")

    assert (result.exit_code, json.loads(result.stdout)["action"]) == (0, "compacted")
    assert f"store sqlite {path}: " in result.stderr
    assert [each.name for each in path.parent.glob("*")] == ["state.db"] * (file is not None)
    assert file is None or path.read_bytes() == file


def test_only_a_live_look_opens_the_store_of_the_configuration() -> None:
    """
    Otherwise records are looked up in an empty memory, with digests that are the same in every run.
    """
    given = AppSettings.model_validate({"upstreams": {"a": {"base_url": "http://a"}}})

    assert supposed(given, window=None, live=True).store == given.store
    dry = supposed(given, window=None, live=False).store
    assert (dry.url, dry.secret) == ("memory://", "explain")
