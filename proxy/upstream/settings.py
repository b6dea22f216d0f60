"""
Settings of an upstream.
"""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from proxy.telemetry.settings import Settings
from proxy.telemetry.units import Bytes, Seconds

_BASE_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def _check_base_url(text: str) -> str:
    if not _BASE_URL.fullmatch(text):
        raise ValueError(
            "should be a URL that begins with http:// or https://, without user, query and fragment, "
            "such as https://api.openai.com/v1"
        )
    return text


def _check_header_name(text: str) -> str:
    if not _HEADER_NAME.fullmatch(text):
        raise ValueError("is no header name")
    return text


def _check_header_value(text: str) -> str:
    # A line break would let a value smuggle in headers of its own.
    if any(letter in text for letter in "\r\n\0"):
        raise ValueError("a header value cannot hold line breaks")
    return text


def _check_key(text: str) -> str:
    if not text or text != text.strip() or not text.isascii() or not text.isprintable():
        raise ValueError("is no key: it is empty, or has blanks around it or letters that headers cannot carry")
    return text


HeaderName = Annotated[str, AfterValidator(_check_header_name)]
HeaderValue = Annotated[str, AfterValidator(_check_header_value)]
ApiKey = Annotated[str, AfterValidator(_check_key)]


class UpstreamSettings(Settings):
    """
    One OpenAI-compatible server behind the proxy.
    """

    base_url: Annotated[str, AfterValidator(_check_base_url)] = Field(
        description="Where the API begins, with or without `/v1`."
    )
    connect_timeout: Seconds = Field(
        default=10.0,
        gt=0,
        description="How long connecting may take; there is no read timeout, since models think long.",
    )
    discover: bool = Field(default=True, description="Ask the server for the context window of its models.")
    context_window: int | None = Field(
        default=None, ge=1, description="Context window, in tokens, for servers that do not say."
    )
    max_body: Bytes | None = Field(
        default=None, gt=0, description="Byte budget of a gateway in front; null: learned when one refuses."
    )
    api_keys: tuple[ApiKey, ...] = Field(
        default=(),
        repr=False,
        description="Keys of the proxy's own, used in turn; none: the client's own key passes through.",
    )
    api_keys_file: Path | None = Field(default=None, description="File that holds api_keys, one a line.")
    headers: dict[HeaderName, HeaderValue] = Field(
        default_factory=dict, repr=False, description="Headers added to every request."
    )
    drop_headers: tuple[HeaderName, ...] = Field(default=(), description="Client headers that are not passed on.")
    ca_file: Path | None = Field(default=None, description="Certificate authorities to trust, as a PEM file.")
