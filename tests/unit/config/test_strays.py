"""
Variables that look like ours and set nothing.
"""

from pathlib import Path

import pytest

from proxy.config.environment import VARIABLES
from proxy.config.strays import KNOWN, Stray, stray_variables


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("CONCERTINA_LOGLEVEL", "CONCERTINA_LOG_LEVEL"),
        ("CONCERTINA_UPSTRAEM", "CONCERTINA_UPSTREAM"),
        ("CONCERTINA_UPSTREAM_URL", "CONCERTINA_UPSTREAM"),
        ("CONCERTINA_CLIENT_KEY", "CONCERTINA_CLIENT_KEYS"),
        ("CONCERTINA_STORE_URL", "CONCERTINA_STORE"),
        ("CONCERTINA_WORKER", "CONCERTINA_WORKERS"),
        ("CONCERTNIA_MODE", "CONCERTINA_MODE"),
        ("concertina_mode", "CONCERTINA_MODE"),
        ("CONCERTINA_THRESHOLD_PERCENT", ""),
    ],
)
def test_a_slip_is_told_with_the_nearest_name(variable: str, nearest: str) -> None:
    """
    Where nothing resembles it, that it sets nothing is said all the same.
    """
    assert stray_variables({variable: "sk-secret"}, None) == (Stray(variable, nearest),)
    assert "sk-secret" not in str(stray_variables({variable: "sk-secret"}, None))


@pytest.mark.parametrize(
    "variable",
    [
        "CONCERTINA_PORT",
        "CONCERTINA_SERVICE_HOST",
        "CONCERTINA_SERVICE_PORT",
        "CONCERTINA_SERVICE_PORT_HTTP",
        "CONCERTINA_PORT_8080_TCP",
        "CONCERTINA_PORT_8080_TCP_ADDR",
        "CONCERTINA_ADMIN_SERVICE_HOST",
        "CONCERTINA_ADMIN_PORT_8081_TCP_PROTO",
        "_CONCERTINA_COMPLETE",
        "OPENAI_BASE_URL",
        "PATH",
        "CONCERT_HALL",
        "LOG_LEVEL",
    ],
)
def test_what_others_set_is_no_stray(variable: str) -> None:
    """
    An orchestrator for a service of that name, a shell that completes, programs beside us.
    """
    assert stray_variables({variable: "tcp://10.0.0.1:80"}, None) == ()


def test_all_that_are_read_are_known() -> None:
    """
    None of them resembles itself.
    """
    assert set(VARIABLES) < set(KNOWN)
    assert stray_variables(dict.fromkeys(KNOWN, "x"), None) == ()


def test_an_empty_variable_is_not_set() -> None:
    """
    As everywhere.
    """
    assert stray_variables({"CONCERTINA_LOGLEVEL": " "}, None) == ()


def test_what_the_file_uses_by_name_is_no_stray(tmp_path: Path) -> None:
    """
    Whichever way the file is named; ``$${`` uses nothing.
    """
    file = tmp_path / "c.yaml"
    file.write_text("a: ${CONCERTINA_OPENAI_KEY}\nb: ${CONCERTINA_OTHER:-x}\nc: $${CONCERTINA_LITERAL}")
    environ = dict.fromkeys(("CONCERTINA_OPENAI_KEY", "CONCERTINA_OTHER", "CONCERTINA_LITERAL"), "x")

    assert [stray.variable for stray in stray_variables(environ, file)] == ["CONCERTINA_LITERAL"]
    environ["CONCERTINA_CONFIG"] = str(file)
    assert [stray.variable for stray in stray_variables(environ, None)] == ["CONCERTINA_LITERAL"]


def test_a_file_that_cannot_be_read_is_no_fault_of_the_environment(tmp_path: Path) -> None:
    """
    It is told by who loads it.
    """
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "none", tmp_path / "binary", tmp_path):
        assert stray_variables({"CONCERTINA_X": "1"}, path) == (Stray("CONCERTINA_X"),)
