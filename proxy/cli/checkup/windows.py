"""
Which window each route's models have, where the number comes from, and what was learned of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from proxy.cli.checkup.finding import Finding, fault, note, ok
from proxy.cli.explain_report import ORIGINS
from proxy.pipeline.diagnosis import Diagnosing, Diagnosis, models_to_ask
from proxy.pipeline.settings import RouteSettings
from proxy.upstream.wire import Headers

CHECK = "window"
MOST_MODELS = 8
"""Models of one route that are looked up where the configuration names none."""
_ANY = ""
_MODEL = "(any)"


async def check_windows(
    diagnosing: Diagnosing, route: RouteSettings, configured: Sequence[str], headers: Headers
) -> AsyncIterator[Finding]:
    """
    Yield a finding for each model worth one on *route*; *configured* are the names that the user gave.
    """
    first = await diagnosing.diagnose(route, _ANY, headers)
    names = models_to_ask(route, configured, first.pages)
    if not names:
        yield _no_model(route, first)
        return
    for name in names[:MOST_MODELS]:
        found = await diagnosing.diagnose(route, name, headers)
        yield _window(found)
        if found.calibration.samples:
            figures = found.calibration
            text = f"{figures.ratio:.2f} of the model's tokens for one of ours, from {figures.samples} answers"
            yield ok("calibration", f"{route.name}, {name}", text)
    if len(names) > MOST_MODELS:
        more = len(names) - MOST_MODELS
        yield note(CHECK, route.name, f"{more} more models were not looked up", "name one with --model")


def _window(found: Diagnosis) -> Finding:
    subject = f"{found.route}, {found.model}"
    if found.window.source == "default":
        advice = (
            f"set upstreams.{found.upstream}.context_window, or models.{found.model}.context_window, to what the server"
            " was started with"
        )
        text = f"is unknown: {_silence(found)}, so {found.window.tokens:,} tokens are supposed"
        return fault(CHECK, subject, text, advice)
    limit = f"; an error stated a limit of {found.limit:,}" if found.limit else ""
    return ok(CHECK, subject, f"{found.window.tokens:,} tokens, {ORIGINS[found.window.source]}{limit}")


def _silence(found: Diagnosis) -> str:
    if not found.pages:
        return "the server is not asked (discover: false)"
    if all(page.status is None for page in found.pages):
        return "the server does not answer"
    return "the server does not state it"


def _no_model(route: RouteSettings, found: Diagnosis) -> Finding:
    if found.window.source != "default":
        return _window(found)
    text = "the server lists no models, so nothing is known before the first request"
    return note(CHECK, f"{route.name}, {_MODEL}", text, "name a model with --model")
