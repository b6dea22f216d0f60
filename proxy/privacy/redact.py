"""
Mask secrets in text that is summarised or stored; never applied to what passes through.

Every rule is linear in the length of the text and runs only where one of its hints occurs. The label stays, the value
goes, and masking twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MASK = "[redacted]"

_KEY_PREFIXES = (
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek and relatives
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|sa|dt|rt|cbt)[-_][A-Za-z0-9_-]{16,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"LTAI[A-Za-z0-9]{12,}",
    r"AKID[A-Za-z0-9]{13,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[A-Za-z0-9-]{10,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"do[opr]_v1_[a-f0-9]{40,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"gsk_[A-Za-z0-9]{20,}",
    r"xai-[A-Za-z0-9]{20,}",
    r"pplx-[A-Za-z0-9]{20,}",
    r"nvapi-[A-Za-z0-9_-]{20,}",
    r"r8_[A-Za-z0-9]{20,}",
    r"tvly-[A-Za-z0-9-]{16,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{20,}",
    r"lin_api_[A-Za-z0-9]{20,}",
    r"ntn_[A-Za-z0-9]{20,}",
    r"sbp_[a-f0-9]{30,}",
    r"figd_[A-Za-z0-9_-]{20,}",
    r"dckr_pat_[A-Za-z0-9_-]{20,}",
    r"ATATT3[A-Za-z0-9_=-]{20,}",
    r"hv[sb]\.[A-Za-z0-9_-]{20,}",
    r"key-[0-9a-f]{32}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{20,}",
)
_KEY_HINTS = (
    "sk-", "_live_", "_test_", "whsec_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat", "glsa", "gldt",
    "glrt", "glcbt", "akia", "asia", "abia", "acca", "aiza", "ya29.", "ltai", "akid", "xox", "xapp-", "hf_", "npm_",
    "pypi-", "_v1_", "sg.", "gsk_", "xai-", "pplx-", "nvapi-", "r8_", "tvly-", "shpat_", "shpca_", "shppa_", "shpss_",
    "lin_api_", "ntn_", "sbp_", "figd_", "dckr_pat_", "atatt3", "hvs.", "hvb.", "key-",
)  # fmt: skip
_NAMES_OF_SECRETS = (
    r"api[_-]?key|apikey|secret(?:[_-]?key)?|passw(?:or)?d|passwd|passphrase|\bpwd|private[_-]?key|access[_-]?key"
    r"|credentials?|auth[_-]?token|token(?!s|iz)"
)
_ASSIGNMENT = re.compile(
    r"(?P<name>(?:" + _NAMES_OF_SECRETS + r")(?:_[A-Za-z0-9]{1,12}){0,2})"
    r"(?P<sign>\\?[\"']?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3})"
    r"(?P<value>\\?\"[^\"\n\\]{3,400}\\?\"|'[^'\n\\]{3,400}'|[^\s\"',;(){}<>\\]{4,400})",
    re.IGNORECASE,
)
_PASSWORDS = ("pass", "pwd", "secret")
_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z_.\[\]|]*")
_CODE = re.compile(
    r"(?:os|process|self|this|config|cfg|settings|env|environ|args|request|req|ctx|options)\b[.\[]|[$%<{&*@]"
)
_TYPE = re.compile(r"[A-Za-z.]+\[[A-Za-z., |\[\]]*\]?")


def _words(text: str) -> frozenset[str]:
    """
    Return the words of *text* as a set: long lists read best as text.
    """
    return frozenset(text.split())


_PLACEHOLDERS = _words(
    "none null nil true false str string bytes any optional undefined int number bool boolean text "
    "password secret token required changeme redacted xxx"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]


def _mask_assignment(match: re.Match[str]) -> str:
    raw = match["value"]
    quote = raw[: raw.index(raw.strip("\\\"'")[:1])] if raw.strip("\\\"'") else ""
    value = raw[len(quote) : len(raw) - len(quote)] if quote else raw
    if _harmless(match["name"].lower(), value, quoted=bool(quote), sign=match["sign"]):
        return match[0]
    return f"{match['name']}{match['sign']}{quote}{MASK}{quote}"


def _harmless(name: str, value: str, *, quoted: bool, sign: str) -> bool:
    """
    Tell whether an assignment holds code, a type, a count or a placeholder rather than a secret.
    """
    if (
        value.startswith("[redacted")
        or value.strip("*.•x") == ""
        or value.lower() in _PLACEHOLDERS
        or _CODE.match(value)
    ):
        return True
    if value.lower() == name or _TYPE.fullmatch(value):
        return True
    if name.startswith("token") and value.replace(",", "").replace(".", "").isdigit():
        return True
    if quoted:
        return " " in value and not name.startswith(_PASSWORDS)
    is_word = _PLAIN_WORD.fullmatch(value) is not None
    return is_word and not (sign == "=" or name.startswith(_PASSWORDS))


_RULES = (
    _Rule(
        ("-----begin",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[A-Za-z0-9+/=\s]|\\[nr])*"
            r"(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
        "[redacted-private-key]\n",
    ),
    _Rule(
        ("eyj",),
        re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"),
        "[redacted-token]",
    ),
    _Rule(_KEY_HINTS, re.compile(r"(?<![A-Za-z0-9_])(?:" + "|".join(_KEY_PREFIXES) + ")"), "[redacted-key]"),
    _Rule((":aa",), re.compile(r"\b\d{8,10}:AA[A-Za-z0-9_-]{30,}"), "[redacted-key]"),
    _Rule(
        ("authorization", "api-key", "cookie"),
        re.compile(
            r"((?:authorization|x-api-key|api-key|(?:set-)?cookie)\\?[\"']?[ \t]{0,3}[:=][ \t]{0,3}\\?[\"']?"
            r"(?:(?:bearer|basic|token|digest|apikey)[ \t]{1,3})?+)(?!\[redacted|\$|<|%|\{)[^\s\"',\\]{6,}",
            re.IGNORECASE,
        ),
        r"\1" + MASK,
    ),
    _Rule(("bearer ",), re.compile(r"(bearer )(?!\[redacted)[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE), r"\1" + MASK),
    _Rule(
        ("://",),
        re.compile(r"(?<=://)([^\s:/@\"'<>]{0,64}:)(?!\[redacted)[^\s@/\"'<>]{1,200}(?=@)"),
        r"\1" + MASK,
    ),
    _Rule(
        ("key", "secret", "passw", "passphrase", "pwd", "credential", "token"),
        _ASSIGNMENT,
        _mask_assignment,
    ),
)


def redact(text: str) -> str:
    """
    Return *text* with provider keys, auth headers, DSN passwords, JWTs, PEM keys and secret assignments masked.
    """
    folded = text.lower()
    for rule in _RULES:
        if any(hint in folded for hint in rule.hints):
            text = rule.pattern.sub(rule.replacement, text)
    return text
