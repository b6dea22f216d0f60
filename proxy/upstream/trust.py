"""
Which certificates an upstream may show.
"""

from __future__ import annotations

import ssl

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
