"""
Who asks is known by digests of what was presented.
"""

import pytest

from proxy.pipeline.heads import by_name
from proxy.pipeline.identify import LONGEST_REMEMBERED, Identifier

SECRET = b"s" * 32
KEYS = [
    (("Authorization", "Bearer one"),),
    (("Authorization", "Bearer two"),),
    (("api-key", "Bearer one"),),
    (("x-concertina-key", "Bearer one"),),
    (),
]


def test_each_credential_is_another_party() -> None:
    """
    The same one is the same, however its header is spelled, and none is one of its own.
    """
    identifier = Identifier(SECRET, namespace="credential")
    parties = [identifier.party("up", by_name(headers)) for headers in KEYS]

    assert len(set(parties)) == len(KEYS)
    assert identifier.party("up", {"authorization": "Bearer one"}) == parties[0]
    assert identifier.party("down", {"authorization": "Bearer one"}).credential == parties[0].credential
    assert not any("one" in repr(party) for party in parties)


@pytest.mark.parametrize("namespace", ["shared", "header:X-Team"])
def test_a_namespace_says_who_shares(namespace: str) -> None:
    """
    Everybody, or those of one header's value; the credential stays one's own.
    """
    identifier = Identifier(SECRET, namespace=namespace)
    one, two = (identifier.party("up", {"authorization": key, "x-team": "a"}) for key in ("1", "2"))
    other = identifier.party("up", {"authorization": "1", "x-team": "b"})

    assert one.tenant == two.tenant
    assert one.credential != two.credential
    assert (one.tenant == other.tenant) is (namespace == "shared")


def test_nothing_long_is_remembered() -> None:
    """
    What clients present is kept in memory up to a length, and means the same beyond it.
    """
    identifier = Identifier(SECRET, namespace="credential")
    for size in (10, LONGEST_REMEMBERED + 1):
        heads = {"authorization": "x" * size}
        assert identifier.party("up", heads) == identifier.party("up", heads)

    assert identifier._remembered.cache_info().currsize == 1
