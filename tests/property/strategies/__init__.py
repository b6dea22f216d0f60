"""
What clients and upstreams send, for every property test: conversations, whole requests, event streams, error bodies.
"""

from tests.property.strategies.errors import Failure, failures
from tests.property.strategies.requests import chat_bodies
from tests.property.strategies.rows import any_rows, conversations, turns
from tests.property.strategies.streams import pieces, streams
from tests.property.strategies.values import json_values, odd_json

__all__ = [
    "Failure",
    "any_rows",
    "chat_bodies",
    "conversations",
    "failures",
    "json_values",
    "odd_json",
    "pieces",
    "streams",
    "turns",
]
