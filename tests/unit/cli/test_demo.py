import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

from proxy.chat.json import dumps, loads
from proxy.chat.messages import is_assistant, is_tool_result, is_user, tool_calls
from proxy.cli.demo import bundled, openai_or_exit, proxy_settings
from proxy.cli.demo_report import Found, table
from proxy.cli.main import main
from proxy.cli.replay import Turn, parse_conversations, requests
from proxy.errors import SettingsError

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/make_demo_session.py"


@pytest.fixture(autouse=True)
def _log_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.cli.demo.set_up_log", lambda *_, **__: None)


@pytest.mark.slow
def test_a_session_that_fits_is_answered_both_ways(runner: CliRunner) -> None:
    """
    Twelve turns need no refusal: the direct way answers all of them, and so does the proxy.
    """
    pytest.importorskip("openai")
    result = runner.invoke(main, ["demo", "--turns", "12"])

    assert result.exit_code == 0, result.output
    assert "All 12 turns were answered" in result.output
    assert "was refused" not in result.output
    assert "failed:" not in result.output


@pytest.mark.slow
@pytest.mark.parametrize("extra", [[], ["--extractive"]])
def test_the_proxy_answers_what_is_refused_directly(runner: CliRunner, extra: list[str]) -> None:
    """
    In a small window the direct way ends with the API's own words, and the proxy goes on.
    """
    pytest.importorskip("openai")
    result = runner.invoke(main, ["demo", "--window", "4096", "--turns", "12", *extra])

    assert result.exit_code == 0, result.output
    assert "400: This model's maximum context length is 4096 tokens" in result.output
    assert "compacted" in result.output


@pytest.mark.slow
def test_a_turn_that_fails_through_the_proxy_fails_the_demo(runner: CliRunner, tmp_path: Path) -> None:
    """
    A result without its call is refused whoever carries it.
    """
    pytest.importorskip("openai")
    rows = [{"role": "tool", "tool_call_id": "c1", "content": "x"}, {"role": "assistant", "content": "y"}]
    path = tmp_path / "broken.jsonl"
    path.write_bytes(dumps({"messages": rows}))
    result = runner.invoke(main, ["demo", "--conversations", str(path)])

    assert result.exit_code == 1, result.output
    assert "failed: 400" in result.output


def test_what_was_refused_is_told_apart_from_what_was_not_tried() -> None:
    """
    The direct way ends at the first refusal; the rest is judged by its size alone.
    """
    direct = [Turn(number=1, rows=2, ok=True), Turn(number=2, rows=4, ok=False, error="400")]
    through = [Turn(number=n, rows=2 * n, ok=True) for n in range(1, 6)]
    found = Found(
        asked=5, whole_tokens=9, too_large=4, direct=direct, proxied=through, summary_calls=0, summary_tokens=0
    )
    [told, proxied] = [list(column.cells)[3] for column in table(found).columns[1:]]

    assert (told, proxied) == ("1, and 3 too large to try", "0")


def test_says_how_to_get_the_client_where_it_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The client is an extra.
    """
    with pytest.raises(SystemExit) as caught:
        openai_or_exit("no_such_client")

    assert caught.value.code == 1
    assert "pip install 'concertina-proxy[demo]'" in capsys.readouterr().err


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"messages": 1}', b'{"messages": [{"role": "user"}]}'])
def test_refuses_files_with_nothing_to_replay(text: bytes) -> None:
    """
    With the name of the file, and the line where there is one.
    """
    with pytest.raises(SettingsError, match=r"mine\.jsonl"):
        parse_conversations(text, "mine.jsonl")


def test_asks_wherever_an_assistant_row_follows() -> None:
    """
    With the rows up to it, and never more requests than are wanted.
    """
    roles = ["user", "assistant", "assistant", "tool", "assistant"]
    talk = {"messages": [{"role": role} for role in roles], "tools": []}

    assert [len(request.rows) for request in requests([talk])] == [1, 4]
    assert [request.number for request in requests([talk, talk], 3)] == [1, 2, 3]


def test_summaries_need_no_model_when_extractive() -> None:
    """
    As the option says.
    """
    settings = proxy_settings("http://127.0.0.1:1/v1", 8_192, extractive=True)

    assert settings.compaction.summarizer.kind == "extractive"


def test_the_bundled_session_is_what_its_script_writes() -> None:
    """
    So that it is changed by changing the script.
    """
    session = runpy.run_path(str(SCRIPT))["session"]()

    assert bundled() == dumps(session) + b"\n"


def test_the_bundled_session_is_one_that_an_agent_could_have_had() -> None:
    """
    Every call is followed by its result, there are three asks, and the last word is the assistant's.
    """
    rows = loads(bundled())["messages"]
    for index, row in enumerate(rows):
        wanted = [call.call_id for call in tool_calls(row)] if is_assistant(row) else []
        results = rows[index + 1 : index + 1 + len(wanted)]
        assert [result.get("tool_call_id") for result in results if is_tool_result(result)] == wanted

    assert sum(is_user(row) for row in rows) == 3
    assert is_assistant(rows[-1])
    assert not tool_calls(rows[-1])
