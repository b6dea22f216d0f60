"""
What a parser makes of the bytes of an answer.
"""

from __future__ import annotations

from httptools import HttpResponseParser

from proxy.upstream.tunnel import WEBSOCKET, asks_upgrade
from proxy.upstream.wire import Headers, header

_MOST_HEADERS = 512
SWITCHING = 101


class Parsing:
    """
    Takes status, headers and pieces of the body from a parser of its own; *over* says that the answer is complete.

    Informational answers leave no trace. *quiet* counts bytes since the last of a body. *asked* are the request's headers.
    """

    __slots__ = (
        "asked",
        "chunks",
        "headers",
        "is_head",
        "over",
        "parser",
        "quiet",
        "raw",
        "reason",
        "reusable",
        "status",
        "unread",
    )

    def __init__(self, method: str, asked: Headers) -> None:
        self.asked = asked
        self.status = 0
        self.reason = b""
        self.headers: Headers = ()
        self.is_head = method == "HEAD"
        self.raw: list[tuple[bytes, bytes]] = []
        self.chunks: list[bytes] = []
        self.unread = 0
        self.quiet = 0
        self.over = False
        self.reusable = False
        # As tolerant as clients of HTTP usually are: single line feeds, odd bytes in values, blanks after chunk sizes.
        self.parser: HttpResponseParser | None = HttpResponseParser(self)
        self.parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    def on_message_begin(self) -> None:
        """
        Refuse anything behind the answer.
        """
        if self.over:
            raise ValueError("more than one answer")

    def on_status(self, reason: bytes) -> None:
        """
        Take the reason phrase, or a part of it.
        """
        self.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """
        Take a header; those of trailers come here, too.
        """
        if not self.status:
            self.raw.append((name, value))
            if len(self.raw) > _MOST_HEADERS or b"\0" in value:
                raise ValueError("too many headers, or one that cannot be")

    def on_headers_complete(self) -> None:
        """
        Take the head as complete, unless it is informational.
        """
        parser = self.parser
        assert parser is not None
        status = parser.get_status_code()
        if 100 <= status < 200 and status != SWITCHING:
            self.raw.clear()
            self.reason = b""
            return
        if status < 100 or (status == SWITCHING and not self._may_switch()):
            raise ValueError("no answer to this request")
        self.headers = tuple(
            [
                (name.decode("utf-8", "surrogateescape"), value.rstrip(b" \t").decode("utf-8", "surrogateescape"))
                for name, value in self.raw
            ]
        )
        self.status = status
        if self.is_head:
            self._complete(parser)

    def on_body(self, chunk: bytes) -> None:
        """
        Take bytes of the body.
        """
        if self.over:
            raise ValueError("a body where there is none")
        self.chunks.append(chunk)
        self.unread += len(chunk)
        self.quiet = 0

    def on_message_complete(self) -> None:
        """
        Take the answer as complete, unless it is informational.
        """
        parser = self.parser
        if self.status and self.status != SWITCHING and not self.over and parser is not None:
            self._complete(parser)

    def lasts_to_the_end(self) -> bool:
        """
        Tell whether the end of the connection is that of the body.
        """
        codings = header(self.headers, "transfer-encoding")
        if codings is not None:
            return codings.rpartition(",")[2].strip().lower() != "chunked"
        return header(self.headers, "content-length") is None

    def _may_switch(self) -> bool:
        """
        Tell whether the answer goes on as what was asked for.
        """
        return asks_upgrade(self.asked) and any(
            name.lower() == b"upgrade" and value.strip().lower() == WEBSOCKET for name, value in self.raw
        )

    def _complete(self, parser: HttpResponseParser) -> None:
        self.over = True
        self.reusable = parser.should_keep_alive()
