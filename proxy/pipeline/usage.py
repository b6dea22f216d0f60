"""
Ask for usage in a stream where the client did not, and know when an upstream will not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proxy.chat.request import ChatRequest
from proxy.recovery.fault import Fault, Label

OPTIONS = "stream_options"
WISH = "include_usage"


def usage_wish(request: ChatRequest, policy: str, *, refused: bool) -> Mapping[str, Any]:
    """
    Return the field to add; nothing where the client has said yes or no itself or anything we do not
    understand, or the server refuses the field.
    """
    options = request.data.get(OPTIONS)
    said = isinstance(options, dict) and WISH in options
    odd = options is not None and not isinstance(options, dict)
    if policy == "never" or refused or not request.stream or said or odd:
        return {}
    return {OPTIONS: {**(options if isinstance(options, dict) else {}), WISH: True}}


def refuses_wish(fault: Fault | None, body: bytes | None) -> bool:
    """
    Tell whether a refusal is about the field that we added.
    """
    if fault is None or fault.label is not Label.INVALID_REQUEST_OTHER or body is None:
        return False
    return OPTIONS.encode() in body or WISH.encode() in body
