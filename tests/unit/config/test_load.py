from pathlib import Path

import pytest

from proxy.config.load import load_settings
from proxy.config.settings import AppSettings
from proxy.errors import SettingsError

TWO = """
upstreams:
  first: {base_url: "https://a.example/v1"}
  second: {base_url: "https://b.example/v1", api_keys: [own-key]}
"""


def load(folder: Path, text: str, overrides: dict[str, object] | None = None, **environ: str) -> AppSettings:
    """
    Load settings from *text*.
    """
    file = folder / "c.yaml"
    file.write_text(text, "utf-8")
    return load_settings(file, environ=environ, overrides=overrides)


def test_needs_no_file_with_an_upstream() -> None:
    """
    ``concertina serve --upstream URL`` is enough.
    """
    settings = load_settings(None, environ={}, overrides={"upstream": "https://a.example/v1"})

    assert settings.upstreams["default"].base_url == "https://a.example/v1"
    assert [route.upstream for route in settings.routes] == ["default"]


def test_needs_no_upstream_when_asked_so() -> None:
    """
    ``explain`` and ``doctor`` work without one.
    """
    assert load_settings(None, environ={}, need_upstream=False) == AppSettings()


def test_a_request_that_matches_no_route_goes_to_the_first_upstream(tmp_path: Path) -> None:
    """
    The route for it is there, last, with the default settings.
    """
    routes = "routes:\n  - {name: default, match: {model: x}, upstream: second}\n"
    settings = load(tmp_path, TWO + routes + "compaction: {protect_last_n: 7}")
    last = settings.routes[-1]

    assert (last.name, last.upstream, last.match.everything) == ("default-2", "first", True)
    assert last.compaction.protect_last_n == 7


def test_adds_no_route_behind_one_that_takes_everything(tmp_path: Path) -> None:
    """
    A match of nulls alone matches all as well.
    """
    settings = load(tmp_path, TWO + "routes:\n  - {name: all, match: {model: null, header: {}}, upstream: second}")

    assert [route.name for route in settings.routes] == ["all"]


def test_a_route_lays_its_settings_over_the_defaults(tmp_path: Path) -> None:
    """
    Key by key, down into the summariser.
    """
    settings = load(
        tmp_path,
        TWO
        + """
compaction: {protect_last_n: 7, summarizer: {wait: 5s, max_calls: 2}}
recovery: {max_attempts: 2, deadline: 60s}
routes:
  - name: one
    upstream: first
    compaction: {threshold_percent: 0.7, summarizer: {wait: 1m}}
    recovery: {deadline: 10s}
""",
    )
    route = settings.routes[0]

    assert (route.compaction.protect_last_n, route.compaction.threshold_percent) == (7, 0.7)
    assert (route.compaction.summarizer.wait, route.compaction.summarizer.max_calls) == (60, 2)
    assert (route.recovery.max_attempts, route.recovery.deadline) == (2, 10)
    assert settings.compaction.summarizer.wait == 5


def test_sections_whose_lines_are_all_commented_out_are_the_defaults(tmp_path: Path) -> None:
    """
    YAML makes a null of them.
    """
    text = (
        TWO
        + "compaction:\n  summarizer:\nlog:\nroutes:\n  - name: one\n    upstream: first\n    compaction:\n    match:\n"
    )

    assert load(tmp_path, text).compaction == AppSettings().compaction


def test_options_beat_the_environment_and_the_environment_beats_the_file(tmp_path: Path) -> None:
    """
    The nearer to the command, the stronger.
    """
    text = TWO + "listen: 127.0.0.1:1\nworkers: 1\nlog: {level: error, format: json}"
    settings = load(
        tmp_path,
        text,
        {"listen": "127.0.0.1:3", "workers": None},
        CONCERTINA_LISTEN="127.0.0.1:2",
        CONCERTINA_WORKERS="2",
        CONCERTINA_LOG_LEVEL="DEBUG",
        CONCERTINA_LOG_FORMAT="",
    )

    assert (settings.listen, settings.workers) == ("127.0.0.1:3", 2)
    assert (settings.log.level, settings.log.format) == ("debug", "json")


