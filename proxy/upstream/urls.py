"""
Where a client's target lies on an upstream.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from proxy.errors import BadRequestError

ENDPOINTS = frozenset(
    {
        "assistants",
        "audio",
        "batches",
        "chat",
        "completions",
        "containers",
        "conversations",
        "embeddings",
        "evals",
        "files",
        "fine_tuning",
        "images",
        "messages",
        "models",
        "moderations",
        "organization",
        "realtime",
        "rerank",
        "responses",
        "threads",
        "uploads",
        "vector_stores",
        "videos",
    }
)
"""
First path segments of the OpenAI API, which clients whose base URL lacks ``/v1`` send bare.
"""

_DECODINGS = 3


def join(base_url: str, target: str, *, strip: str = "") -> str:
    """
    Return the URL on the upstream for a client's raw *target*, whose query stays verbatim.

    *strip* is the route's own prefix. Raises ``BadRequestError`` where the path would climb out.
    """
    path, mark, query = target.partition("?")
    check_path(path)
    base = urlsplit(base_url)
    mapped = map_path(base.path.rstrip("/"), _without(path, strip))
    # A raw "#" would hide the rest of the target from the upstream.
    return f"{base.scheme}://{base.netloc}{mapped}{mark}{query}".replace("#", "%23")


def map_path(base: str, path: str) -> str:
    """
    Return the upstream's path: *base* is the path of its base URL, *path* what the client asked for.

    Clients may write ``/v1/x`` or ``/x``, and the base may end in ``/v1``, in another prefix, or in none. A path that
    is no endpoint of the API (``/props``, ``/api/show``) is taken from the server's root where the base is ``/v1``.
    """
    first, _, rest = path[1:].partition("/")
    if base and (path == base or path.startswith(base + "/")):
        return path
    if first == "v1":
        return f"{base or '/v1'}/{rest}" if rest else base or "/v1"
    if first in ENDPOINTS:
        return (base or "/v1") + path
    at_root = base in {"", "/v1"} or first == base[1:].partition("/")[0]
    return path if at_root else base + path


def check_path(path: str) -> None:
    """
    Refuse a path that could leave the upstream: one with ``..`` in it, in any encoding.
    """
    if ".." not in path and "%" not in path and path.startswith("/") and "\\" not in path:
        return
    plain = path
    for _ in range(_DECODINGS):
        plain = unquote(plain)
    segments = plain.replace("\\", "/").split("/")
    if not path.startswith("/") or any(segment.partition(";")[0] == ".." for segment in segments):
        raise BadRequestError(400, "The path of the request is not allowed.", "invalid_path")


def _without(path: str, prefix: str) -> str:
    prefix = prefix.rstrip("/")
    if prefix and (path == prefix or path.startswith(prefix + "/")):
        return path[len(prefix) :] or "/"
    return path
