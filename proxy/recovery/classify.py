"""
Say what one refusal means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from proxy.recovery.fault import Fault, Label
from proxy.recovery.normalise import Refusal, normalise
from proxy.recovery.numbers import extract_numbers, is_lower_bound, to_int
from proxy.recovery.rules import PRECEDENCE
from proxy.recovery.settings import PatternRule
from proxy.recovery.skeleton import skeleton
from proxy.recovery.table import Rule

Tables = Sequence[Sequence[Rule]]

_N = r"(\d[\d,]*(?:\.\d+)?(?: ?[km]\b)?)"
_RATE_LIMIT = re.compile(rf"limit:? {_N}")
_REQUESTED = re.compile(rf"requested:? {_N}")
_RATE_OF = re.compile(rf"{_N} (?:input |output )?tokens per (?:minute|day|hour)")
_OUTPUT_RATE = re.compile(r"(?:output|completion|generated)[ _-]tokens?[ _-](?:per|/)|\botpm\b")
_BYTES = re.compile(r"(\d[\d,]*(?:\.\d+)?) ?(bytes?|[kmg]i?b)\b")
_CHARACTERS = re.compile(
    r"characters? (?:is|of|:|limit|allowed)+ ?(\d[\d,]*)|(\d[\d,]*) (?:characters|chars|字符)|max_?length: (\d[\d,]*)"
)
_MAX_VS = re.compile(r"\((\d+) vs\. (\d+)\)")
_CAP = (
    re.compile(rf"\[ ?\d+ ?, ?{_N} ?\]"),
    re.compile(rf"> ?{_N}, which is the max"),
    re.compile(
        rf"(?:less than or equal to|<=|at most|up to|maximum (?:of|is)|limit (?:of|is)|supports? only|between \d+ and|cannot exceed|must not exceed) ?'?{_N}"
    ),
    re.compile(rf"{_N} (?:output|completion|new) tokens"),
)
_UNIT_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3}
_ISSUE = re.compile(
    r"max_(?:completion_|new_|output_)?tokens.{0,40}(?:would exceed|exceeds?|cannot be greater than).{0,25}(?:context|max_model_len)"
    r"|requested tokens exceed context window"
)
_STATUS_CODE = re.compile(r"[45]\d\d")
_GENERIC = re.compile(
    r"^(?:api error: )?(?:\d{3}:? )?(?:error:? )?(?:the request is invalid[:. ]*)?(?:bad request|invalid request(?: parameters?)?(?:\. .*)?|bad gateway|error|unknown error|request failed|invalid_request_error"
    r"|.{0,30}(?:request )?failed with status code \d+|param(?:eter)? incorrect|internal server error|server error|(?:the )?(?:request )?(?:contains )?(?:an )?invalid argument(?: provided| in request)?"
    r"|(?:the )?(?:upstream|provider|model|openai)[ _](?:returned )?(?:an )?error|bad[ _]response[ _]status[ _]code(?: \d{3})?|(?:an? )?(?:unknown |unexpected )?error (?:occurred|has occurred|was encountered)|something went wrong|请求(?:失败|错误|无效)|(?:上游|服务)?(?:错误|异常))?[.! 。]*$"
)


def classify(status: int | None, body: bytes, *, patterns: Sequence[PatternRule] = ()) -> Fault:
    """
    Return what the refusal *body* means; *status* is ``None`` where it came inside a stream or a 200.

    The user's own *patterns* are asked before every rule of ours.
    """
    refusal = normalise(body)
    for pattern in patterns:
        if pattern.matches(status, refusal.text):
            return _with_facts(Fault(pattern.label, status, refusal.message), refusal)
    return classify_with(PRECEDENCE, status, refusal)


def classify_with(tables: Tables, status: int | None, refusal: Refusal) -> Fault:
    """
    Ask *tables* in order; the first rule that matches names the label.
    """
    told = status if status is not None else _status_inside(refusal)
    for table in tables:
        for rule in table:
            if rule.matches(refusal, told):
                return replace(_with_facts(_from_rule(rule, told, refusal), refusal), status=status)
    return replace(_by_status(told, refusal), status=status)


def _status_inside(refusal: Refusal) -> int | None:
    """
    Return the HTTP status that an error inside a stream or a 200 carries as its code.
    """
    return next((int(code) for code in sorted(refusal.codes) if _STATUS_CODE.fullmatch(code)), None)


def _from_rule(rule: Rule, status: int | None, refusal: Refusal) -> Fault:
    confident = rule.confident and not (rule.status == 413 and not refusal.text)
    known = bool(rule.pattern or rule.code) or not refusal.text
    shape = "" if known else skeleton(refusal.text, refusal.codes)
    fault = Fault(rule.label, status, refusal.message, structure=rule.structure, confident=confident, known=known)
    return replace(fault, wording=shape)


def _by_status(status: int | None, refusal: Refusal) -> Fault:
    """
    No rule knows the wording: the status alone speaks.
    """
    generic = _GENERIC.match(refusal.text) is not None
    confident = not (generic and status in (400, 502))
    shape = "" if generic else skeleton(refusal.text, refusal.codes)
    return Fault(_status_label(status), status, refusal.message, known=generic, wording=shape, confident=confident)


def _status_label(status: int | None) -> Label:
    if status is None or 400 <= status < 500:
        return {401: Label.AUTH, 403: Label.AUTH, 407: Label.AUTH, 408: Label.OVERLOADED_5XX}.get(
            status or 0, Label.INVALID_REQUEST_OTHER
        )
    return Label.OVERLOADED_5XX if status >= 500 else Label.OTHER


def _with_facts(fault: Fault, refusal: Refusal) -> Fault:
    """
    Add the numbers that a fault of this label may carry.
    """
    match fault.label:
        case Label.CONTEXT_OVERFLOW:
            return _overflow_facts(fault, refusal)
        case Label.RATE_LIMIT:
            return _rate_facts(fault, refusal.text)
        case Label.OUTPUT_CAP:
            return replace(fault, output_cap=_output_cap(refusal.text))
        case Label.PAYLOAD_TOO_LARGE:
            return replace(fault, byte_limit=_byte_limit(refusal.text), unit="bytes")
        case Label.BILLING_QUOTA:
            return replace(fault, total=extract_numbers(refusal.text).get("prompt"))
        case _:
            return fault


def _overflow_facts(fault: Fault, refusal: Refusal) -> Fault:
    characters = _first(_CHARACTERS, refusal.text)
    if characters is not None:
        return replace(fault, unit="characters", character_limit=characters)
    found = extract_numbers(refusal.text, refusal.numbers)
    fault = replace(
        fault,
        limit=found.get("limit"),
        prompt=found.get("prompt"),
        output=found.get("output"),
        total=found.get("total"),
        excess=found.get("excess"),
        unit="tokens",
        at_least=is_lower_bound(refusal.text),
    )
    return replace(fault, max_tokens_issue=_output_at_fault(fault, refusal.text))


def _output_at_fault(fault: Fault, text: str) -> bool:
    """
    Say whether the prompt would fit if less output were asked for.
    """
    if fault.limit is None or fault.prompt is None:
        return _ISSUE.search(text) is not None or (
            fault.limit is None and fault.prompt is not None and fault.prompt < 1_000
        )
    total = fault.total or fault.prompt + (fault.output or 0)
    return fault.prompt < fault.limit < total


def _rate_facts(fault: Fault, text: str) -> Fault:
    limit, requested = _first(_RATE_LIMIT, text), _first(_REQUESTED, text)
    limit = limit if limit is not None else _first(_RATE_OF, text)
    helps = limit is not None and requested is not None and requested > limit
    of_output = _OUTPUT_RATE.search(text) is not None
    return replace(fault, rate_limit=limit, total=requested, shrink_helps=helps, output_rate=of_output)


def _output_cap(text: str) -> int | None:
    return next((value for pattern in _CAP if (value := _first(pattern, text)) is not None), None)


def _byte_limit(text: str) -> int | None:
    """
    Return the smallest size in bytes that *text* states: next to a limit stands only what went over it.
    """
    sizes = [_to_bytes(number, unit) for number, unit in _BYTES.findall(text)]
    sizes += [int(maximum) for _, maximum in _MAX_VS.findall(text)]
    return min(sizes, default=None)


def _to_bytes(number: str, unit: str) -> int:
    # Those who write MB mean either; the smaller one is safe.
    base = 1_024 if "i" in unit else 1_000
    return int(float(number.replace(",", "")) * base ** _UNIT_POWERS[unit[0]])


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return to_int(next(group for group in match.groups() if group)) if match else None
