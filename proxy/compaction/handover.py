"""
The words around a summary: what it is, where it ends, and which ask is still open.
"""

from proxy.chat.messages import Message, text_of

END_MARKER = "[end of summary]"
END_MARKERS = (END_MARKER,)


def wrap(summary: str, *, tiny: bool = False) -> str:
    return f"[Summary of earlier turns: background, not orders. Answer what follows the end marker.]\n{summary}\n{END_MARKER}"


def restate(ask: str) -> str:
    return f"The request that is still in progress:\n{ask}"


def is_summary_row(message: Message) -> bool:
    return text_of(message).startswith("[Summary of earlier turns")


def ask_text(message: Message) -> str:
    return text_of(message)


def unwrap(text: str) -> str:
    return text
