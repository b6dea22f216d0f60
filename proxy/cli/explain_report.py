"""
An explanation as text for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxy.pipeline.explain import Explanation, Row

ORIGINS: Mapping[str, str] = {
    "option": "given by --window",
    "config": "from the configuration",
    "upstream": "stated by the upstream",
    "learned": "learned from a refusal",
    "table": "from the built-in table",
    "default": "the model is unknown, so this is the default; set context_window or give --window",
}
WHAT: Mapping[str, str] = {
    "passthrough": "sent as it is",
    "observed": "sent as it is and only watched",
    "compacted": "made smaller on its way",
    "reused": "sent as it was compacted on an earlier turn",
    "failed-open": "sent as it is, since planning failed",
}


def report(found: Explanation, *, summary: bool) -> str:
    """
    Return the whole report; *summary* adds the text that stands for the folded messages.
    """
    lines = [*_head(found)]
    if found.rows:
        lines += ["", *_table(found.rows)]
    if found.summary is not None and summary:
        lines += ["", "summary as it would be sent:", "", found.summary]
    elif found.summary is not None:
        lines += ["", "--summary prints the text that stands for the folded messages, --output the whole request."]
    return "\n".join(lines)


def _head(found: Explanation) -> Iterator[str]:
    why = f" ({found.why})" if found.why else ""
    yield _line("action", f"{found.action}: {WHAT.get(found.action, found.action)}{why}")
    if found.would and found.mode == "observe":
        yield _line("would be", f"{found.would}, if the mode were compact; --mode compact shows how")
    yield _line("route", f"{found.route}, upstream {found.upstream}, mode {found.mode}")
    if found.before is None or found.after is None:
        return
    gone = 1 - found.after / max(found.before, 1)
    yield _line("tokens", f"{found.before:,} before, {found.after:,} after{f' ({gone:.0%} less)' if gone > 0 else ''}")
    yield _line("bytes", f"{found.bytes_before:,} before, {found.bytes_after:,} after")
    yield _line("messages", f"{len(found.rows):,} before, {found.messages_after:,} after")
    yield _line(
        "window", f"{found.window:,} tokens for {found.model or 'no model'}, {ORIGINS[found.window_origin or '']}"
    )
    yield _line("threshold", f"{found.threshold:,} tokens: compact at or above it, down to {found.target:,}")
    yield _line("fixed", f"{found.fixed:,} tokens of system messages and tools, which are always sent")
    yield _line("digest", found.digest or "none: there is nothing but system messages")
    if found.record:
        yield _line("record", f"{found.record}, compacted {found.depth} time{'s' if found.depth != 1 else ''}")
    if found.summary is not None:
        yield _line("summary", f"{found.summary_tokens:,} tokens, without a model (extractive)")


def _line(name: str, text: str) -> str:
    return f"{name:<10} {text}"


def _table(rows: tuple[Row, ...]) -> Iterator[str]:
    yield f"{'#':>5}  {'role':<10} {'what':<9} {'tokens':>9} {'sent':>9}"
    for row in rows:
        notes = ", ".join([*row.how, *(f"calls {name}" for name in row.names if name)])
        yield f"{row.index:>5}  {row.role:<10} {row.fate:<9} {row.tokens:>9,} {row.sent:>9,}  {notes}".rstrip()
