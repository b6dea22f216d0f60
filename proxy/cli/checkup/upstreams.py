"""
Whether an upstream can be reached, is what it should be, and takes the key.

Nothing that costs anything is sent: the list of models is asked for, and where there is none, an empty chat request,
which every server refuses.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from proxy.chat.json import loads
from proxy.cli.checkup.addresses import leads_to
from proxy.cli.checkup.finding import Finding, fault, note, ok
from proxy.upstream.credentials import CREDENTIALS
from proxy.upstream.proxies import proxy_for
from proxy.upstream.settings import UpstreamSettings
from proxy.upstream.target import UpstreamTarget
from proxy.upstream.trust import trust
from proxy.upstream.wire import Headers, Incoming

MODELS, CHAT = "/v1/models", "/v1/chat/completions"
USUAL_BASES = ("/v1", "/api/v1", "/openai/v1", "/v1beta/openai", "/api/paas/v4", "/compatible-mode/v1")
"""Base paths of well-known servers, tried where the configured one is wrong."""
REFUSED = frozenset({401, 403})
ABSENT = frozenset({404, 405, 410})
_SECONDS = 15.0
_OTHER_HOST = frozenset({62, 64})
"""OpenSSL's codes of a certificate for another host name or address."""


@dataclass(frozen=True, slots=True)
class Patient:
    """
    One upstream under examination; *listens* are the addresses of the proxy itself, *headers* those of a client.
    """

    name: str
    settings: UpstreamSettings
    listens: Sequence[str]
    headers: Headers
    environ: Mapping[str, str]


async def check_upstream(patient: Patient) -> AsyncIterator[Finding]:
    """
    Yield what is found, from the outside in; after a fault nothing further can be told.
    """
    name, base = patient.name, patient.settings.base_url
    if any(leads_to(base, listen) for listen in patient.listens):
        advice = f"set upstreams.{name}.base_url to the API itself, or listen elsewhere"
        yield fault("loop", name, f"{base} is the proxy itself: requests would go round for ever", advice)
        return
    async with _client(patient) as client:
        try:
            async for finding in _visited(patient, client):
                yield finding
        except httpx.HTTPError as why:
            yield _unreachable(patient, why)


def _client(patient: Patient) -> httpx.AsyncClient:
    settings = patient.settings
    return httpx.AsyncClient(
        timeout=httpx.Timeout(_SECONDS, connect=settings.connect_timeout),
        verify=trust(settings) or False,
        proxy=proxy_for(settings.base_url, patient.environ),
        trust_env=False,
        follow_redirects=False,
    )


async def _visited(patient: Patient, client: httpx.AsyncClient) -> AsyncIterator[Finding]:
    name = patient.name
    answer = await _asked(patient, client, MODELS)
    yield ok("reachable", name, f"answers at {patient.settings.base_url}")
    if answer.status_code in ABSENT or (answer.is_success and not _is_json(answer)):
        chat = await _asked(patient, client, CHAT, body=b"{}")
        if chat.status_code in ABSENT or not _is_json(chat):
            yield await _wrong_base(patient, client)
            return
        answer = chat
    yield ok("base path", name, "leads to an OpenAI-compatible API")
    if answer.status_code >= 500:
        advice = "look into its log; a gateway in front of a server that is down answers like this"
        yield fault("reachable", name, f"answers {answer.status_code} to everything", advice)
        return
    async for finding in _keys(patient, client, answer):
        yield finding


async def _keys(patient: Patient, client: httpx.AsyncClient, first: httpx.Response) -> AsyncIterator[Finding]:
    """
    Yield whether each key of the configuration is taken, or the client's where there is none.
    """
    name, keys = patient.name, patient.settings.api_keys
    own = any(header.lower() in CREDENTIALS for header, _ in patient.headers)
    if not keys or own:
        yield _key(patient, first, given=own)
        return
    for number, key in enumerate(keys, start=1):
        answer = first if number == 1 else await _asked(patient, client, MODELS, key=key)
        which = f"key {number} of {len(keys)}" if len(keys) > 1 else "the key"
        if answer.status_code in REFUSED:
            advice = f"replace it in upstreams.{name}.api_keys (or api_keys_file)"
            yield fault("key", name, f"{which} is refused with {answer.status_code}", advice)
        else:
            yield ok("key", name, f"{which} is accepted")


