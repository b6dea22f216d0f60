"""
Recognise the conversation: who asks, and the digests of its prefixes.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial
from hashlib import blake2b

from proxy.chat.patterns import OwnPattern, Patience
from proxy.chat.request import ChatRequest
from proxy.compaction.handover import PREFIX_VERSION
from proxy.pipeline.conversations import Identity
from proxy.pipeline.exchange import Exchange, Party
from proxy.pipeline.heads import Heads
from proxy.pipeline.lateness import tell_late
from proxy.pipeline.settings import CompactionSettings
from proxy.pipeline.turns import Turns
from proxy.records.identity import more_digests, prefix_digests, row_digest, seed
from proxy.records.row_digests import RowDigests
from proxy.summaries.prompt import PROMPT_VERSION

CREDENTIAL_HEADERS = ("authorization", "api-key", "x-api-key", "x-concertina-key")
CLIENT_CHARACTERS = 12
"""How much of a credential's digest names a client in books and events."""
MOST_PARTIES = 1_024
LONGEST_REMEMBERED = 4_096
"""Characters of what a party presents, to be known again without a digest."""
MANY_ROWS = 200
MANY_BYTES = 1024 * 1024
"""Longer and larger conversations are digested in a thread, and so are those that patterns are searched in."""


class Identifier:
    """
    Turns rows into an identity; *secret* seeds the digests, *namespace* says who shares records.
    """

    def __init__(self, secret: bytes, *, namespace: str) -> None:
        self._secret = secret
        self._namespace = namespace
        self._rows = RowDigests(row_digest)
        self._turns = Turns()
        self._scopes: dict[int, tuple[str, CompactionSettings]] = {}
        by_header = namespace.startswith("header:")
        self._told = (
            (*CREDENTIAL_HEADERS, namespace.removeprefix("header:").lower()) if by_header else CREDENTIAL_HEADERS
        )
        self._remembered = lru_cache(maxsize=MOST_PARTIES)(self._party)

    def party(self, upstream: str, heads: Heads) -> Party:
        """
        Return digests of who asks and with which credential.
        """
        told = [heads.get(name, "") for name in self._told]
        # Clients choose what they present: nothing of a length that could fill the memory is remembered.
        party = self._remembered if sum(map(len, told)) <= LONGEST_REMEMBERED else self._party
        return party(upstream, *told)

    def _party(self, upstream: str, *told: str) -> Party:
        credential = self._digest("\n".join(told[: len(CREDENTIAL_HEADERS)]))
        if self._namespace == "shared":
            tenant = ""
        elif self._namespace.startswith("header:"):
            tenant = self._digest(told[-1])
        else:
            tenant = credential
        return Party(upstream, tenant, credential)

    async def identify(self, exchange: Exchange, request: ChatRequest) -> Identity:
        """
        Return the identity of a conversation as this exchange sees it.
        """
        return self._identity(exchange, request.model, await self._digests(exchange, request))

    def unidentified(self, exchange: Exchange, request: ChatRequest) -> Identity:
        """
        Return the identity of a conversation that need not be recognised.
        """
        return self._identity(exchange, request.model, ())

    async def _digests(self, exchange: Exchange, request: ChatRequest) -> tuple[str, ...]:
        start = seed(self._secret, exchange.party.tenant, exchange.route.name, self._namespace)
        patience = Patience()
        rules = tuple(
            (OwnPattern(rule.pattern, patience), rule.replacement) for rule in exchange.compaction.canonicalize
        )
        if rules:
            digests = await asyncio.to_thread(prefix_digests, request.messages, seed=start, canonicalize=rules)
            tell_late(patience, "canonicalize", route=exchange.route.name)
            return digests
        key, more = ("digests", start), partial(more_digests, seed=start, digest=self._rows.of)
        if request.notes.missing(key) > MANY_ROWS or request.new_bytes > MANY_BYTES:
            noted = await self._turns.run(request.new_bytes, request.notes.on, key, more)
        else:
            noted = request.notes.on(key, more)
        return tuple(filter(None, noted))

    def _identity(self, exchange: Exchange, model: str, digests: tuple[str, ...]) -> Identity:
        return Identity(
            digests,
            self._scope(exchange.compaction),
            model,
            exchange.directives.session,
            exchange.party.credential[:CLIENT_CHARACTERS],
            exchange.route.name,
        )

    def _scope(self, settings: CompactionSettings) -> str:
        """
        Return the scope of a route's settings, made once for each of them.
        """
        known = self._scopes.get(id(settings))
        if known is None:
            # Kept beside it, so that nothing else gets its address.
            known = self._scopes[id(settings)] = (scope_of(settings), settings)
        return known[0]

    def _digest(self, text: str) -> str:
        return blake2b(text.encode("utf-8", "surrogateescape"), key=self._secret[:64], digest_size=16).hexdigest()


def scope_of(settings: CompactionSettings) -> str:
    """
    Return the fingerprint of all settings that shape the text of a record.
    """
    summarizer = settings.summarizer
    shaping = (
        settings.engine,
        PREFIX_VERSION,
        PROMPT_VERSION,
        settings.redact,
        settings.pin,
        summarizer.kind,
        summarizer.model,
        summarizer.instructions,
        summarizer.in_place,
    )
    return blake2b(repr(shaping).encode(), digest_size=8).hexdigest()
