"""
``concertina sessions``: what the store tells of past conversations.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, NoReturn, TypeVar

import click
import orjson

from proxy.chat.json import dumps
from proxy.cli.explain import Asked, explanation, supposed
from proxy.cli.options import EXIT_FAILURE, config_option, exit_with_mistakes, header_option, settings_or_exit
from proxy.config.settings import AppSettings
from proxy.errors import SettingsError, StoreError
from proxy.pipeline.explainer import PATH
from proxy.pipeline.history import History, SessionDetail
from proxy.records.open import look_into_store
from proxy.records.sessions import Session
from proxy.records.settings import StoreSettings
from proxy.telemetry.log_settings import LogSettings
from proxy.telemetry.logs import set_up_log
from proxy.upstream.wire import Headers, Incoming

RESUME_ONLY = ("x-concertina-mode", "recover")
"""In this mode a record is resumed where there is one, and nothing is compacted anew."""
T = TypeVar("T")
_SHORT_ID = 12
_COLUMNS = f"{'id':12}  {'begun (UTC)':16}  {'ended by':10}  {'saved':>24}  model and title"


@click.group()
def sessions() -> None:
    r"""
    List, show and export past conversations.

    They are read from the store of the configuration, in which nothing changes; a proxy that is running on it need not
    be stopped.

    \b
      concertina sessions list --config concertina.yaml
      concertina sessions show 3f2a
      concertina sessions export 3f2a > session.json
    """


@sessions.command("list")
@config_option
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The newest so many.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, one session a line.")
def list_sessions(config: Path | None, limit: int, as_json: bool) -> None:
    """
    List the newest sessions; each compaction begins one.
    """
    found = from_store(settings_or_exit(config, need_upstream=False), lambda history: history.sessions(limit))
    if found and not as_json:
        click.echo(_COLUMNS)
    for session in found:
        click.echo(_json(session) if as_json else _line(session))
    if not found and not as_json:
        click.echo("no sessions in the store", err=True)


@sessions.command()
@click.argument("session_id", metavar="ID")
@config_option
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(session_id: str, config: Path | None, as_json: bool) -> None:
    """
    Show one session: what led to it, what it saved, its summary. The beginning of an ID is enough where it is unique.
    """
    detail = from_store(settings_or_exit(config, need_upstream=False), lambda history: session_of(history, session_id))
    if detail is None:
        fail(f"no session of the store, or more than one, has an id that begins with {session_id}")
    if as_json:
        click.echo(orjson.dumps(asdict(detail)).decode())
        return
    click.echo(_COLUMNS)
    for session in detail.lineage:
        click.echo(_line(session))
    click.echo(f"\nid {detail.session.id}\ndepth {detail.session.depth}   model {detail.session.model}")
    click.echo(f"\n{detail.record.summary or '(old tool results were shortened; nothing was summarised)'}")


@sessions.command()
@click.argument("session_id", metavar="[ID]", required=False)
@config_option
@click.option(
    "--request", type=click.File("rb"), metavar="REQUEST.json", help="The conversation as its client holds it."
)
@header_option
@click.option("--path", default=PATH, show_default=True, metavar="PATH", help="Where the client would send it.")
def export(session_id: str | None, config: Path | None, request: IO[bytes] | None, headers: Headers, path: str) -> None:
    r"""
    Print a compacted conversation as JSON.

    With --request: the body as it would be sent upstream now, in the record that the store holds for it. Records belong
    to a credential, so give the client's key. With an ID: its summary, and the messages it folded, from the archive
    (store.archive).

    \b
      concertina sessions export --request request.json -H "authorization: Bearer $KEY"
      concertina sessions export 3f2a
    """
    settings = settings_or_exit(config, need_upstream=False)
    if request is not None:
        click.echo(_resumed(settings, Incoming("POST", path, (*headers, RESUME_ONLY), request.read())))
    elif session_id is not None:
        click.echo(_archived(settings, session_id))
    else:
        raise click.UsageError("give an ID, or --request REQUEST.json")


def _resumed(settings: AppSettings, incoming: Incoming) -> bytes:
    """
    Return the request in the record of the store; exit where there is none.
    """
    check_store(settings.store)
    quiet = supposed(settings, window=None, live=False).model_copy(update={"store": settings.store})
    set_up_log(LogSettings(level="error"), terminal=True)
    try:
        found = asyncio.run(explanation(quiet, Asked(incoming, window=None, live=False)))
    except SettingsError as exc:
        exit_with_mistakes(exc)
    except StoreError as exc:
        fail(str(exc))
    if found.action != "reused":
        fail("the store holds no record of this conversation, for this credential, model and route")
    return found.body


def _archived(settings: AppSettings, session_id: str) -> bytes:
    """
    Return a session with the messages it folded; exit where the archive holds none.
    """

    async def ask(history: History) -> dict[str, object] | None:
        detail = await session_of(history, session_id)
        kept = await history.originals(detail.session.id) if detail else None
        if detail is None or kept is None:
            return None
        session = detail.session
        about = {"id": session.id, "title": session.title, "model": session.model, "summary": detail.record.summary}
        return {**about, "begin": kept.begin, "messages": kept.rows}

    found = from_store(settings, ask)
    if found is None:
        fail(f"the archive holds nothing of {session_id}; it keeps what is folded while store.archive is on")
    return dumps(found)


async def session_of(history: History, session_id: str) -> SessionDetail | None:
    """
    Return the session of an id or of its beginning; nothing where it is unknown or not unique.
    """
    detail = await history.session(session_id)
    if detail is not None:
        return detail
    alike = [session.id for session in await history.sessions() if session.id.startswith(session_id)]
    return await history.session(alike[0]) if len(alike) == 1 else None


def from_store(settings: AppSettings, ask: Callable[[History], Awaitable[T]]) -> T:
    """
    Return what *ask* finds; print why and exit where the store cannot be read.
    """
    check_store(settings.store)
    try:
        return asyncio.run(_asked(settings, ask))
    except SettingsError as exc:
        exit_with_mistakes(exc)
    except StoreError as exc:
        fail(str(exc))


def check_store(settings: StoreSettings) -> None:
    """
    Exit with a reason where no other process can read what the store holds.
    """
    if settings.url.startswith("memory://"):
        fail("the store is in the memory of the proxy; ask its admin port (/api/sessions)")


def fail(reason: str) -> NoReturn:
    """
    Print *reason* and exit with 1.
    """
    click.echo(reason, err=True)
    raise SystemExit(EXIT_FAILURE)


async def _asked(settings: AppSettings, ask: Callable[[History], Awaitable[T]]) -> T:
    clock = time.time  # noqa: TID251 - a verb has no clock handed to it
    store = await look_into_store(settings.store, clock=clock)
    try:
        return await ask(History(store, clock=clock, ttl_seconds=settings.store.ttl))
    finally:
        await store.close()


def _line(session: Session) -> str:
    begun = datetime.fromtimestamp(session.started, UTC).strftime("%Y-%m-%d %H:%M")
    end = session.reason or "still open"
    saved = f"{session.tokens_saved:,} tokens saved"
    marks = " degraded" if session.degraded else ""
    return f"{session.id[:_SHORT_ID]}  {begun}  {end:10}  {saved:>24}  {session.model}  {session.title}{marks}"


def _json(session: Session) -> str:
    return orjson.dumps(asdict(session)).decode()