def test_another_upstream_address_goes_to_the_first_upstream(tmp_path: Path) -> None:
    """
    The others of the file stay as they are.
    """
    settings = load(tmp_path, TWO, CONCERTINA_UPSTREAM="http://127.0.0.1:9/v1")

    assert [upstream.base_url for upstream in settings.upstreams.values()] == [
        "http://127.0.0.1:9/v1",
        "https://b.example/v1",
    ]


def test_the_file_may_be_named_by_the_environment(tmp_path: Path) -> None:
    """
    As containers do.
    """
    (tmp_path / "c.yaml").write_text(TWO, "utf-8")

    assert len(load_settings(None, environ={"CONCERTINA_CONFIG": str(tmp_path / "c.yaml")}).upstreams) == 2


def test_the_environment_reaches_nested_settings() -> None:
    """
    Also those of sections that no file begins, lists, and the admin port switched off.
    """
    settings = load_settings(
        None,
        environ={
            "CONCERTINA_UPSTREAM": "http://127.0.0.1:9",
            "CONCERTINA_STORE": "memory://",
            "CONCERTINA_STORE_SECRET": "s",
            "CONCERTINA_CLIENT_KEYS": "one, two,",
            "CONCERTINA_ADMIN_LISTEN": "off",
            "CONCERTINA_MODE": "observe",
        },
    )

    assert (settings.store.url, settings.store.secret) == ("memory://", "s")
    assert settings.client_keys == ("one", "two")
    assert settings.admin.listen is None
    assert settings.routes[0].compaction.mode == "observe"


def test_variables_of_a_kubernetes_service_are_nobodys_mistake() -> None:
    """
    A service named concertina sets them for every pod beside it.
    """
    environ = {"CONCERTINA_PORT": "tcp://10.0.0.1:80", "CONCERTINA_UPSTREAM": "http://127.0.0.1:9"}

    assert load_settings(None, environ=environ).listen == "127.0.0.1:8080"


def test_reads_a_secret_from_its_file(tmp_path: Path) -> None:
    """
    Beside the configuration file where the path is relative; the line break at the end is no part of it.
    """
    (tmp_path / "token").write_text("secret-token\n", "utf-8")

    assert load(tmp_path, TWO + "admin: {token_file: token}").admin.token == "secret-token"


def test_reads_keys_one_a_line(tmp_path: Path) -> None:
    """
    In upstreams as well.
    """
    (tmp_path / "keys").write_text("k1\n\n k2 \n", "utf-8")
    settings = load(
        tmp_path, f"client_keys_file: {tmp_path}/keys\nupstreams: {{a: {{base_url: 'http://a', api_keys_file: keys}}}}"
    )

    assert settings.client_keys == settings.upstreams["a"].api_keys == ("k1", "k2")


def test_keys_from_a_file_count_where_the_proxy_is_open(tmp_path: Path) -> None:
    """
    They can be spent as well as written ones.
    """
    (tmp_path / "keys").write_text("k1", "utf-8")

    with pytest.raises(SettingsError, match="listen: is open to other machines"):
        load(tmp_path, "listen: 0.0.0.0:1\nupstreams: {a: {base_url: 'http://a', api_keys_file: keys}}")


@pytest.mark.parametrize(
    ("content", "text", "cause"),
    [
        (b"x", "admin: {token: t, token_file: token}", "admin.token_file: stands beside token: keep one of the two"),
        (b" \n", "admin: {token_file: token}", "admin.token_file: names an empty file"),
        (b"\xff\xfe", "admin: {token_file: token}", "admin.token_file: cannot be read: it holds no text"),
        (b"x", "admin: {token_file: .}", "admin.token_file: cannot be read: Is a directory"),
    ],
)
def test_explains_a_secret_file_that_cannot_serve(tmp_path: Path, content: bytes, text: str, cause: str) -> None:
    """
    At the setting that names it.
    """
    (tmp_path / "token").write_bytes(content)

    with pytest.raises(SettingsError, match=cause):
        load(tmp_path, TWO + text)


