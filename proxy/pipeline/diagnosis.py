"""
What is known of a route, for people: the vocabulary, the window and its origin, the calibration, and what servers say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proxy.pipeline.directives import Directives
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.heads import by_name
from proxy.pipeline.identify import Identifier
from proxy.pipeline.knowledge import Knowledge
from proxy.pipeline.settings import RouteSettings
from proxy.tokens.calibration import Calibration
from proxy.tokens.table import ENCODING_NAME
from proxy.tokens.vocabulary import Vocabulary
from proxy.upstream.discovery import Page, WindowDiscovery
from proxy.upstream.wire import Headers, Incoming
from proxy.windows.resolve import Window

CHAT = "/v1/chat/completions"
GLOB_LETTERS = "*?["


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """
    One model on one route: the *encoding* that counts (``estimate`` where the tables did not load), the *window* in
    force, the *limit* an error stated, the *calibration* (its ``samples`` are 0 where nothing was learned), and what
    every *page* of the upstream said, none where it is not to be asked.
    """

    route: str
    upstream: str
    model: str
    encoding: str
    window: Window
    calibration: Calibration
    limit: int | None = None
    strict_roles: bool = False
    refuses_usage: bool = False
    pages: tuple[Page, ...] = ()


class Diagnosing:
    """
    Gathers diagnoses; asks upstreams for their windows, sends nothing else.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        identifier: Identifier,
        discovery: WindowDiscovery,
        vocabulary: Vocabulary,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._knowledge = knowledge
        self._identifier = identifier
        self._discovery = discovery
        self._vocabulary = vocabulary
        self._clock = clock

    async def diagnose(self, route: RouteSettings, model: str, headers: Headers = ()) -> Diagnosis:
        """
        Return what holds for requests to *model* by whoever sends *headers*, where the credential is; never raises.
        """
        exchange = Exchange(
            incoming=Incoming("POST", CHAT, headers),
            route=route,
            directives=Directives(),
            party=self._identifier.party(route.upstream, by_name(headers)),
            started=self._clock(),
        )
        pages = await self._discovery.pages(route.upstream, model, headers)
        window = await self._knowledge.window(exchange, model, discovered=window_of(pages))
        facts = self._knowledge.facts(exchange, model)
        return Diagnosis(
            route=route.name,
            upstream=route.upstream,
            model=model,
            encoding=ENCODING_NAME if self._vocabulary.ready else "estimate",
            window=window,
            calibration=facts.calibration,
            limit=self._knowledge.stated_limit(exchange, model),
            strict_roles=facts.strict,
            refuses_usage=facts.refuses_usage,
            pages=pages,
        )


def window_of(pages: Sequence[Page]) -> int | None:
    """
    Return the window that the first page with one states.
    """
    return next((page.window for page in pages if page.window is not None), None)


def models_to_ask(route: RouteSettings, configured: Sequence[str], pages: Sequence[Page] = ()) -> tuple[str, ...]:
    """
    Return the models worth a diagnosis: the one the route is for, else those configured, else those the server lists.
    """
    named = [name for name in (route.match.model, *configured) if name and not set(GLOB_LETTERS) & set(name)]
    if route.match.model in named:
        return (named[0],)
    listed = [name for page in pages for name in page.models]
    return tuple(dict.fromkeys(named or listed))
