from pathlib import Path

import pytest
from click.testing import CliRunner

from proxy.cli.main import main


def test_serves_with_an_upstream_alone(runner: CliRunner, served: list) -> None:
    """
    No file is needed.
    """
    result = runner.invoke(
        main, ["serve", "--upstream", "http://127.0.0.1:9/v1", "--listen", "127.0.0.1:1", "--workers", "2"]
    )

    assert result.exit_code == 0
    assert (served[0].upstreams["default"].base_url, served[0].listen, served[0].workers) == (
        "http://127.0.0.1:9/v1",
        "127.0.0.1:1",
        2,
    )


def test_serves_what_a_file_says(runner: CliRunner, served: list, tmp_path: Path) -> None:
    """
    Named by the option or by the environment.
    """
    (tmp_path / "c.yaml").write_text("upstreams: {a: {base_url: 'http://a'}}")
    runner.invoke(main, ["serve", "--config", str(tmp_path / "c.yaml")])
    runner.invoke(main, ["serve"], env={"CONCERTINA_CONFIG": str(tmp_path / "c.yaml")})

    assert [list(settings.upstreams) for settings in served] == [["a"], ["a"]]


def test_says_what_to_do_where_there_is_no_upstream(runner: CliRunner, served: list) -> None:
    """
    Instead of guessing one and sending keys there.
    """
    result = runner.invoke(main, ["serve"])

    assert (result.exit_code, served) == (2, [])
    assert "give --upstream URL, set CONCERTINA_UPSTREAM, or name one under upstreams" in result.stderr


def test_exits_with_what_serving_ended_with(runner: CliRunner, served: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A port in use is a failure.
    """
    main.get_command(None, "serve")
    monkeypatch.setattr("proxy.cli.serve.serve_forever", lambda *_, **__: 1)

    assert runner.invoke(main, ["serve", "--upstream", "http://a"]).exit_code == 1
