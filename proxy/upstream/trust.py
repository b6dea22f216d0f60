"""
Which certificates an upstream may show.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

from proxy.upstream.settings import UpstreamSettings


def trust(settings: UpstreamSettings) -> ssl.SSLContext | None:
    """
    Return the system's authorities (``SSL_CERT_FILE`` included) and those of ``ca_file``; ``None`` for plain HTTP.
    """
    if not settings.base_url.lower().startswith("https"):
        return None
    context = ssl.create_default_context()
    if settings.ca_file is not None:
        context.load_verify_locations(cafile=settings.ca_file)
    return context


def state_of_trust(settings: UpstreamSettings) -> tuple[object, ...]:
    """
    Return what is another value once a file that ``trust`` reads, or a forward proxy's, was written anew.
    """
    return _state(settings.ca_file), _state(ssl.get_default_verify_paths().cafile)


def _state(file: Path | str | None) -> tuple[object, ...]:
    if file is None:
        return ()
    with suppress(OSError):
        found = Path(file).stat()
        return str(file), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return (str(file),)
