import hashlib

import pytest

from proxy.tokens.table import SOURCE_SHA256, TABLE_FILE, pack, read_source, unpack, write_source


@pytest.mark.slow
def test_the_packaged_table_gives_back_the_published_file():
    """
    Byte for byte: the digest is the one that tiktoken itself asks for.
    """
    text = write_source(unpack(TABLE_FILE.read_bytes()))

    assert hashlib.sha256(text).hexdigest() == SOURCE_SHA256


def test_the_digest_is_the_one_tiktoken_expects():
    """
    The constant of ours is no word of ours.
    """
    import tiktoken_ext.openai_public as published

    assert SOURCE_SHA256 in published.o200k_base.__code__.co_consts


def test_a_table_gives_back_its_tokens():
    """
    Lengths and bytes in rank order are all there is to keep.
    """
    tokens = [b"a", b"\x00\xff", b"x" * 255]

    assert unpack(pack(tokens)) == tokens


@pytest.mark.parametrize("damage", [lambda t: t[:-9], lambda t: b"", lambda t: b"text" + t])
def test_a_damaged_table_is_noticed(damage):
    """
    A wrong table would count wrong for ever.
    """
    with pytest.raises(ValueError):
        unpack(damage(pack([b"a", b"bc"])))


def test_a_table_that_is_cut_short_inside_is_noticed():
    """
    The lengths must add up to the bytes.
    """
    import zlib

    raw = zlib.decompress(pack([b"a", b"bc"]))

    with pytest.raises(ValueError):
        unpack(zlib.compress(raw[:-1]))


def test_a_source_with_a_gap_is_refused():
    """
    Ranks are not stored, so they must be dense.
    """
    with pytest.raises(ValueError):
        read_source(b"YQ== 0\nYg== 2\n")
