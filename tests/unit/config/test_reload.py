from proxy.config.reload import LIVE, adopt
from proxy.config.settings import AppSettings

BASE = {"upstreams": {"a": {"base_url": "http://a"}}}


def written(**changes: object) -> AppSettings:
    """
    Return settings with *changes*.
    """
    return AppSettings.model_validate({**BASE, **changes})


def test_what_may_change_is_taken_over_and_named() -> None:
    """
    Routes and all that they are made from.
    """
    new = written(compaction={"mode": "observe"}, disclose=False, models={"m": {"context_window": 4096}})
    found = adopt(written(), new)

    assert found.settings == new
    assert set(found.changed) == {"compaction", "disclose", "models", "routes"} - (
        {"routes"} if not new.routes else set()
    )
    assert found.held_back == ()


def test_what_may_not_change_is_named_and_left_as_it_was() -> None:
    """
    By the setting, not by its group alone.
    """
    old = written()
    new = written(listen="127.0.0.1:9", workers=3, store={"url": "memory://", "ttl": "1d"}, log={"level": "debug"})
    found = adopt(old, new)

    assert found.settings == old
    assert found.changed == ()
    assert set(found.held_back) == {"listen", "workers", "store.url", "store.ttl", "log.level"}


def test_nothing_new_changes_nothing() -> None:
    """
    A signal too many does no harm.
    """
    found = adopt(written(), written())

    assert (found.settings, found.changed, found.held_back) == (written(), (), ())


def test_every_live_setting_exists() -> None:
    """
    A name with a slip in it would never change anything.
    """
    assert set(LIVE) <= set(AppSettings.model_fields)
