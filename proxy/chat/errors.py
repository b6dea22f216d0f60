"""
Error bodies in OpenAI's shape.
"""

from __future__ import annotations

from proxy.chat.json import clean_text, dumps

CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"


def error_body(
    message: str, *, kind: str = "invalid_request_error", param: str | None = None, code: str | None = None
) -> bytes:
    """
    Return ``{"error": {"message", "type", "param", "code"}}``, the shape that SDKs parse.
    """
    return dumps({"error": {"message": clean_text(message), "type": kind, "param": param, "code": code}})


def context_length_exceeded(message: str) -> bytes:
    """
    Return the body that ends an overflow which cannot be cured; sent with status 400, which SDKs do not repeat.
    """
    return error_body(message, param="messages", code=CONTEXT_LENGTH_EXCEEDED)
