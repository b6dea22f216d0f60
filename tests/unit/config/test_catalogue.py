from proxy.config.catalogue import file_fields, model_at, settings
from proxy.config.settings import AppSettings
from proxy.pipeline.settings import MatchSettings
from proxy.upstream.settings import UpstreamSettings


def test_lists_every_setting_with_its_path() -> None:
    """
    Names of the user's own are NAME, list elements [].
    """
    paths = {setting.path for setting in settings()}

    assert {
        "listen",
        "admin.token",
        "upstreams.NAME.base_url",
        "compaction.summarizer.wait",
        "recovery.patterns[].regex",
        "routes[].match.model",
        "routes[].compaction",
    } <= paths


def test_lists_what_a_route_may_override_once() -> None:
    """
    The settings of compaction stand under the defaults.
    """
    assert not [setting.path for setting in settings() if setting.path.startswith("routes[].compaction.")]


def test_every_setting_has_its_help() -> None:
    """
    A setting without a sentence is a setting nobody dares to change.
    """
    assert [setting.path for setting in settings() if not setting.field.description] == []


def test_finds_the_model_at_a_path() -> None:
    """
    Through names and list elements.
    """
    assert model_at(("upstreams", "a")) is UpstreamSettings
    assert model_at(("routes", 3, "match")) is MatchSettings
    assert model_at(("listen", "x")) is None
    assert model_at(("nothing",)) is None


def test_knows_which_settings_name_a_file_with_a_secret() -> None:
    """
    A path that is no secret's, such as ca_file, is not read.
    """
    assert list(file_fields(AppSettings)) == [("client_keys", "client_keys_file")]
    assert list(file_fields(UpstreamSettings)) == [("api_keys", "api_keys_file")]
