"""
Addresses to listen on: ``HOST:PORT``.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
_HIGHEST_PORT = 65535


def split_address(text: str) -> tuple[str, int]:
    """
    Return host and port; the brackets of an IPv6 host are taken off.

    Raises ``ValueError`` where *text* is no address.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[2]) > _HIGHEST_PORT:
        raise ValueError("is no address: write HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
    return found[1].strip("[]"), int(found[2])


def is_loopback(text: str) -> bool:
    """
    Tell whether an address can be reached from this machine only.
    """
    host = split_address(text)[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_address(text: str) -> str:
    split_address(text)
    return text


Address = Annotated[str, AfterValidator(_check_address)]
