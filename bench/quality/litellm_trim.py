"""
Shorten conversations with ``litellm.utils.trim_messages``; run by the Python of a venv that has litellm.

Reads ``[[rows, budget], ...]`` as JSON from standard input, writes the kept rows of each, ``null`` where it failed.
"""

import json
import sys

from litellm.utils import trim_messages


def main() -> None:
    kept = []
    for rows, budget in json.load(sys.stdin):
        try:
            kept.append(trim_messages(rows, model="gpt-4o", max_tokens=budget, trim_ratio=1.0))
        except Exception as fault:
            print(f"trim_messages failed: {type(fault).__name__}", file=sys.stderr)
            kept.append(None)
    json.dump(kept, sys.stdout)


main()
