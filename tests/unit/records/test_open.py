"""
From settings to a store that works.
"""

from pathlib import Path

import pytest
from pydantic import ValidationError

from proxy.errors import SettingsError
from proxy.records import open as opening
from proxy.records.open import open_store, sqlite_path
from proxy.records.settings import StoreSettings
from tests.support.stores import FakeClock, record


async def kind_of(url, **options):
    store = await open_store(StoreSettings(url=url, **options), clock=FakeClock())
    state = store.describe()
    await store.close()
    return state


async def test_opens_memory():
    """For tests, and for those who want no file."""
    assert (await kind_of("memory://")).kind == "memory"


async def test_opens_a_file(tmp_path):
    """Four slashes begin an absolute path."""
    state = await kind_of(f"sqlite:///{tmp_path}/s.db")

    assert (state.kind, state.place, state.healthy) == ("sqlite", f"{tmp_path}/s.db", True)


async def test_starts_without_redis(tmp_path):
    """A server that is away costs summaries, not the start; the password is shown nowhere."""
    state = await kind_of(f"unix://:pass@{tmp_path}/nobody.sock")

    assert (state.kind, state.healthy, state.cause) == ("redis", False, "down")
    assert "pass" not in str(state)


async def test_says_which_extra_is_missing(monkeypatch):
    """The mistake names the command that cures it."""

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(opening, "import_module", missing)

    with pytest.raises(SettingsError, match=r"concertina-proxy\[redis\]"):
        await kind_of("redis://127.0.0.1:1/0")


async def test_a_short_encryption_key_is_a_mistake():
    """A key that can be guessed protects nothing."""
    with pytest.raises(SettingsError, match=r"store\.encryption_key: .*16 characters"):
        await kind_of("memory://", encryption_key="k" * 15)


async def test_encryption_without_its_extra_is_a_mistake(monkeypatch):
    """Whoever asks for encryption must not get plain files."""

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(opening, "import_module", missing)

    with pytest.raises(SettingsError, match=r"concertina-proxy\[encryption\]"):
        await kind_of("memory://", encryption_key="k" * 16)


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:////var/lib/s.db", "/var/lib/s.db"), ("sqlite:///s.db", "s.db"), ("sqlite:///a/s.db", "a/s.db")],
)
def test_reads_the_path_of_a_url(url, path):
    """Three slashes are relative, four absolute."""
    assert sqlite_path(url) == Path(path)


def test_reads_a_path_at_home():
    """A tilde is the home folder."""
    assert sqlite_path("sqlite:///~/s.db") == Path.home() / "s.db"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://s.db"])
def test_refuses_a_url_without_a_file(url):
    """Too few slashes are a mistake that is explained."""
    with pytest.raises(SettingsError, match="names no file"):
        sqlite_path(url)


async def test_records_of_memory_are_capped():
    """The cap of the settings reaches the store."""
    store = await open_store(StoreSettings(url="memory://", max_bytes="1KB"), clock=FakeClock())
    for key in "abcdef":
        await store.put(record(key))

    assert 0 < len(await store.recent(9)) < 6


class TestSettings:
    def test_read_units(self):
        """Durations and sizes are written as people write them."""
        settings = StoreSettings(ttl="2h", max_bytes="64MiB")

        assert (settings.ttl, settings.max_bytes) == (7_200.0, 64 << 20)

    def test_show_no_secret(self):
        """Settings may be printed; secrets in them may not."""
        shown = repr(StoreSettings(secret="s3cr3t", encryption_key="s3cr3t", url="redis://:s3cr3t@h/0"))

        assert "s3cr3t" not in shown

    @pytest.mark.parametrize("namespace", ["credential", "shared", "header:x-tenant"])
    def test_know_three_namespaces(self, namespace):
        """Who shares records."""
        assert StoreSettings(namespace=namespace).namespace == namespace

    @pytest.mark.parametrize(
        "wrong", [{"namespace": "tenant"}, {"namespace": "header:"}, {"url": "mysql://x"}, {"ttl": 0}, {"colour": 1}]
    )
    def test_refuse_what_they_do_not_know(self, wrong):
        """A mistake is told at the start."""
        with pytest.raises(ValidationError):
            StoreSettings(**wrong)
