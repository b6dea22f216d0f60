import pytest

from proxy.tokens.table import TABLE_FILE, unpack, write_source
from scripts import make_vocabulary


@pytest.mark.slow
def test_makes_the_packaged_table_from_the_published_file(monkeypatch, tmp_path):
    """
    The table in the package can be made again by anyone, byte for byte.
    """
    source, table = tmp_path / "o200k_base.tiktoken", tmp_path / "table.bin"
    source.write_bytes(write_source(unpack(TABLE_FILE.read_bytes())))
    monkeypatch.setattr(make_vocabulary, "TABLE_FILE", table)

    assert make_vocabulary.main(str(source)) == 0
    assert unpack(table.read_bytes()) == unpack(TABLE_FILE.read_bytes())


def test_refuses_another_file(monkeypatch, tmp_path):
    """
    A table of unknown origin never gets into the package.
    """
    source, table = tmp_path / "o200k_base.tiktoken", tmp_path / "table.bin"
    source.write_bytes(b"YQ== 0\n")
    monkeypatch.setattr(make_vocabulary, "TABLE_FILE", table)

    assert make_vocabulary.main(str(source)) == 1
    assert not table.exists()
