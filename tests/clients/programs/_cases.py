"""
What every client program does: read cases, ask, tell what came.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

BASE_URL = sys.argv[1]
KEY = "client-key"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
"""The one tool there is."""


def weather(city: str) -> str:
    """
    Tell the weather of a city.
    """
    return f"sunny in {city}"


def serve(ask: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """
    Answer each case with what the client made of it, or with the error it raised.
    """
    for line in sys.stdin:
        case = json.loads(line)
        try:
            told = ask(case)
        except Exception as exc:
            code = getattr(exc, "code", None) or (getattr(exc, "body", None) or {}).get("code")
            told = {
                "error": type(exc).__name__,
                "status": getattr(exc, "status_code", None),
                "code": code,
                "said": str(exc),
            }
        print(json.dumps(told), flush=True)
