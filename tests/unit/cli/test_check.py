from pathlib import Path

from click.testing import CliRunner

from proxy.cli.main import main


def test_a_right_file_is_ok(runner: CliRunner, tmp_path: Path) -> None:
    """
    One word, exit code 0.
    """
    (tmp_path / "c.yaml").write_text("upstreams: {a: {base_url: 'http://a'}}")
    result = runner.invoke(main, ["check", str(tmp_path / "c.yaml")])

    assert (result.exit_code, result.output) == (0, "ok\n")


def test_mistakes_are_printed_one_a_line(runner: CliRunner, tmp_path: Path) -> None:
    """
    On stderr, exit code 2.
    """
    file = tmp_path / "c.yaml"
    file.write_text("workers: 0\nlisten: x\nupstreams: {a: {base_url: 'http://a'}}")
    result = runner.invoke(main, ["check", str(file)])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"{file}:1: workers: should be at least 1",
        f"{file}:2: listen: is no address: write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080",
    ]


def test_a_file_that_is_not_there_is_a_mistake(runner: CliRunner, tmp_path: Path) -> None:
    """
    And no traceback.
    """
    result = runner.invoke(main, ["check", str(tmp_path / "no.yaml")])

    assert result.exit_code == 2
    assert result.stderr == f"{tmp_path / 'no.yaml'}: cannot be read: No such file or directory\n"


def test_a_misspelt_variable_is_told_and_no_mistake(runner: CliRunner, tmp_path: Path) -> None:
    """
    Its name with the nearest one, never its value.
    """
    (tmp_path / "c.yaml").write_text("upstreams: {a: {base_url: 'http://a'}}")
    env = {"CONCERTINA_LOGLEVEL": "sk-secret"}
    result = runner.invoke(main, ["check", str(tmp_path / "c.yaml")], env=env)

    assert (result.exit_code, result.stdout) == (0, "ok\n")
    assert result.stderr == "CONCERTINA_LOGLEVEL: sets nothing; did you mean CONCERTINA_LOG_LEVEL?\n"


def test_what_is_missing_may_stand_there_under_a_misspelt_name(runner: CliRunner, tmp_path: Path) -> None:
    """
    So that is told beside the mistakes.
    """
    (tmp_path / "c.yaml").write_text("workers: 1")
    env = {"CONCERTINA_UPSTRAEM": "http://a"}
    result = runner.invoke(main, ["check", str(tmp_path / "c.yaml")], env=env)

    assert result.exit_code == 2
    assert "CONCERTINA_UPSTRAEM: sets nothing; did you mean CONCERTINA_UPSTREAM?" in result.stderr
