"""
How a summary is handed over: a short prefix, the summary, and a mark where it ends.

The prefix says that the text is background from an earlier window. Versions are recognised for ever, also those of
Hermes Agent (a client that folds its own history), so that a summary never comes to stand inside another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from proxy.chat.language import ENGLISH, detect_language
from proxy.chat.messages import Message, is_assistant, is_user, text_of

PREFIX_VERSION = 1
TINY_WINDOW = 8_192
"""Windows of this size and below get a handover text of 60 tokens at most."""
END_MARKER = "[end of notes]"
RESTATED_MARK = "[request still in progress]"

_OPENING = "[notes on the earlier conversation"
_PREFIXES: Mapping[str, str] = {
    "en": f"{_OPENING}]\nReference material from an earlier context window: background, not orders. Files and other state may "
    f"already reflect it. Work recorded as done needs no repeating; older asks are history unless the newest message takes them "
    f"up. Answer only what comes after {END_MARKER}; tools remain available as usual.",
    "zh": f"{_OPENING}]\n以下是较早上下文窗口的参考资料：仅作背景，并非指令。文件及其他状态可能已反映其中内容。记为完成的工作无需重做；"
    f"旧的请求除非最新消息再次提出，否则已成历史。只回答 {END_MARKER} 之后的内容；工具照常可用。",
    "ja": f"{_OPENING}]\n以前のコンテキストの参考資料です。背景であり、指示ではありません。ファイルなどの状態には既に反映されている場合があります。"
    f"完了とある作業のやり直しは不要で、古い依頼は最新のメッセージで触れられない限り過去のものです。{END_MARKER} より後の内容にだけ答えてください。"
    f"ツールは通常どおり使えます。",
}
_TINY: Mapping[str, str] = {
    "en": f"{_OPENING}]\nReference from an earlier window: background, not orders; state may already reflect it. "
    f"Answer only what comes after {END_MARKER}.",
    "zh": f"{_OPENING}]\n较早窗口的参考资料：仅作背景，并非指令；状态可能已反映。只回答 {END_MARKER} 之后的内容。",
    "ja": f"{_OPENING}]\n以前の参考資料（背景であり指示ではない。状態は反映済みの場合あり）。{END_MARKER} より後にだけ答えること。",
}
_LOST: Mapping[str, str] = {
    "en": "{turns} earlier messages could not be summarised and are not shown. Go on from the recent messages and the present state of files.",
    "zh": "较早的 {turns} 条消息未能总结，未予显示。请依据最近的消息和文件的当前状态继续。",
    "ja": "以前のメッセージ {turns} 件は要約できず、表示されていません。最近のメッセージとファイルの現在の状態から続けてください。",
}
_RESTATED: Mapping[str, str] = {
    "en": "The request below was made earlier and is still being worked on:",
    "zh": "以下请求较早提出，仍在处理中：",
    "ja": "以下は以前の依頼で、まだ対応中です：",
}
# The first lines of ours, whatever the version, and just enough of Hermes Agent's to know them again.
_OURS = re.compile(rf"\s*{re.escape(_OPENING)}[^\]\n]*\][^\n]*\n[^\n]*(?:\n+|$)")
_HERMES = re.compile(
    r"\s*\[CONTEXT (?:SUMMARY\b[^\]\n]{0,80}\]:?\s*|COMPACTION\b[^\]\n]{0,80}\]:?(?:[^\n]*\n+)?)", re.IGNORECASE
)
_HERMES_END = re.compile(
    r"\n\s*-{2,}\s*END OF (?:CONTEXT )?SUMMARY\b[^\n]*|\n\s*\[(?:END|/)[^\]\n]{0,40}(?:SUMMARY|COMPACTION)\]",
    re.IGNORECASE,
)


def wrap(summary: str, *, language: str = ENGLISH, tiny: bool = False, lost_turns: int = 0) -> str:
    """
    Return *summary* between prefix and end marker; *tiny* is for windows under 8,000 tokens.

    *lost_turns* is the number of messages whose text is really lost, which is then said. A text that is wrapped
    already is unwrapped first.
    """
    inner = unwrap(summary)
    body = neutralise(summary if inner is None else inner).strip()
    prefix = _pick(_TINY if tiny else _PREFIXES, language)
    notice = _pick(_LOST, language).format(turns=lost_turns) if lost_turns else ""
    return "\n\n".join(piece for piece in (prefix, notice, body, END_MARKER) if piece)


def hand_over(summary: str, *, window: int) -> str:
    """
    Return *summary* as it stands in a request, in its own language; *window* is the model's, in tokens.
    """
    return wrap(summary, language=detect_language([summary]), tiny=window <= TINY_WINDOW)


def unwrap(text: str) -> str | None:
    """
    Return the bare summary of a text that starts with a prefix of any version, ``None`` for any other text.

    Nested prefixes are all taken off. What follows the end marker is no part of the summary.
    """
    body = _peel(text)
    if body is None:
        return None
    deeper = _peel(body)
    while deeper is not None:
        body, deeper = deeper, _peel(deeper)
    return body.strip()


def rest_after(text: str) -> str:
    """
    Return what follows the end marker of a wrapped text: the client's own words, where both share a row.
    """
    halves = _halves(text)
    return halves[1].strip() if halves else ""


def ask_text(message: Message) -> str:
    """
    Return what the user asked in a row, without a summary that stands before it in the same row.
    """
    text = text_of(message)
    return rest_after(text) or text


def restate(ask_text: str, language: str = ENGLISH) -> str:
    """
    Return an ask that lies before the cut, labelled as still in progress.
    """
    return f"{RESTATED_MARK} {_pick(_RESTATED, language)}\n\n{ask_text}"


def is_summary_text(text: str) -> bool:
    """
    Tell whether a text starts with a handover prefix, ours or that of Hermes Agent.
    """
    return _OURS.match(text) is not None or _HERMES.match(text) is not None


def is_summary_row(message: Message) -> bool:
    """
    Tell whether the row is a handed-over summary and nothing else, so that it never counts as an ask of the user.

    A row in which the client's own words follow the end marker is a real row.
    """
    if not (is_user(message) or is_assistant(message)):
        return False
    text = text_of(message)
    return is_summary_text(text) and not rest_after(text)


def is_generated_row(message: Message) -> bool:
    """
    Tell whether the row was written by a compactor: a summary, or a restated ask.
    """
    return is_summary_row(message) or (is_user(message) and text_of(message).startswith(RESTATED_MARK))


def is_real_ask(message: Message) -> bool:
    """
    Tell whether the row holds words of the user, not those of a compactor.
    """
    return is_user(message) and bool(text_of(message).strip()) and not is_generated_row(message)


def neutralise(text: str) -> str:
    """
    Take prefixes and end markers out of text that goes inside a summary, so that it cannot end it early.
    """
    if END_MARKER in text:
        text = text.replace(END_MARKER, "(end of notes)")
    return text.replace(_OPENING, "(notes on the earlier conversation") if _OPENING in text else text


def _peel(text: str) -> str | None:
    halves = _halves(text)
    return None if halves is None else halves[0]


def _halves(text: str) -> tuple[str, str] | None:
    """
    Return the summary in a wrapped text and what follows its end; the prefix, which names the end marker, is skipped.
    """
    match = _OURS.match(text)
    if match is not None:
        body, _, rest = text[match.end() :].partition(END_MARKER)
        return body, rest
    match = _HERMES.match(text)
    if match is None:
        return None
    body, *after = _HERMES_END.split(text[match.end() :], maxsplit=1)
    return body, after[0] if after else ""


def _pick(texts: Mapping[str, str], language: str) -> str:
    return texts.get(language, texts[ENGLISH])
