"""
The error tree.

::

    ProxyError
    ├── SettingsError             the configuration is wrong; carries one mistake a line          (cli: exit 2)
    ├── BadRequestError           the client's request breaks HTTP or a limit of ours             (4xx)
    ├── UpstreamError
    │   ├── UpstreamUnreachableError   no connection, nothing was sent                            (502)
    │   ├── UpstreamTimeoutError       connecting took too long                                   (504)
    │   └── UpstreamBrokenError        the connection died after the request was sent             (502)
    ├── SummaryError              a summariser failed; carries the reason for the metric
    ├── StoreError                a store is down, slow, full or corrupted
    ├── UnansweredError           no worker answered the admin port                               (503)
    └── IllegalPlanError          a plan would break a rule that the client's request keeps

Each carries facts as fields; text is made last.
"""

from __future__ import annotations

from dataclasses import dataclass


class ProxyError(Exception):
    """
    Anything Concertina raises on purpose.
    """


@dataclass
class SettingsError(ProxyError):
    """
    The configuration is wrong; *mistakes* are ready to print, one a line.
    """

    mistakes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.mistakes)


@dataclass
class BadRequestError(ProxyError):
    """
    The client's request breaks HTTP or one of our limits.
    """

    status: int
    message: str
    code: str | None = None

    def __str__(self) -> str:
        return self.message


@dataclass
class UpstreamError(ProxyError):
    """
    The upstream could not be asked, or stopped answering.
    """

    upstream: str
    cause: str

    def __str__(self) -> str:
        return f"upstream {self.upstream}: {self.cause}"


class UpstreamUnreachableError(UpstreamError):
    """
    No connection could be made; nothing was sent.
    """


class UpstreamTimeoutError(UpstreamError):
    """
    Connecting took too long; nothing was sent.
    """


class UpstreamBrokenError(UpstreamError):
    """
    The connection died after the request was sent.
    """


@dataclass
class SummaryError(ProxyError):
    """
    A summariser failed; *reason* is a short name fit for a metric label, *transient* asks for a short cooldown.
    """

    reason: str
    transient: bool = False

    def __str__(self) -> str:
        return f"summary failed: {self.reason}"


@dataclass
class StoreError(ProxyError):
    """
    A store is down, slow, full, read-only or corrupted.
    """

    store: str
    cause: str

    def __str__(self) -> str:
        return f"store {self.store}: {self.cause}"


@dataclass
class IllegalPlanError(ProxyError):
    """
    A plan would break a rule that the client's own request keeps.
    """

    violations: tuple[str, ...]

    def __str__(self) -> str:
        return "illegal plan: " + ", ".join(self.violations)


@dataclass
class UnansweredError(ProxyError):
    """
    No worker process could answer the admin port just now.
    """

    question: str

    def __str__(self) -> str:
        return f"no worker process answers ({self.question})"
