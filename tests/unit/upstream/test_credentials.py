import pytest

from proxy.upstream.credentials import admits, with_api_key, without_client_keys

KEYS = ("ck-1", "ck-2")


@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", "Bearer ck-2"),
        ("authorization", "bearer ck-1"),
        ("api-key", "ck-1"),
        ("X-Concertina-Key", "ck-2"),
    ],
)
def test_admits_a_client_with_a_key(header):
    """
    As bearer, in Azure's header, or in our own.
    """
    assert admits((header,), KEYS)


@pytest.mark.parametrize(
    "header", [("Authorization", "Bearer ck-3"), ("X-Other", "ck-1"), ("Authorization", "Bearer \udcff")]
)
def test_refuses_a_client_without_one(header):
    """
    A wrong key, a key in the wrong place, and bytes that are no text.
    """
    assert not admits((header,), KEYS)


def test_admits_everybody_where_no_keys_are_asked_for():
    """
    The default on loopback.
    """
    assert admits((), ())


def test_takes_out_our_keys_and_leaves_theirs():
    """
    A client's upstream key is none of ours.
    """
    headers = (("authorization", "Bearer ck-1"), ("api-key", "sk-theirs"))

    assert without_client_keys(headers, KEYS) == (("api-key", "sk-theirs"),)


def test_lends_a_key_to_a_request_without_one():
    """
    As bearer, or bare in another header.
    """
    assert with_api_key((), "sk") == (("Authorization", "Bearer sk"),)
    assert with_api_key((), "sk", name="api-key") == (("api-key", "sk"),)


@pytest.mark.parametrize("name", ["authorization", "API-Key", "x-api-key"])
def test_never_replaces_the_clients_own_key(name):
    """
    Whoever pays decides.
    """
    assert with_api_key(((name, "theirs"),), "sk") == ((name, "theirs"),)
