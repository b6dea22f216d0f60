"""
Whether the ports to listen on are free.
"""

from __future__ import annotations

import errno
import socket
from contextlib import closing
from dataclasses import replace

import httpx

from proxy.admin.settings import DEFAULT_LISTEN
from proxy.cli.checkup.finding import Finding, fault, note, ok
from proxy.telemetry.address import split_address

CHECK = "port"
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what clients of a wildcard connect to
_SECONDS = 2.0
_TITLE = b"<title>Concertina</title>"


def check_admin_port(address: str) -> Finding:
    """
    Try to listen on the admin port; the default one is not insisted on.
    """
    found = check_port("admin.listen", address)
    if found.state == "fault" and address == DEFAULT_LISTEN:
        return replace(found, state="note", text=f"{found.text}: the proxy will serve without an admin port")
    return found


def check_port(setting: str, address: str) -> Finding:
    """
    Try to listen on *address*, the value of *setting*.
    """
    host, port = split_address(address)
    subject = f"{setting} {address}"
    if port == 0:
        return ok(CHECK, subject, "any free port")
    try:
        with closing(_bound(host, port)):
            return ok(CHECK, subject, "is free")
    except socket.gaierror:
        return fault(CHECK, subject, "its host name is unknown", f"write an address of this machine in {setting}")
    except OSError as why:
        return _taken(setting, subject, why, host=host, port=port)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    found = socket.socket(family, socket.SOCK_STREAM)
    # As the proxy does: connections that linger from an earlier run are not in the way.
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(1)
    except OSError:
        found.close()
        raise
    return found


def _taken(setting: str, subject: str, why: OSError, *, host: str, port: int) -> Finding:
    if why.errno == errno.EADDRINUSE:
        if _is_ours(host, port):
            return note(CHECK, subject, "a Concertina serves here already", "another one needs another port")
        advice = f"end the program that holds it (ss -ltnp 'sport = :{port}' shows it), or set another {setting}"
        return fault(CHECK, subject, "is taken by another program", advice)
    if why.errno == errno.EACCES:
        return fault(CHECK, subject, "may not be listened on", f"set a {setting} with a port above 1023")
    if why.errno == errno.EADDRNOTAVAIL:
        return fault(CHECK, subject, "is no address of this machine", f"set {setting} to 127.0.0.1:{port}")
    return fault(CHECK, subject, f"cannot be listened on: {why.strerror}", f"set another {setting}")


def _is_ours(host: str, port: int) -> bool:
    """
    Tell whether a Concertina answers: it alone says of its readiness what its notes are, and has that dashboard.
    """
    host = _WILDCARDS.get(host, host)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    try:
        with httpx.Client(base_url=url, timeout=_SECONDS, trust_env=False) as client:
            return _is_proxy(client.get("/readyz")) or _TITLE in client.get("/").content
    except httpx.HTTPError:
        return False


def _is_proxy(readiness: httpx.Response) -> bool:
    try:
        data = readiness.json()
    except ValueError:
        return False
    return isinstance(data, dict) and {"status", "notes"} <= data.keys()