def test_a_secret_from_the_environment_takes_the_place_of_a_file(tmp_path: Path) -> None:
    """
    Whoever sets it does not mean the file any more, which may not even be there.
    """
    text = TWO + "admin: {token_file: /no/such/file}"

    assert load(tmp_path, text, CONCERTINA_ADMIN_TOKEN="t").admin.token == "t"


def test_secrets_are_in_no_printed_settings(tmp_path: Path) -> None:
    """
    Settings end up in logs and tracebacks sooner or later.
    """
    text = """
client_keys: [canary]
admin: {token: canary}
store: {url: "redis://:canary@127.0.0.1/0", secret: canary, encryption_key: canary}
upstreams: {a: {base_url: "http://a", api_keys: [canary], headers: {authorization: canary}}}
"""

    assert "canary" not in repr(load(tmp_path, text))


def test_an_exposed_proxy_is_right_with_client_keys_or_without_keys_of_its_own(tmp_path: Path) -> None:
    """
    Clients then pay with keys of theirs, or are known.
    """
    known = load(tmp_path, "listen: 0.0.0.0:1\nclient_keys: [k]" + TWO)
    keyless = load(tmp_path, "listen: 0.0.0.0:1\nupstreams: {a: {base_url: 'http://a'}}")
    local = load(tmp_path, "listen: localhost:1" + TWO)

    assert [settings.listen for settings in (known, keyless, local)] == ["0.0.0.0:1", "0.0.0.0:1", "localhost:1"]


def test_the_summariser_may_name_the_routes_own_upstream(tmp_path: Path) -> None:
    """
    The credential goes where the request goes, so no other key is needed.
    """
    settings = load(tmp_path, TWO + "compaction: {summarizer: {upstream: first}}")

    assert settings.routes[0].compaction.summarizer.upstream == "first"


def test_settings_are_frozen() -> None:
    """
    Whoever reads them reads what was loaded.
    """
    with pytest.raises(ValueError, match="frozen"):
        AppSettings().workers = 2


def test_models_given_in_code_work_as_written_ones() -> None:
    """
    Tests and tools build settings without a file; what was set is laid over the defaults as from YAML.
    """
    settings = AppSettings.model_validate(
        {
            "upstreams": {"a": AppSettings(upstreams={"a": {"base_url": "http://a"}}).upstreams["a"]},
            "compaction": AppSettings(compaction={"protect_last_n": 3}).compaction,
            "routes": [{"name": "one", "upstream": "a", "compaction": {"mode": "off"}}],
        }
    )

    assert (settings.routes[0].compaction.protect_last_n, settings.routes[0].compaction.mode) == (3, "off")


def test_paths_and_addresses_that_are_right_are_taken(tmp_path: Path) -> None:
    """
    As they are written.
    """
    settings = load(tmp_path, TWO + f"plugins_dir: {tmp_path}\notlp: http://127.0.0.1:4318")

    assert (settings.plugins_dir, settings.otlp) == (tmp_path, "http://127.0.0.1:4318")


def test_routes_that_are_none_leave_the_others_to_be_checked(tmp_path: Path) -> None:
    """
    A word in the list of routes hides no mistake behind it.
    """
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, TWO + "routes:\n  - oops\n  - {name: one, upstream: frist}\n")

    assert [line.partition(": ")[2] for line in caught.value.mistakes] == [
        "routes[0]: should be a mapping of settings, with one `name: value` a line",
        "routes[1].upstream: names no upstream; did you mean first?",
    ]