def _key(patient: Patient, answer: httpx.Response, *, given: bool) -> Finding:
    name = patient.name
    if answer.status_code not in REFUSED:
        return ok("key", name, "the key of --header is accepted" if given else "asks for no key")
    if given:
        advice = "clients that send it get the same answer: give one that is valid for this upstream"
        return fault("key", name, f"the key of --header is refused with {answer.status_code}", advice)
    advice = 'to try one: concertina doctor -H "authorization: Bearer $KEY"'
    return note("key", name, "asks for a key, which clients bring", advice)


async def _wrong_base(patient: Patient, client: httpx.AsyncClient) -> Finding:
    name, base = patient.name, patient.settings.base_url
    found = await _better_base(patient, client)
    advice = f"set upstreams.{name}.base_url to {found}" if found else f"correct the path of upstreams.{name}.base_url"
    return fault("base path", name, f"there is no chat completions API under {base}", advice)


async def _better_base(patient: Patient, client: httpx.AsyncClient) -> str | None:
    parts = urlsplit(patient.settings.base_url)
    for path in USUAL_BASES:
        base = f"{parts.scheme}://{parts.netloc}{path}"
        if path == parts.path.rstrip("/"):
            continue
        # Without any key: a place that has not been chosen gets none.
        answer = await client.get(base + "/models")
        if _is_json(answer) and (answer.is_success or answer.status_code in REFUSED):
            return base
    return None


async def _asked(
    patient: Patient, client: httpx.AsyncClient, path: str, *, body: bytes = b"", key: str | None = None
) -> httpx.Response:
    settings = patient.settings if key is None else patient.settings.model_copy(update={"api_keys": (key,)})
    method, kind = ("POST", (("content-type", "application/json"),)) if body else ("GET", ())
    incoming = Incoming(method, path, (*patient.headers, *kind), body)
    outgoing = UpstreamTarget(patient.name, settings).outgoing(incoming)
    return await client.request(method, outgoing.url, headers=list(outgoing.headers), content=body or None)


def _is_json(answer: httpx.Response) -> bool:
    try:
        return isinstance(loads(answer.content), dict | list)
    except ValueError:
        return False


def _unreachable(patient: Patient, why: httpx.HTTPError) -> Finding:
    name, base = patient.name, patient.settings.base_url
    refused = next((cause for cause in _causes(why) if isinstance(cause, ssl.SSLError)), None)
    if refused is not None:
        return _untrusted(patient, refused)
    if isinstance(why, httpx.ConnectTimeout):
        advice = "check address and firewall, or whether a forward proxy is needed (HTTPS_PROXY)"
        return fault("reachable", name, f"{base} does not answer within {patient.settings.connect_timeout:g} s", advice)
    if isinstance(why, httpx.TimeoutException):
        return fault("reachable", name, f"{base} takes the connection and says nothing", "look into the server's log")
    if isinstance(why, httpx.ConnectError):
        advice = f"start the server, or correct host and port of upstreams.{name}.base_url"
        return fault("reachable", name, f"nothing answers at {base}", advice)
    return fault("reachable", name, f"{base} does not speak HTTP as it should", "check scheme and port of base_url")


def _untrusted(patient: Patient, why: ssl.SSLError) -> Finding:
    name, base = patient.name, patient.settings.base_url
    if not isinstance(why, ssl.SSLCertVerificationError):
        advice = "the server may speak plain HTTP, which is written http://"
        return fault("certificates", name, f"TLS with {base} fails: {why.reason}", advice)
    if why.verify_code in _OTHER_HOST:
        advice = f"write the host name of the certificate in upstreams.{name}.base_url"
        return fault("certificates", name, f"the certificate of {base} is for another host", advice)
    advice = f"set upstreams.{name}.ca_file to the authority's PEM file, or SSL_CERT_FILE for all upstreams"
    return fault("certificates", name, f"the certificate of {base} is not trusted", advice)


def _causes(why: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause: BaseException | None = why
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found
